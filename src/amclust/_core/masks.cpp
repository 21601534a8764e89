#include "masks.hpp"

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
  for (int top = observed - count; top < observed; ++top) {
    const std::int32_t drawn = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(top + 1)));
    const std::int32_t pick = taken[drawn] ? top : drawn;
    taken[pick] = 1;
    out[found++] = pick;
  }
  for (int i = 0; i < count; ++i) taken[out[i]] = 0;
  if (missing)
    for (int i = 0; i < count; ++i) out[i] = eligible_[out[i]];
}

}  // namespace amclust
