// The rows in the order in which batches take them.
#pragma once

#include "objectives/objective.hpp"
#include "training/order.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace amclust {

// Walks through the rows in a new random order every pass; all rows in their own order when one batch holds them.
class BatchStream {
 public:
  BatchStream(const TrainingRows& rows, int batch_size, bool all, std::uint64_t seed, const StreamState& start);

  const StreamState& state() const { return state_; }
  int batch_size() const { return batch_; }
  int batches_per_epoch(bool whole_epochs) const;

  // The next batch; a pass ends with what is left of it, or with fewer rows than half a batch left over: as a batch of
  // their own they would tell little about many clusters. `all`: with no row left over.
  Batch next(std::uint32_t epoch);

 private:
  bool pass_is_over() const;
  bool whole() const { return batch_ == rows_.size; }
  void shuffle();

  TrainingRows rows_;
  int batch_;
  bool all_;
  std::uint64_t seed_;
  std::optional<PassOrder> order_;
  StreamState state_;
  double mean_weight_ = 1.0;
  std::vector<std::int64_t> index_, ids_;
  std::vector<float> weights_;
};

}  // namespace amclust
