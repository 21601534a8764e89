#include "panel.hpp"

namespace amclust {

PanelShape::PanelShape(int k_, int d_, double rows)
    : k(k_), kp(padded(k_, kernels().lanes)), d(d_), ld(padded(d_, kernels().lanes)) {
  // Vector operations per row: multiplications, sums across lanes, and the share of storing the vectors another way.
  const double lanes = kernels().lanes;
  const double over_features = k * (ld / lanes + 6.0) + 4.0 * d * k / rows;
  const double over_vectors = d * (kp / lanes);
  by_features = over_features < over_vectors;
}

void Panel::refresh(const PanelShape& shape, const float* vectors) {
  shape_ = shape;
  vectors_ = vectors;
  if (!shape.by_features) return;
  by_features_.resize(shape.k, shape.ld);
  kernels().to_rows(vectors, shape.d, shape.k, shape.kp, shape.ld, by_features_.data());
}

void Panel::products(MatrixView<const float> rows, MatrixView<float> out) const {
  if (shape_.by_features)
    kernels().dots(rows.data, shape_.ld, rows.rows, by_features_.data(), shape_.k, shape_.kp, out.data);
  else
    kernels().products(rows.data, shape_.ld, rows.rows, shape_.d, vectors_, shape_.kp, out.data);
}

void OuterSum::reset(const PanelShape& shape) {
  shape_ = shape;
  sum_.resize(shape.by_features ? static_cast<std::size_t>(shape.k) * shape.ld
                                : static_cast<std::size_t>(shape.d) * shape.kp);
  sum_.zero();
  target_ = sum_.data();
}

void OuterSum::attach(const PanelShape& shape, float* out) {
  if (shape.by_features) return reset(shape);
  shape_ = shape;
  target_ = out;
}

void OuterSum::add(MatrixView<const float> rows, MatrixView<const float> coef) {
  if (shape_.by_features)
    kernels().outer_dots(rows.data, shape_.ld, rows.rows, coef.data, shape_.k, shape_.kp, target_);
  else
    kernels().outer(rows.data, shape_.ld, rows.rows, shape_.d, coef.data, shape_.kp, target_);
}

void OuterSum::add_to(float* out) const {
  if (target_ == out) return;
  if (shape_.by_features)
    kernels().add_from_rows(sum_.data(), shape_.d, shape_.k, shape_.kp, shape_.ld, out);
  else
    Slice{}.add(out, sum_.data(), sum_.size());
}

}  // namespace amclust
