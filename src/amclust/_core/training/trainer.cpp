#include "training/trainer.hpp"

#include "training/order.hpp"
#include "training/reseeding.hpp"
#include "training/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace amclust {
namespace {

// Adam on the memories and, where they are learned, on the log-weights.
class Optimizer {
 public:
  Optimizer(const RunSettings& settings, const Memories& memories)
      : first_(memories.values.size()),
        second_(memories.values.size()),
        weight_first_(memories.kp),
        weight_second_(memories.kp) {
    if (settings.earlier) {
      load(memories, *settings.earlier);
    } else if (!settings.moments.empty()) {
      load(memories, settings);
    }
  }

  void step(Memories& memories, const Gradient& gradient, double learning_rate, bool learn_weights) {
    ++steps_;
    constexpr double b1 = 0.9, b2 = 0.999;
    AdamStep adam{};
    adam.learning_rate = static_cast<float>(learning_rate);
    adam.beta1 = static_cast<float>(b1);
    adam.beta2 = static_cast<float>(b2);
    adam.epsilon = 1e-8f;
    adam.correction1 = static_cast<float>(1.0 / (1.0 - std::pow(b1, static_cast<double>(steps_))));
    adam.correction2 = static_cast<float>(1.0 / (1.0 - std::pow(b2, static_cast<double>(steps_))));
    kernels().adam(adam, gradient.memories.data(), first_.data(), second_.data(), memories.values.data(),
                   memories.values.size());
    if (learn_weights)
      kernels().adam(adam, gradient.bias.data(), weight_first_.data(), weight_second_.data(),
                     memories.log_weights.data(), memories.log_weights.size());
  }

  void forget(const Memories& memories, int memory) {
    for (int j = 0; j < memories.d; ++j) {
      const std::size_t at = static_cast<std::size_t>(j) * memories.kp + memory;
      first_[at] = second_[at] = 0.0f;
    }
    weight_first_[memory] = weight_second_[memory] = 0.0f;
  }

  void save(const Memories& memories, RunRecord& record) {
    record.moments.resize(std::size_t{2} * memories.k * memories.d);
    transfer(memories, record.moments.data(), true);
    record.weight_moments.resize(std::size_t{2} * memories.k);
    for (int m = 0; m < memories.k; ++m) {
      record.weight_moments[m] = weight_first_[m];
      record.weight_moments[memories.k + m] = weight_second_[m];
    }
    record.steps = steps_;
  }

 private:
  // From the settings, or from the record of an earlier run.
  template <class Source>
  void load(const Memories& memories, const Source& from) {
    transfer(memories, const_cast<float*>(from.moments.data()), false);
    for (int m = 0; m < memories.k; ++m) {
      weight_first_[m] = from.weight_moments[m];
      weight_second_[m] = from.weight_moments[memories.k + m];
    }
    steps_ = from.steps;
  }
  // Between [d][kp] and [k][d].
  void transfer(const Memories& memories, float* rows, bool out) {
    for (Buffer* buffer : {&first_, &second_})
      for (int m = 0; m < memories.k; ++m)
        for (int j = 0; j < memories.d; ++j, ++rows) {
          float& here = (*buffer)[static_cast<std::size_t>(j) * memories.kp + m];
          out ? * rows = here : here = *rows;
        }
  }
  Buffer first_, second_, weight_first_, weight_second_;
  std::int64_t steps_ = 0;
};

// Walks through the rows in a new random order every pass; all rows in their own order when one batch holds them.
class BatchStream {
 public:
  BatchStream(const TrainingRows& rows, int batch_size, std::uint64_t seed, const StreamState& start)
      : rows_(rows),
        batch_(static_cast<int>(std::min<std::int64_t>(batch_size, rows.size))),
        seed_(seed),
        state_(start) {
    index_.resize(batch_);
    ids_.resize(batch_);
    if (rows.weights) weights_.resize(batch_);
    double total = static_cast<double>(rows.size);
    if (rows.weights) {
      total = 0.0;
      for (std::int64_t i = 0; i < rows.size; ++i) total += rows.weights[i];
    }
    mean_weight_ = total / static_cast<double>(rows.size);
    shuffle();
  }

