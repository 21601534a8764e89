// Training: many runs in one call, each with its own everything.
#pragma once

#include "rows/dataset.hpp"
#include "objectives/objective.hpp"
#include "team.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace amclust {

// On more rows than this an epoch is a part of the data; successive epochs go through all of it before any row returns.
constexpr std::int64_t kEpochRows = 16384;

// What the schedule knows between two epochs (see schedule.hpp).
struct ScheduleState {
  double learning_rate = 0.0, best = std::numeric_limits<double>::infinity();
  int waited = 0, plateaus = 0;
};

// A place in the stream of batches.
struct StreamState {
  std::uint32_t pass = 0;
  std::int64_t at = 0;
};

struct RunRecord {
  std::vector<float> memories, log_weights;  // of the best epoch
  std::vector<double> loss_curve;            // mean loss of every epoch
  double loss = 0.0;                         // of the best epoch
  int best_epoch = 0, best_living = -1, reseeded = 0;
  bool converged = false, improving = false;

  // Where the run stands: with this it can go on as if it had not stopped.
  std::vector<float> last_memories, last_log_weights;
  std::vector<float> moments, weight_moments;  // Adam's, [2][k][d] and [2][k]
  std::int64_t steps = 0;
  ScheduleState schedule;
  StreamState stream;
};

struct RunSettings {
  ObjectiveSettings objective;
  EnergyKind metric{};
  float beta = 1.0f, step_size = 0.1f;
  int k = 0, n_steps = 10;
  std::vector<float> memories;     // [k][d], in the core's units
  std::vector<float> log_weights;  // [k]
  bool learn_weights = false;

  int batch_size = 256, max_epochs = 200, patience = 5;
  double learning_rate = 0.1, lr_factor = 0.8, min_lr = 1e-5, tol = 1e-3;
  bool early_stopping = true, reseed = true;
  bool whole_epochs = false;  // an epoch is all rows, however many
  bool keep_last = false;     // return the last memories, not those of the best epoch

  // Where other training left Adam (empty: nowhere), for new training from its memories.
  std::vector<float> moments, weight_moments;
  std::int64_t steps = 0;

  int pause_at = std::numeric_limits<int>::max();  // stop after this many epochs; `earlier` goes on from there
  std::optional<RunRecord> earlier;                // of this very run; then its memories and moments count
};

// The rows to train on, with weights; null for all rows and for weight 1.
struct TrainingRows {
  const std::int64_t* rows = nullptr;
  const float* weights = nullptr;
  std::int64_t size = 0;
};

// Threads share out the runs, or the batches' parts when there is one run.
std::vector<RunRecord> train(const Dataset& data, const TrainingRows& rows, const std::vector<RunSettings>& runs,
                             int threads, Control& control);

}  // namespace amclust
