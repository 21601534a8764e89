#include "training/trainer.hpp"

#include "training/exact_steps.hpp"
#include "training/optimizer.hpp"
#include "training/order.hpp"
#include "training/run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace amclust {
namespace {

// Memories and log-weights as [k][d] and [k].
std::pair<std::vector<float>, std::vector<float>> values_of(const Memories& memories) {
  std::vector<float> values(static_cast<std::size_t>(memories.k) * memories.d);
  memories.get(values.data());
  return {std::move(values), {memories.log_weights.data(), memories.log_weights.data() + memories.k}};
}

// A copy of memories as they are stored.
struct Snapshot {
  Buffer values, log_weights;
  void take(const Memories& memories) {
    values.copy_from(memories.values);
    log_weights.copy_from(memories.log_weights);
  }
  void take(const Snapshot& other) {
    values.copy_from(other.values);
    log_weights.copy_from(other.log_weights);
  }
  void restore(Memories& memories) const {
    memories.values.copy_from(values);
    memories.log_weights.copy_from(log_weights);
  }
};

// The mean of memories as they are after each step.
class Mean {
 public:
  void add(const Memories& memories) {
    ++count_;
    add(values_, memories.values);
    add(log_weights_, memories.log_weights);
  }
  // Puts it in the memories' place; without any step they stay.
  void put(Memories& memories) const {
    if (count_ == 0) return;
    put(values_, memories.values);
    put(log_weights_, memories.log_weights);
  }

 private:
  static void add(std::vector<double>& sums, const Buffer& values) {
    sums.resize(values.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }
  void put(const std::vector<double>& sums, Buffer& values) const {
    for (std::size_t i = 0; i < sums.size(); ++i) values[i] = static_cast<float>(sums[i] / static_cast<double>(count_));
  }

  std::vector<double> values_, log_weights_;
  std::int64_t count_ = 0;
};

// Drives one run on the memories it holds.
class Trainer {
 public:
  Trainer(const Dataset& data, const TrainingRows& rows, const Plan& plan, int index, Team& team, Control& control)
      : data_(data),
        run_(plan, rows, data.features),
        index_(index),
        team_(team),
        control_(control),
        memories_(plan.network.prepared(static_cast<double>(std::min<std::int64_t>(plan.batch_size, rows.size)))),
        objective_(make_objective(data, plan.objective)),
        optimizer_(plan.earlier ? plan.earlier->optimizer : plan.optimizer, memories_) {
    objective_->prepare(memories_);
    if (plan.earlier) {
      set(plan.earlier->memories, plan.earlier->log_weights);
      best_.take(memories_);
      set(plan.earlier->last_memories, plan.earlier->last_log_weights);
      refresh(true);
    } else {
      refresh();
      best_.take(memories_);
    }
  }

  RunRecord train() {
    while (!run_.done()) {
      if (!train_epoch()) return run_.record();  // stopped
    }
    OptimizerState optimizer = optimizer_.state(memories_);
    auto [last, last_log_weights] = values_of(memories_);
    if (run_.plan().keep == Keep::best) best_.restore(memories_);
    if (run_.plan().keep == Keep::mean) {
      mean_.put(memories_);
      refresh();
    }
    auto [memories, log_weights] = values_of(memories_);
    return run_.finish(std::move(memories), std::move(log_weights), std::move(last), std::move(last_log_weights),
                       std::move(optimizer));
  }

