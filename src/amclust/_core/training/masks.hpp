// Which coordinates of a row are hidden: without replacement, every column eligible, at least one hidden and at least
// one visible. Missing values are not drawn; they move along anyway. A category is hidden as a whole.
#pragma once

#include "random.hpp"
#include "rows/dataset.hpp"

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

// The same for the columns of a table: categories have several coordinates.
class ColumnMasks {
 public:
  // No columns: each feature is one.
  ColumnMasks(int features, std::vector<TableColumn> columns);

  // How many coordinates are hidden at most.
  int room(double hidden_fraction) const;
  // Writes the hidden coordinates; returns how many. `missing` marks coordinates (null: none is).
  int draw(Random& random, double hidden_fraction, const std::uint8_t* missing, std::int32_t* out);

 private:
  int features_;
  std::vector<TableColumn> columns_;
  MaskSampler sampler_;
  std::vector<std::uint8_t> missing_;
  std::vector<std::int32_t> drawn_;
};

}  // namespace amclust
