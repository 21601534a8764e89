// A few sparse rows as the columns of a dense matrix, to be held against many others: products of sparse rows with
// sparse rows, at the price of the others' entries.
#pragma once

#include "kernels/kernels.hpp"
#include "matrix.hpp"
#include "rows/row_block.hpp"

#include <vector>

namespace amclust {

// Squared distance of two sparse rows from the differences of their entries.
inline float square_between(const RowBlock& a, int row, const RowBlock& b, int other) {
  double square = 0.0;
  std::int32_t left = a.starts[row], right = b.starts[other];
  while (left < a.starts[row + 1] || right < b.starts[other + 1]) {
    const bool left_over = left < a.starts[row + 1], right_over = right < b.starts[other + 1];
    const bool take_left = left_over && (!right_over || a.columns[left] <= b.columns[right]);
    const bool take_right = right_over && (!left_over || b.columns[right] <= a.columns[left]);
    const double difference = (take_left ? a.values[left] : 0.0) - (take_right ? b.values[right] : 0.0);
    square += difference * difference;
    left += take_left;
    right += take_right;
  }
  return static_cast<float>(square);
}

// Where a squared distance from norms and products is a smaller part of the norms, too little of it is left.
constexpr float kCancels = 1e-3f;

class SparsePanel {
 public:
  // width: how many rows it holds at most, a multiple of the lanes.
  SparsePanel(int d, int width) : values_(d, width), zero_(width) {}

  int width() const { return static_cast<int>(values_.stride()); }
  // Row `row` of a block becomes column `at`; clear() takes all of them out again.
  void set(int at, const RowBlock& rows, int row) {
    for (std::int32_t e = rows.starts[row]; e < rows.starts[row + 1]; ++e) {
      values_(rows.columns[e], at) += rows.values[e];
      touched_.push_back(rows.columns[e]);
    }
  }
  void clear() {
    for (const std::int32_t column : touched_) std::fill_n(values_.row(column), width(), 0.0f);
    touched_.clear();
  }
  // out [n][width]
  void products(const RowBlock& rows, float* out) const {
    kernels().sparse_products(rows.values, rows.columns, rows.starts, rows.n, values_.data(), width(), zero_.data(),
                              out);
  }

 private:
  Matrix values_;
  Buffer zero_;
  std::vector<std::int32_t> touched_;
};

}  // namespace amclust
