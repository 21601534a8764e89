#include "rows/sparse_columns.hpp"

#include "kernels/kernels.hpp"

#include <limits>
#include <stdexcept>

namespace amclust {

void SparseColumns::set(const std::vector<SparseEntries>& blocks, int count, int d) {
  // Counted two places further on: once the entries are in their places, starts_[j] is where column j begins.
  starts_.assign(static_cast<std::size_t>(d) + 2, 0);
  std::size_t size = 0;
  for (int b = 0; b < count; ++b) {
    for (const std::int32_t column : blocks[b].columns) ++starts_[column + 2];
    size += blocks[b].columns.size();
  }
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw std::length_error("a batch has too many entries: batch_size must be smaller");
  for (int j = 0; j < d; ++j) starts_[j + 2] += starts_[j + 1];
  values_.resize(size);
  rows_.resize(size);
  std::int32_t row = 0;
  for (int b = 0; b < count; ++b) {
    const SparseEntries& block = blocks[b];
    for (std::size_t i = 0; i + 1 < block.starts.size(); ++i, ++row)
      for (std::int32_t e = block.starts[i]; e < block.starts[i + 1]; ++e) {
        const std::int32_t place = starts_[block.columns[e] + 1]++;
        values_[place] = block.values[e];
        rows_[place] = row;
      }
  }
}

void SparseColumns::sums(int first, int n, const float* coef, int kp, const float* start, float* out) const {
  kernels().sparse_products(values_.data(), rows_.data(), starts_.data() + first, n, coef, kp, start, out);
}

}  // namespace amclust
