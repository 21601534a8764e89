// Training: many runs in one call, each with its own everything.
#pragma once

#include "dataset.hpp"
#include "objectives/objective.hpp"
#include "team.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

// On more rows than this an epoch is a part of the data; successive epochs go through all of it before any row returns.
constexpr std::int64_t kEpochRows = 16384;

struct RunSettings {
  ObjectiveSettings objective;
  Metric metric = Metric::euclidean;
  float beta = 1.0f, step_size = 0.1f;
  int n_steps = 10;
  std::vector<float> memories;     // [k][d], in the core's units
  std::vector<float> log_weights;  // [k]
  bool learn_weights = false;

  int batch_size = 256, max_epochs = 200, patience = 5;
  double learning_rate = 0.1, lr_factor = 0.8, min_lr = 1e-5, tol = 1e-3;
  bool early_stopping = true, reseed = true;
  bool whole_epochs = false;  // an epoch is all rows, however many
  bool keep_last = false;     // return the last memories, not those of the best epoch

  // Where an earlier run stood (empty: from the start): Adam's moments, [2][k][d] and [2][k], and its steps.
  std::vector<float> moments, weight_moments;
  std::int64_t steps = 0;
};

struct RunRecord {
  std::vector<float> memories, log_weights;  // of the best epoch
  std::vector<double> loss_curve;            // mean loss of every epoch
  double loss = 0.0;                         // of the best epoch
  double learning_rate = 0.0;                // at the end
  int best_epoch = 0, reseeded = 0;
  bool converged = false, improving = false;
  std::vector<float> moments, weight_moments;
  std::int64_t steps = 0;
};

// The rows to train on, with weights; null for all rows and for weight 1.
struct TrainingRows {
  const std::int64_t* rows = nullptr;
  const float* weights = nullptr;
  std::int64_t size = 0;
};

// Threads share out the runs, or the batches' parts when there is one run.
std::vector<RunRecord> train(const Dataset& data, const TrainingRows& rows, int k, const std::vector<RunSettings>& runs,
                             int threads, Control& control);

}  // namespace amclust
