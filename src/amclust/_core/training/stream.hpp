// The rows in the order in which batches take them.
#pragma once

#include "objectives/objective.hpp"
#include "training/order.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace amclust {

// On more rows than this an epoch is a part of the data; successive epochs go through all of it before any row returns.
constexpr std::int64_t kEpochRows = 16384;

// Walks through the rows in a new random order every pass; all rows in their own order when one batch holds them.
class BatchStream {
 public:
  BatchStream(const TrainingRows& rows, int batch_size, std::uint64_t seed, const StreamState& start);

  const StreamState& state() const { return state_; }
  int batch_size() const { return batch_; }
  int batches_per_epoch(bool whole_epochs) const;

  // The next batch; a pass ends with what is left of it.
  Batch next(std::uint32_t epoch);

 private:
  bool whole() const { return batch_ == rows_.size; }
  void shuffle();

  TrainingRows rows_;
  int batch_;
  std::uint64_t seed_;
  std::optional<PassOrder> order_;
  StreamState state_;
  double mean_weight_ = 1.0;
  std::vector<std::int64_t> index_, ids_;
  std::vector<float> weights_;
};

}  // namespace amclust
