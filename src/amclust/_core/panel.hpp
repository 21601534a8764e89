// k vectors of d coordinates against which blocks of rows are multiplied, and sums of such products' transposes. Which
// way the vectors are stored decides how the lanes are used: over the vectors, [d][kp] (no waste where k fills the
// lanes, no sums across lanes), or over the features, [k][ld] (no waste for any k, worth it for long rows).
#pragma once

#include "kernels/kernels.hpp"
#include "matrix.hpp"
#include "reduce.hpp"

namespace amclust {

struct PanelShape {
  int k = 0, kp = 0, d = 0, ld = 0;
  bool by_features = false;

  PanelShape() = default;
  // rows: how many rows are multiplied before the vectors change, and with them the second way of storing them.
  PanelShape(int k, int d, double rows);
};

class Panel {
 public:
  // `vectors` [d][kp] must outlive the panel's use, and be given again after each change.
  void refresh(const PanelShape& shape, const float* vectors);
  // out [n][kp] = rows [n][ld] times the vectors
  void products(MatrixView<const float> rows, MatrixView<float> out) const;

 private:
  PanelShape shape_;
  const float* vectors_ = nullptr;
  Matrix by_features_;
};

// sum over rows of row^T times coefficients
class OuterSum {
 public:
  void reset(const PanelShape& shape);
  // Sums straight into `out` [d][kp] where the layout is the same; reset() otherwise.
  void attach(const PanelShape& shape, float* out);
  // rows [n][ld], coef [n][kp]
  void add(MatrixView<const float> rows, MatrixView<const float> coef);
  void add(const OuterSum& other, Slice slice) { slice.add(sum_.data(), other.sum_.data(), sum_.size()); }
  // out [d][kp] += the sum, unless it is there already
  void add_to(float* out) const;

 private:
  PanelShape shape_;
  float* target_ = nullptr;
  Buffer sum_;
};

}  // namespace amclust
