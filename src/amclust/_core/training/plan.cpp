#include "training/plan.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace amclust {
namespace {

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw std::invalid_argument("this does not fit: " + otherwise);
}

void check_optimizer(const OptimizerState& state, std::size_t k, std::size_t d) {
  require(state.moments.size() == 2 * k * d && state.weight_moments.size() == 2 * k, "moments");
  require(state.steps >= 0, "steps");
}

}  // namespace

Memories NetworkParameters::prepared(double rows) const {
  Memories out(k, d, energy, static_cast<float>(beta), static_cast<float>(step_size), n_steps, rows);
  out.set(memories.data());
  std::copy(log_weights.begin(), log_weights.end(), out.log_weights.data());
  return out;
}

void check(const NetworkParameters& network) {
  const std::size_t k = network.k, d = network.d;
  require(network.k >= 1 && network.d >= 1, "memories");
  require(network.memories.size() == k * d && network.log_weights.size() == k, "memories");
  require(network.n_steps >= 1, "n_steps");
  require(std::isfinite(network.beta) && network.beta > 0.0, "beta");
}

void check(const Plan& plan, int features, std::int64_t rows) {
  const NetworkParameters& network = plan.network;
  const std::size_t k = network.k, d = network.d;
  check(network);
  require(rows >= 1 && network.d == features, "rows");
  require(plan.objective.fill.size() == d, "fill");
  require(plan.batch_size >= 1, "batch_size");
  require(plan.schedule.max_epochs >= 0 && plan.schedule.patience >= 1, "max_epochs and patience");
  require(plan.schedule.enough_epochs >= 0, "enough_epochs");
  require(plan.keep != Keep::mean || (!plan.exact && !plan.earlier && plan.pause_at >= plan.schedule.max_epochs),
          "a mean of memories over several calls");
  if (!plan.optimizer.moments.empty()) check_optimizer(plan.optimizer, k, d);
  if (!plan.earlier) return;
  const RunRecord& earlier = *plan.earlier;
  require(earlier.k == network.k && earlier.d == network.d, "the earlier record's memories");
  require(earlier.memories.size() == k * d && earlier.last_memories.size() == k * d, "the earlier record's memories");
  require(earlier.log_weights.size() == k && earlier.last_log_weights.size() == k, "the earlier record's weights");
  check_optimizer(earlier.optimizer, k, d);
  const auto epochs = static_cast<std::int64_t>(earlier.loss_curve.size());
  require(earlier.best_epoch >= 0 && earlier.best_epoch < epochs && epochs <= plan.schedule.max_epochs,
          "the earlier record's best epoch");
  require(earlier.stream.at >= 0 && earlier.stream.at <= rows, "the earlier record's place in the rows");
}

}  // namespace amclust