 private:
  // False: the outside world wants to stop.
  bool train_epoch() {
    const int batches = run_.batches_per_epoch(), k = memories_.k;
    const bool single = batches == 1;
    double loss = 0.0;
    std::vector<double> wins(k, 0.0);
    std::vector<Candidate> candidates;
    if (single) before_.take(memories_);
    for (int b = 0; b < batches; ++b) {
      if (control_.stopped()) return false;
      const Evaluation evaluation = objective_->evaluate(run_.next_batch(), memories_, gradient_, team_);
      loss += evaluation.loss;
      for (int m = 0; m < k; ++m) wins[m] += evaluation.wins[m];
      if (run_.reseeding())
        candidates.insert(candidates.end(), evaluation.candidates.begin(), evaluation.candidates.end());
      if (run_.measures()) continue;
      optimizer_.step(memories_, gradient_, run_.learning_rate(), run_.plan().learn_weights, team_);
      refresh();
      if (run_.plan().keep == Keep::mean) mean_.add(memories_);
    }
    loss /= batches;
    const int living = static_cast<int>(std::count_if(wins.begin(), wins.end(), [](double w) { return w > 0.0; }));
    // The memories whose loss an epoch measured: those before its only step, or those after its many.
    if (run_.is_best(loss, living)) single ? best_.take(before_) : best_.take(memories_);
    control_.report({index_, run_.epoch(), loss});
    if (living < k && !candidates.empty()) reseed(wins, candidates);
    run_.end_epoch(loss);
    return true;
  }

  // Puts memories that no row falls to on badly represented rows.
  void reseed(const std::vector<double>& wins, const std::vector<Candidate>& candidates) {
    std::vector<int> empty;
    for (int m = 0; m < memories_.k; ++m)
      if (!(wins[m] > 0.0)) empty.push_back(m);
    std::vector<float> badness;
    for (const Candidate& c : candidates) badness.push_back(c.badness);
    const std::vector<std::int64_t> picks = run_.draw_reseeds(std::move(badness), static_cast<int>(empty.size()));
    std::vector<float> row(data_.features);
    std::vector<std::uint8_t> missing(data_.features);
    const float* fill = run_.plan().objective.fill.data();
    for (std::size_t i = 0; i < picks.size(); ++i) {
      data_.load(&candidates[picks[i]].row, 1, fill, row.data(), data_.features, missing.data());
      memories_.set_one(empty[i], row.data());
      memories_.log_weights[empty[i]] = 0.0f;
      optimizer_.forget(memories_, empty[i]);
    }
    if (!picks.empty()) refresh();
  }

  void set(const std::vector<float>& values, const std::vector<float>& log_weights) {
    memories_.set(values.data());
    std::copy(log_weights.begin(), log_weights.end(), memories_.log_weights.data());
  }
  void refresh(bool on_sphere = false) { memories_.refresh(objective_->needs_gram(memories_), on_sphere); }

