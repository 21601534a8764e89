// From bytes to rows, settings and a whole training: statistics, distinct rows, seeding, a few epochs, answers. Rows are
// what the library lets through: finite or missing, no more than 1e19 in size, none of them empty, in units in which
// columns vary by about 1. What must hold: no sanitizer stops it, labels are in range, memberships sum to 1, one thread
// and several give the same bits.
#include "energies/registry.hpp"
#include "inference/infer.hpp"
#include "objectives/objective.hpp"
#include "rows/dataset.hpp"
#include "rows/statistics.hpp"
#include "training/seeding.hpp"
#include "training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace amclust;

void require(bool condition, const char* otherwise) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", otherwise);
  std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  int below(int n) { return n > 0 ? next() % n : 0; }
  bool flag() { return next() % 2 == 1; }
  float value() {
    switch (next() % 8) {
      case 0:
        return std::numeric_limits<float>::quiet_NaN();
      case 1:
        return kOdd[next() % (sizeof kOdd / sizeof *kOdd)];
      case 2: {
        std::uint8_t bytes[4];
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(next());
        float found;
        std::memcpy(&found, bytes, 4);
        return std::isfinite(found) && std::abs(found) <= 1e19f ? found : 0.0f;
      }
      default:
        return static_cast<float>(static_cast<std::int8_t>(next())) / 8.0f;
    }
  }

 private:
  static constexpr float kOdd[] = {0.0f, -0.0f, 1.0f, 1e-30f, -1e-20f, 1e6f, -1e9f, 1e15f, 1e19f, -1e19f, 1e-45f};
  int next() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  const std::uint8_t* data_;
  std::size_t left_;
};

constexpr float Bytes::kOdd[];

struct Answers {
  std::vector<float> memories, memberships, energy, state;
  std::vector<std::int32_t> labels;
  bool operator==(const Answers& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
    };
    return same(memories, other.memories) && same(labels, other.labels) && same(memberships, other.memberships) &&
           same(energy, other.energy) && same(state, other.state);
  }
};

Answers learn(const Dataset& data, const Plan& plan, int threads) {
  Answers out;
  Monitor monitor;
  supervise(monitor, [&](Control& control) {
    const auto records = train(data, {nullptr, nullptr, data.rows}, {plan}, threads, control);
    NetworkParameters network = plan.network;
    network.memories = out.memories = records[0].memories;
    network.log_weights = records[0].log_weights;
    for (const float value : network.memories)
      if (!std::isfinite(value)) return;  // such a restart is not chosen
    const auto n = static_cast<std::size_t>(data.rows);
    Memories memories = network.prepared(static_cast<double>(n));
    out.labels.resize(n);
    out.memberships.resize(n * network.k);
    out.energy.resize(n);
    out.state.resize(n * network.d);
    Inference wanted;
    wanted.labels = out.labels.data();
    wanted.memberships = out.memberships.data();
    wanted.energy = out.energy.data();
    wanted.state = out.state.data();
    memories.refresh(recalls(wanted) && !memories.cheaper_by_coordinates());
    Certificates certificates(memories);
    Team team(threads);
    infer(data, nullptr, data.rows, plan.objective.fill.data(), certificates, wanted, team, control);
  });
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Bytes in(bytes, size);
  const std::vector<std::string> energies = energy_names(), objectives = objective_names();
  const EnergyKind metric = find_energy(energies[in.below(static_cast<int>(energies.size()))]);
  const std::string objective = objectives[in.below(static_cast<int>(objectives.size()))];
  const int d = 1 + in.below(6), n = 1 + in.below(40), k = 1 + in.below(4);
  const bool learns_weights = in.flag(), exact = in.flag();
  const int steps = 1 + in.below(6), batch = 1 + in.below(20), epochs = 1 + in.below(3);
  const double beta = std::exp2(in.below(40) - 10.0), rate = 0.001 * (1 + in.below(255));
  const bool random_seeds = in.flag();

  // Every other row begins a heap block of its own length, so that a step beyond is seen.
  std::vector<float> values(static_cast<std::size_t>(n) * d);
  for (float& value : values) value = in.value();
  for (int i = 0; i < n; ++i) {  // no row is empty, and for directions none is zero
    float& first = values[static_cast<std::size_t>(i) * d];
    bool some = false;
    for (int j = 0; j < d; ++j) some = some || std::abs((&first)[j]) > 1e-10f;
    if (!some) first = 1.0f;
  }
  Dataset data;
  data.rows = n;
  data.features = d;
  data.dense = {values.data(), false, d};
  for (const float value : values) data.has_missing = data.has_missing || std::isnan(value);

  Team team(1);
  const ColumnStatistics stats = column_statistics(data, nullptr, n, nullptr, team);
  std::vector<double> offset(d, 0.0);
  std::vector<float> scale(d, 1.0f), fill(d, 0.0f);
  if (metric == kind_of<Euclidean>) {
    double widest = 0.0;
    for (int j = 0; j < d; ++j) widest = std::max(widest, stats.high[j] - stats.low[j]);
    if (widest > 0.0 && widest < 1e-18) return 0;  // refused
    for (int j = 0; j < d; ++j) {
      if (!(stats.weight[j] > 0.0)) return 0;  // refused: a column without a value
      offset[j] = stats.mean[j];
      const double spread = std::sqrt(stats.variance[j]);
      scale[j] = spread > 1e-30 ? static_cast<float>(1.0 / spread) : 1.0f;
    }
  } else {
    for (int j = 0; j < d; ++j)
      if (!(stats.weight[j] > 0.0)) return 0;
  }
  data.set_units(metric, offset.data(), scale.data());

  Monitor monitor;
  std::vector<Seeding> seedings;
  supervise(monitor, [&](Control& control) {
    seedings = seed_memories(data, {nullptr, nullptr, data.rows}, k,
                             {random_seeds ? SeedingMethod::random : SeedingMethod::plus_plus}, {7}, 1, fill.data(), team,
                             control);
  });
  if (seedings[0].distinct < k) return 0;  // refused

  Plan plan;
  plan.objective.name = objective;
  plan.objective.seed = 7;
  plan.objective.mask_prob = 0.3;
  plan.objective.fill = fill;
  const double square = seedings[0].mean_square > 0.0 ? seedings[0].mean_square : 1.0;
  plan.objective.anchor = 1.0 / square;
  plan.objective.tie = 0.3 / square;
  plan.network.k = k;
  plan.network.d = d;
  plan.network.memories = seedings[0].memories;
  plan.network.log_weights.assign(k, 0.0f);
  plan.network.energy = metric;
  plan.network.beta = beta;
  plan.network.step_size = 0.3;
  plan.network.n_steps = steps;
  plan.batch_size = batch;
  plan.learn_weights = learns_weights;
  plan.exact = exact && objective == "reconstruction" && !learns_weights;
  plan.schedule = {rate, 0.8, 1e-5, 1e-3, epochs, 5, true};

  try {
    const Answers alone = learn(data, plan, 1);
    for (const std::int32_t label : alone.labels) require(label >= 0 && label < k, "a label");
    for (std::size_t i = 0; i < alone.labels.size(); ++i) {
      double sum = 0.0;
      for (int m = 0; m < k; ++m) sum += alone.memberships[i * k + m];
      require(std::abs(sum - 1.0) < 1e-3, "memberships do not sum to 1");
      require(!std::isnan(alone.energy[i]), "an energy is NaN");
    }
    require(alone == learn(data, plan, 3), "three threads find something else");
  } catch (const std::invalid_argument&) {
    // a plan that contradicts itself: said so
  }
  return 0;
}
