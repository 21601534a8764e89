#include "training/stream.hpp"

#include <algorithm>
#include <numeric>

namespace amclust {

BatchStream::BatchStream(const TrainingRows& rows, int batch_size, bool all, std::uint64_t seed,
                         const StreamState& start)
    : rows_(rows),
      batch_(static_cast<int>(std::min<std::int64_t>(batch_size, rows.size))),
      all_(all),
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

int BatchStream::batches_per_epoch(bool whole_epochs) const {
  const std::int64_t rows = whole_epochs ? rows_.size : std::min(rows_.size, std::max(kEpochRows, kMinSteps * batch_));
  return static_cast<int>(std::max<std::int64_t>(1, (rows + batch_ - 1) / batch_));
}

Batch BatchStream::next(std::uint32_t epoch) {
  if (pass_is_over()) {
    state_.at = 0;
    ++state_.pass;
    shuffle();
  }
  const int n = static_cast<int>(std::min<std::int64_t>(batch_, rows_.size - state_.at));
  if (whole())
    std::iota(ids_.begin(), ids_.end(), std::int64_t{0});
  else
    order_->get(state_.at, n, ids_.data());
  for (int i = 0; i < n; ++i) {
    index_[i] = rows_.rows ? rows_.rows[ids_[i]] : ids_[i];
    if (rows_.weights) weights_[i] = rows_.weights[ids_[i]];
  }
  state_.at += n;
  return {index_.data(), ids_.data(), rows_.weights ? weights_.data() : nullptr, n, mean_weight_ * n, epoch};
}

bool BatchStream::pass_is_over() const {
  const std::int64_t left = rows_.size - state_.at;
  return left == 0 || (!all_ && rows_.size > kEpochRows && 2 * left < batch_);
}

void BatchStream::shuffle() {
  if (!whole()) order_.emplace(seed_, state_.pass, rows_.size);
}

}  // namespace amclust