  const StreamState& state() const { return state_; }
  bool whole() const { return batch_ == rows_.size; }
  int batches_per_epoch(bool whole_epochs) const {
    const std::int64_t rows = whole_epochs ? rows_.size : std::min(rows_.size, kEpochRows);
    return static_cast<int>(std::max<std::int64_t>(1, (rows + batch_ - 1) / batch_));
  }

  // The next batch; a pass ends with what is left of it.
  Batch next(std::uint32_t epoch) {
    if (state_.at == rows_.size) {
      state_.at = 0;
      ++state_.pass;
      shuffle();
    }
    const int n = static_cast<int>(std::min<std::int64_t>(batch_, rows_.size - state_.at));
    for (int i = 0; i < n; ++i) {
      const std::int64_t position = whole() ? i : (*order_)[state_.at + i];
      ids_[i] = position;
      index_[i] = rows_.rows ? rows_.rows[position] : position;
      if (rows_.weights) weights_[i] = rows_.weights[position];
    }
    state_.at += n;
    return {index_.data(), ids_.data(), rows_.weights ? weights_.data() : nullptr, n, mean_weight_ * n, epoch};
  }

 private:
  void shuffle() {
    if (!whole()) order_.emplace(seed_, state_.pass, rows_.size);
  }

  TrainingRows rows_;
  int batch_;
  std::uint64_t seed_;
  std::optional<PassOrder> order_;
  StreamState state_;
  double mean_weight_ = 1.0;
  std::vector<std::int64_t> index_, ids_;
  std::vector<float> weights_;
};

// Puts memories that no row falls to on badly represented rows.
int reseed(const Dataset& data, const ObjectiveSettings& settings, const std::vector<double>& wins,
           const std::vector<Candidate>& candidates, std::uint32_t epoch, Memories& memories, Optimizer& optimizer) {
  std::vector<int> dead;
  for (int m = 0; m < memories.k; ++m)
    if (!(wins[m] > 0.0)) dead.push_back(m);
  std::vector<float> badness;
  for (const Candidate& c : candidates) badness.push_back(c.badness);
  const std::vector<std::int64_t> picks =
      draw_reseeds(settings.seed, epoch, std::move(badness), static_cast<int>(dead.size()));
  std::vector<float> row(data.features);
  std::vector<std::uint8_t> missing(data.features);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    data.load(&candidates[picks[i]].row, 1, settings.fill.data(), row.data(), data.features, missing.data());
    memories.set_one(dead[i], row.data());
    memories.log_weights[dead[i]] = 0.0f;
    optimizer.forget(memories, dead[i]);
  }
  return static_cast<int>(picks.size());
}

void set(Memories& memories, const std::vector<float>& values, const std::vector<float>& log_weights) {
  memories.set(values.data());
  for (int m = 0; m < memories.k; ++m) memories.log_weights[m] = log_weights.empty() ? 0.0f : log_weights[m];
}

void get(const Memories& memories, std::vector<float>& values, std::vector<float>& log_weights) {
  values.resize(static_cast<std::size_t>(memories.k) * memories.d);
  memories.get(values.data());
  log_weights.assign(memories.log_weights.data(), memories.log_weights.data() + memories.k);
}

// A record that did not come from this run must not lead out of bounds.
void check_earlier(const RunSettings& settings, const TrainingRows& rows) {
  if (!settings.earlier) return;
  const RunRecord& earlier = *settings.earlier;
  const auto epochs = static_cast<std::int64_t>(earlier.loss_curve.size());
  if (earlier.best_epoch < 0 || earlier.best_epoch >= epochs || epochs > settings.max_epochs)
    throw std::invalid_argument("the earlier record does not fit: best epoch");
  if (earlier.stream.at < 0 || earlier.stream.at > rows.size)
    throw std::invalid_argument("the earlier record does not fit: place in the rows");
}

