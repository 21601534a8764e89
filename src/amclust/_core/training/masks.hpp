// Which coordinates of a row are hidden: without replacement, every feature eligible, at least one hidden and at least
// one visible. Missing values are not drawn; they move along anyway.
#pragma once

#include "random.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

// How many of the observed coordinates to hide; 0 when there is nothing to predict from.
int hidden_count(double hidden_fraction, int observed);

class MaskSampler {
 public:
  explicit MaskSampler(int features) : taken_(features, 0) {}
  // `count` distinct features out of those not marked missing (null: none is), ascending order not promised.
  // `observed` is how many are not missing.
  void draw(Random& random, int count, int observed, const std::uint8_t* missing, std::int32_t* out);

 private:
  std::vector<std::uint8_t> taken_;
  std::vector<std::int32_t> eligible_;
};

}  // namespace amclust
