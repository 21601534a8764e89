// k vectors of d coordinates against which blocks of rows are multiplied, and sums of such products' transposes. Which
// way the vectors are stored decides how the lanes are used: over the vectors, [d][kp] (no waste where k fills the
// lanes, no sums across lanes), or over the features, [k][ld] (no waste for any k, worth it for long rows). Rows may be
// sparse; these want the first.
#pragma once

#include "kernels/kernels.hpp"
#include "matrix.hpp"
#include "reduce.hpp"
#include "rows/row_block.hpp"

namespace amclust {

struct PanelShape {
  int k = 0, kp = 0, d = 0, ld = 0;
  bool by_features = false;
  bool for_sparse = false;        // rows are sparse
  const float* origin = nullptr;  // [d], what sparse rows are without entries; null: zero

  PanelShape() = default;
  // rows: how many rows are multiplied before the vectors change, and with them the second way of storing them.
  PanelShape(int k, int d, double rows);
  // From now on for sparse rows; `origin` must outlive the use of the shape.
  void take_sparse(const float* origin);
};

class Panel {
 public:
  // `vectors` [d][kp] must outlive the panel's use, and be given again after each change.
  void refresh(const PanelShape& shape, const float* vectors);
  // out [n][kp] = rows times the vectors
  void products(const RowBlock& rows, MatrixView<float> out) const;
  // Which vector is closest to each row, closeness being bias [kp] + factor * product; `products` [n][kp] is scratch.
  void nearest_two(const RowBlock& rows, const float* bias, float factor, MatrixView<float> products,
                   const NearestTwo& out) const;

 private:
  PanelShape shape_;
  const float* vectors_ = nullptr;
  Matrix by_features_;
  Buffer packed_buffer_;
  const float* packed_ = nullptr;  // see Kernels::pack
  Buffer at_origin_;               // [kp], the products of a sparse row without entries
};

// sum over dense rows of row^T times coefficients (of sparse ones: rows/sparse_columns.hpp)
class OuterSum {
 public:
  void reset(const PanelShape& shape);
  // Sums straight into `out` [d][kp] where the layout is the same; reset() otherwise.
  void attach(const PanelShape& shape, float* out);
  // coef [n][kp]
  void add(MatrixView<const float> rows, MatrixView<const float> coef);
  void add(const OuterSum& other, Slice slice);
  // out [d][kp] += the sum, unless it is there already
  void add_to(float* out) const;

 private:
  PanelShape shape_;
  float* target_ = nullptr;
  Buffer sum_;
};

}  // namespace amclust