RunRecord train_one(const Dataset& data, const TrainingRows& rows, const RunSettings& settings, int run, Team& team,
                    Control& control) {
  const int k = settings.k;
  RunRecord record = settings.earlier.value_or(RunRecord{});
  Memories memories(k, data.features, settings.metric, settings.beta, settings.step_size, settings.n_steps,
                    static_cast<double>(std::min<std::int64_t>(settings.batch_size, rows.size)));
  const std::unique_ptr<Objective> objective = make_objective(data, settings.objective);
  Optimizer optimizer(settings, memories);
  BatchStream stream(rows, settings.batch_size, settings.objective.seed, record.stream);
  Gradient gradient;

  // The memories whose loss an epoch measured: those before its only step, or those after its many.
  Buffer best_values, best_log_weights;
  const auto keep_if_best = [&](double loss, int living, int epoch, const Buffer& values, const Buffer& log_weights) {
    if (living < record.best_living || (living == record.best_living && !(loss < record.loss))) return;
    record.best_living = living;
    record.loss = loss;
    record.best_epoch = epoch;
    best_values.copy_from(values);
    best_log_weights.copy_from(log_weights);
  };

  const int batches = stream.batches_per_epoch(settings.whole_epochs);
  const bool single = batches == 1;
  Schedule schedule(settings, batches);
  Buffer before_values, before_log_weights;
  if (settings.earlier) {
    set(memories, record.memories, record.log_weights);
    best_values.copy_from(memories.values);
    best_log_weights.copy_from(memories.log_weights);
    set(memories, record.last_memories, record.last_log_weights);
    memories.refresh(objective->needs_gram(memories), true);
  } else {
    set(memories, settings.memories, settings.log_weights);
    memories.refresh(objective->needs_gram(memories));
    best_values.copy_from(memories.values);
    best_log_weights.copy_from(memories.log_weights);
  }
  const int end = record.converged ? 0 : std::min(settings.max_epochs, settings.pause_at);
  for (int epoch = static_cast<int>(record.loss_curve.size()); epoch < end; ++epoch) {
    double loss = 0.0;
    std::vector<double> wins(k, 0.0);
    std::vector<Candidate> candidates;
    if (single) {
      before_values.copy_from(memories.values);
      before_log_weights.copy_from(memories.log_weights);
    }
    for (int b = 0; b < batches; ++b) {
      if (control.stopped()) return record;
      const Batch batch = stream.next(static_cast<std::uint32_t>(epoch));
      Evaluation evaluation = objective->evaluate(batch, memories, gradient, team);
      loss += evaluation.loss;
      for (int m = 0; m < k; ++m) wins[m] += evaluation.wins[m];
      if (settings.reseed && schedule.reseeding(epoch))
        candidates.insert(candidates.end(), evaluation.candidates.begin(), evaluation.candidates.end());
      optimizer.step(memories, gradient, schedule.learning_rate(), settings.learn_weights);
      memories.refresh(objective->needs_gram(memories));
    }
    loss /= batches;
    record.loss_curve.push_back(loss);
    const int living = static_cast<int>(std::count_if(wins.begin(), wins.end(), [](double w) { return w > 0.0; }));
    keep_if_best(loss, living, epoch, single ? before_values : memories.values,
                 single ? before_log_weights : memories.log_weights);
    control.report({run, epoch, loss});
    if (living < k && !candidates.empty()) {
      const int moved = reseed(data, settings.objective, wins, candidates, static_cast<std::uint32_t>(epoch), memories,
                               optimizer);
      record.reseeded += moved;
      if (moved) memories.refresh(objective->needs_gram(memories));
    }
    if (schedule.after_epoch(loss)) {
      record.converged = true;
      break;
    }
  }
  record.improving = !record.converged && schedule.improving();
  record.schedule = schedule.state();
  record.stream = stream.state();
  optimizer.save(memories, record);
  get(memories, record.last_memories, record.last_log_weights);
  if (!settings.keep_last) {
    memories.values.copy_from(best_values);
    memories.log_weights.copy_from(best_log_weights);
  }
  get(memories, record.memories, record.log_weights);
  return record;
}

}  // namespace

std::vector<RunRecord> train(const Dataset& data, const TrainingRows& rows, const std::vector<RunSettings>& runs,
                             int threads, Control& control) {
  for (const RunSettings& run : runs) check_earlier(run, rows);
  std::vector<RunRecord> records(runs.size());
  if (runs.size() == 1) {
    Team team(threads);
    records[0] = train_one(data, rows, runs[0], 0, team, control);
    return records;
  }
  Team team(std::min<int>(threads, static_cast<int>(runs.size())));
  std::vector<std::unique_ptr<Team>> alone;
  for (int i = 0; i < team.size(); ++i) alone.push_back(std::make_unique<Team>(1));
  team.run(static_cast<int>(runs.size()),
           [&](int run, int member) { records[run] = train_one(data, rows, runs[run], run, *alone[member], control); });
  return records;
}

}  // namespace amclust
