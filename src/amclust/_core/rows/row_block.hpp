// A few rows as they meet memories: all their coordinates, or only the stored entries of sparse (CSR) rows. In core
// units a sparse row is `origin`, which is what centring makes of a row of zeros, plus its entries.
#pragma once

#include "matrix.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

struct RowBlock {
  int n = 0;
  MatrixView<const float> dense;  // [n][ld]; null where the rows are sparse

  // Sparse: entries row after row, those of row i from starts[i] on.
  const float* values = nullptr;
  const std::int32_t* columns = nullptr;
  const std::int32_t* starts = nullptr;  // [n + 1]

  RowBlock(MatrixView<const float> rows) : n(rows.rows), dense(rows) {}
  RowBlock(MatrixView<float> rows) : RowBlock(MatrixView<const float>(rows)) {}
  RowBlock(const Matrix& rows) : RowBlock(rows.view()) {}
  RowBlock(int n_, const float* values_, const std::int32_t* columns_, const std::int32_t* starts_)
      : n(n_), values(values_), columns(columns_), starts(starts_) {}

  bool is_sparse() const { return !dense; }
};

// The memory of a sparse block.
struct SparseEntries {
  std::vector<float> values;
  std::vector<std::int32_t> columns, starts;

  RowBlock block() const { return {static_cast<int>(starts.size()) - 1, values.data(), columns.data(), starts.data()}; }
};

}  // namespace amclust
