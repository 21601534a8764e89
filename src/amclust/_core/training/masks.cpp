#include "training/masks.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace amclust
