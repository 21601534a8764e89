#include "training/run.hpp"

#include "training/reseeding.hpp"

#include <algorithm>
#include <utility>

namespace amclust {
namespace {

// The clusters of a start with a loss below this are well separated: the silhouette is most of it.
constexpr double kSettledLoss = -0.5;

const Plan& checked(const Plan& plan, int features, std::int64_t rows) {
  check(plan, features, rows);
  return plan;
}

RunRecord first_record(const Plan& plan) {
  if (plan.earlier) return *plan.earlier;
  RunRecord record;
  record.k = plan.network.k;
  record.d = plan.network.d;
  record.schedule.learning_rate = plan.schedule.learning_rate;
  return record;
}

}  // namespace

Run::Run(const Plan& plan, const TrainingRows& rows, int features)
    : plan_(checked(plan, features, rows.size)),
      record_(first_record(plan)),
      stream_(rows, plan.batch_size, plan.whole_epochs, plan.objective.seed, record_.stream),
      batches_(stream_.batches_per_epoch(plan.whole_epochs)),
      schedule_(plan.schedule, record_.schedule, batches_, static_cast<double>(batches_) * stream_.batch_size()) {
  if (start_settled()) schedule_.set_settled();
}

bool Run::done() const { return record_.converged || epoch() >= std::min(plan_.schedule.max_epochs, plan_.pause_at); }

std::vector<std::int64_t> Run::draw_reseeds(std::vector<float> badness, int count) {
  std::vector<std::int64_t> picks =
      amclust::draw_reseeds(plan_.objective.seed, static_cast<std::uint32_t>(epoch()), std::move(badness), count);
  record_.reseeded += static_cast<int>(picks.size());
  return picks;
}

bool Run::is_best(double loss, int living) {
  if (living < record_.best_living || (living == record_.best_living && !(loss < record_.loss))) return false;
  record_.best_living = living;
  record_.loss = loss;
  record_.best_epoch = epoch();
  return true;
}

bool Run::start_settled() const {
  return plan_.measure_first && !record_.loss_curve.empty() &&
         (plan_.starts_separated || record_.loss_curve[0] < kSettledLoss);
}

void Run::end_epoch(double loss) {
  const bool measured = measures();
  record_.loss_curve.push_back(loss);
  if (start_settled()) schedule_.set_settled();
  if (measured && !start_settled())
    record_.best_living = -1;  // there is much to gain: whatever comes is better
  else
    record_.converged = schedule_.after_epoch(loss) || schedule_.enough(record_.loss_curve.size());
}

RunRecord Run::finish(std::vector<float> memories, std::vector<float> log_weights, std::vector<float> last_memories,
                      std::vector<float> last_log_weights, OptimizerState optimizer, std::vector<float> energy,
                      std::vector<float> last_energy) {
  record_.memories = std::move(memories);
  record_.log_weights = std::move(log_weights);
  record_.last_memories = std::move(last_memories);
  record_.last_log_weights = std::move(last_log_weights);
  record_.optimizer = std::move(optimizer);
  record_.energy = std::move(energy);
  record_.last_energy = std::move(last_energy);
  record_.improving = !record_.converged && schedule_.improving();
  record_.schedule = schedule_.state();
  record_.stream = stream_.state();
  return record_;
}

}  // namespace amclust