  const Dataset& data_;
  Run run_;
  int index_;
  Team& team_;
  Control& control_;
  Memories memories_;
  std::unique_ptr<Objective> objective_;
  Optimizer optimizer_;
  Gradient gradient_;
  Snapshot best_, before_;
  Mean mean_;
};

// A step that gains less than this part of the tolerance of gradients ends exact training; few memories go on for long
// with small gains, which is worth it where steps cost little.
constexpr double kExactTolerance = 1e-2, kFewExactTolerance = 1e-4;
constexpr int kFewMemories = 32;
// How often memories may move to where they are needed more.
constexpr int kRelocations = 8;

// A quarter of the rows, and a quarter of these, ..., but not fewer than so many and so many a memory.
constexpr std::int64_t kFewRows = 16384, kFewRowsPerMemory = 64;
constexpr int kFewRowsSteps = 50;

// Exact steps on a part of the rows: memories come near their places at a part of the price.
void settle_on_part(const Dataset& data, const TrainingRows& rows, std::int64_t size, const Plan& plan,
                    NetworkParameters& start, double tolerance, Team& team, Control& control) {
  const RandomOrder order(plan.objective.seed, 0, static_cast<std::uint64_t>(rows.size));
  std::vector<std::int64_t> which(size);
  std::vector<float> weights(rows.weights ? size : 0);
  order.get(0, size, which.data());
  for (std::int64_t i = 0; i < size; ++i) {
    if (rows.weights) weights[i] = rows.weights[which[i]];
    if (rows.rows) which[i] = rows.rows[which[i]];
  }
  ExactSteps steps(data, {which.data(), rows.weights ? weights.data() : nullptr, size}, start,
                   plan.objective.fill.data(), team, &control);
  steps.settle(kFewRowsSteps, tolerance);
  for (std::uint32_t round = 0; round < kRelocations && steps.relocate(plan.objective.seed, round); ++round)
    steps.settle(kFewRowsSteps, tolerance);
  start.memories = steps.memories_by_row();
}

// One run by exact steps. An epoch is an assignment and an average; where these gain no more, memories move to where
// they are needed more, if any do.
RunRecord train_exactly(const Dataset& data, const TrainingRows& rows, const Plan& plan, int index, Team& team,
                        Control& control) {
  RunRecord record;
  NetworkParameters start = plan.network;
  if (plan.earlier) {
    record = *plan.earlier;
    start.memories = record.last_memories;
  }
  record.k = start.k;
  record.d = start.d;
  const bool quick = start.k <= kFewMemories && rows.size <= kFewRows;
  const double part = quick ? kFewExactTolerance : kExactTolerance;
  const double tolerance = plan.schedule.early_stopping ? part * plan.schedule.tol : 0.0;
  if (!plan.earlier) {
    std::vector<std::int64_t> parts;
    const std::int64_t least = std::max(kFewRows, kFewRowsPerMemory * start.k);
    for (std::int64_t size = rows.size / 4; size >= least; size /= 4) parts.push_back(size);
    for (; !parts.empty() && !control.stopped(); parts.pop_back())
      settle_on_part(data, rows, parts.back(), plan, start, 10.0 * tolerance, team, control);
  }
  ExactSteps steps(data, rows, start, plan.objective.fill.data(), team, &control);
  const double unit = 1.0 / (steps.total_weight() * data.features);
  const int last = std::min(plan.schedule.max_epochs, plan.pause_at);
  const auto epoch = [&] { return static_cast<int>(record.loss_curve.size()); };
  double gained = 0.0;
  while (epoch() < last && !record.converged && !control.stopped()) {
    const double before = steps.loss();
    const bool settled = steps.step(tolerance);
    gained = before - steps.loss();
    record.loss_curve.push_back(unit * steps.loss());
    control.report({index, epoch() - 1, record.loss_curve.back()});
    if (!settled) continue;
    if (record.reseeded < kRelocations && steps.relocate(plan.objective.seed, static_cast<std::uint32_t>(epoch())))
      ++record.reseeded;
    else
      record.converged = true;
  }
  if (epoch() == plan.schedule.max_epochs || record.converged) steps.fill_empty(plan.objective.seed);
  record.loss = unit * steps.measure_loss();
  record.best_epoch = std::max(0, epoch() - 1);
  record.best_living = start.k - steps.empty();
  record.improving = !record.converged && gained > plan.schedule.tol * steps.loss();
  record.memories = record.last_memories = steps.memories_by_row();
  record.log_weights = record.last_log_weights = start.log_weights;
  record.optimizer.moments.assign(2 * start.memories.size(), 0.0f);
  record.optimizer.weight_moments.assign(2 * start.log_weights.size(), 0.0f);
  record.optimizer.steps = epoch();
  record.schedule.learning_rate = plan.schedule.learning_rate;
  return record;
}

}  // namespace

std::vector<RunRecord> train(const Dataset& data, const TrainingRows& rows, const std::vector<Plan>& plans, int threads,
                             Control& control) {
  for (const Plan& plan : plans) check(plan, data.features, rows.size);
  std::vector<RunRecord> records(plans.size());
  const auto train_one = [&](int index, Team& team) {
    if (plans[index].exact)
      records[index] = train_exactly(data, rows, plans[index], index, team, control);
    else
      records[index] = Trainer(data, rows, plans[index], index, team, control).train();
  };
  if (plans.size() == 1) {
    Team team(threads);
    train_one(0, team);
    return records;
  }
  const int n = static_cast<int>(plans.size());
  Team team(std::min(threads, n));
  std::vector<std::unique_ptr<Team>> alone;
  for (int i = 0; i < team.size(); ++i) alone.push_back(std::make_unique<Team>(1));
  team.run(n, [&](int index, int member) { train_one(index, *alone[member]); });
  return records;
}

}  // namespace amclust
