#include "training/masks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace amclust {

int hidden_count(double hidden_fraction, int observed) {
  if (observed < 2) return 0;
  return std::clamp(static_cast<int>(std::lround(hidden_fraction * observed)), 1, observed - 1);
}

// Floyd's algorithm: `count` draws, no list of candidates to shuffle.
void MaskSampler::draw(Random& random, int count, int observed, const std::uint8_t* missing, std::int32_t* out) {
  if (missing) {
    eligible_.clear();
    for (int j = 0; j < static_cast<int>(taken_.size()); ++j)
      if (!missing[j]) eligible_.push_back(j);
  }
  std::uint8_t* taken = taken_.data();
  int found = 0;
  const auto take = [&](std::uint32_t drawn, int top) {
    const std::int32_t pick = taken[drawn] ? top : static_cast<std::int32_t>(drawn);
    taken[pick] = 1;
    out[found++] = pick;
  };
  int top = observed - count;
  for (; top + 1 < observed; top += 2) {
    std::uint32_t drawn[2];
    random.below(static_cast<std::uint32_t>(top + 1), static_cast<std::uint32_t>(top + 2), drawn);
    take(drawn[0], top);
    take(drawn[1], top + 1);
  }
  if (top < observed) take(random.below(static_cast<std::uint32_t>(top + 1)), top);
  for (int i = 0; i < count; ++i) taken[out[i]] = 0;
  if (missing)
    for (int i = 0; i < count; ++i) out[i] = eligible_[out[i]];
}

ColumnMasks::ColumnMasks(int features, std::vector<TableColumn> columns)
    : features_(features),
      columns_(std::move(columns)),
      sampler_(columns_.empty() ? features : static_cast<int>(columns_.size())),
      missing_(columns_.size()),
      drawn_(columns_.size()) {}

int ColumnMasks::room(double hidden_fraction) const {
  if (columns_.empty()) return std::max(1, hidden_count(hidden_fraction, features_));
  std::vector<int> widths;
  for (const TableColumn& column : columns_) widths.push_back(column.width());
  std::sort(widths.begin(), widths.end(), std::greater<>());
  const int count = hidden_count(hidden_fraction, static_cast<int>(widths.size()));
  return std::max(1, std::accumulate(widths.begin(), widths.begin() + count, 0));
}

int ColumnMasks::draw(Random& random, double hidden_fraction, const std::uint8_t* missing, std::int32_t* out) {
  const int n = columns_.empty() ? features_ : static_cast<int>(columns_.size());
  if (missing && !columns_.empty()) {
    for (int c = 0; c < n; ++c) missing_[c] = missing[columns_[c].first];
    missing = missing_.data();
  }
  const int observed = missing ? static_cast<int>(std::count(missing, missing + n, std::uint8_t{0})) : n;
  const int count = hidden_count(hidden_fraction, observed);
  if (observed == n) missing = nullptr;
  if (columns_.empty()) {
    sampler_.draw(random, count, observed, missing, out);
    return count;
  }
  sampler_.draw(random, count, observed, missing, drawn_.data());
  int found = 0;
  for (int c = 0; c < count; ++c) {
    const TableColumn& column = columns_[drawn_[c]];
    for (int j = 0; j < column.width(); ++j) out[found++] = column.first + j;
  }
  return found;
}

}  // namespace amclust
