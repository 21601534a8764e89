// One training: what it starts from and how it goes (a plan), and what came of it (a record). Plain values: the
// bindings hand them to Python as they are, and a backend that computes elsewhere takes and gives the same.
#pragma once

#include "memories.hpp"
#include "objectives/objective.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace amclust {

// On more rows than this an epoch is a part of the data; successive epochs go through all of it (up to half a batch)
// before any row returns.
constexpr std::int64_t kEpochRows = 16384;
// It has at least so many batches, where there are more rows.
constexpr std::int64_t kMinSteps = 2;

// A network in core units.
struct NetworkParameters {
  int k = 0, d = 0;
  std::vector<float> memories;     // [k][d]
  std::vector<float> log_weights;  // [k]
  EnergyKind energy{};
  double beta = 1.0, step_size = 1.0;
  int n_steps = 1;

  // rows: about how many rows meet the memories before they change.
  Memories prepared(double rows) const;
};

// The learning rate over the epochs, and when to stop. What users decide has no default here: the estimator has it.
struct ScheduleSettings {
  double learning_rate = 0.0, lr_factor = 0.0, min_lr = 0.0, tol = 0.0;
  int max_epochs = 0, patience = 0;
  bool early_stopping = false;
  int enough_epochs = 0;  // with early stopping, no more than these; 0: any number
};

// What the schedule knows between two epochs.
struct ScheduleState {
  double learning_rate = 0.0, best = std::numeric_limits<double>::infinity();
  int waited = 0, plateaus = 0;
};

// A place in the stream of batches.
struct StreamState {
  std::uint32_t pass = 0;
  std::int64_t at = 0;
};

// Adam's moments, [2][k][d] and [2][k] (empty: none yet), and its steps so far. An energy that only another backend has
// may have parameters: the core carries them, and their moments, as they are.
struct OptimizerState {
  std::vector<float> moments, weight_moments;
  std::int64_t steps = 0;
  std::vector<float> energy_moments;
};

struct RunRecord {
  int k = 0, d = 0;
  std::vector<float> memories, log_weights, energy;  // of the best epoch
  std::vector<double> loss_curve;                    // mean loss of every epoch
  double loss = 0.0;                                 // of the best epoch
  int best_epoch = 0, best_living = -1, reseeded = 0;
  bool converged = false, improving = false;

  // Where the run stands: with this it can go on as if it had not stopped.
  std::vector<float> last_memories, last_log_weights, last_energy;
  OptimizerState optimizer;
  ScheduleState schedule;
  StreamState stream;
};

// Which memories a record has: those of the epoch with the least loss, the last ones, or the mean of those after each
// step, which has less of the noise of batches than any of them.
enum class Keep { best, last, mean };

struct Plan {
  NetworkParameters network;  // where training starts
  ObjectiveSettings objective;
  ScheduleSettings schedule;
  int batch_size = 0;
  bool learn_weights = false;
  bool reseed = true;  // empty clusters begin anew on badly represented rows
  // The first epoch makes no step, where epochs have several: clusters that are well separated at the start gain
  // little.
  bool measure_first = false;
  bool starts_separated = false;  // hardly any row is near the border of two clusters at the start
  bool whole_epochs = false;      // an epoch is all rows, however many
  bool exact = false;             // by exact steps (exact_steps.hpp): the reconstruction loss where beta is large
  Keep keep = Keep::best;
  OptimizerState optimizer;   // of other training that ended in these memories
  std::vector<float> energy;  // parameters of an energy of another backend; empty: as it has them

  int pause_at = std::numeric_limits<int>::max();  // stop after this many epochs; `earlier` goes on from there
  std::optional<RunRecord> earlier;                // of this very run; then its memories and moments count
};

// The rows to train on, with weights; null for all rows and for weight 1.
struct TrainingRows {
  const std::int64_t* rows = nullptr;
  const float* weights = nullptr;
  std::int64_t size = 0;
};

// Throws std::invalid_argument where a network contradicts itself.
void check(const NetworkParameters& network);
// Throws std::invalid_argument where a plan contradicts itself, or the rows: what came from a file must not lead out of
// bounds.
void check(const Plan& plan, int features, std::int64_t rows);

}  // namespace amclust
