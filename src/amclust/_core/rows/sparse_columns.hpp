// The entries of a batch of sparse rows column by column, for sums over the rows of row^T times coefficients: the sum
// of a column is made at once and written once, and columns can be shared out to threads.
#pragma once

#include "rows/row_block.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

class SparseColumns {
 public:
  // The rows of the first `count` blocks, numbered through.
  void set(const std::vector<SparseEntries>& blocks, int count, int d);
  // out [n][kp] = start [kp] + the sum over the rows of their entries times coef [rows][kp], for columns first ...
  // first + n - 1
  void sums(int first, int n, const float* coef, int kp, const float* start, float* out) const;

 private:
  std::vector<float> values_;
  std::vector<std::int32_t> rows_, starts_;
};

}  // namespace amclust
