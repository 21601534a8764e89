#include "panel.hpp"

#include <algorithm>

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
  by_features_.resize(static_cast<std::size_t>(shape.k) * shape.ld);
  kernels().to_rows(vectors, shape.d, shape.k, shape.kp, shape.ld, by_features_.data());
}

void Panel::products(const float* rows, int n, float* out) const {
  if (shape_.by_features)
    kernels().dots(rows, shape_.ld, n, by_features_.data(), shape_.k, shape_.kp, out);
  else
    kernels().products(rows, shape_.ld, n, shape_.d, vectors_, shape_.kp, out);
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

void OuterSum::add(const float* rows, int n, const float* coef) {
  if (shape_.by_features)
    kernels().outer_dots(rows, shape_.ld, n, coef, shape_.k, shape_.kp, target_);
  else
    kernels().outer(rows, shape_.ld, n, shape_.d, coef, shape_.kp, target_);
}

void OuterSum::add_to(float* out) const {
  if (target_ == out) return;
  if (!shape_.by_features) {
    for (std::size_t i = 0; i < sum_.size(); ++i) out[i] += sum_[i];
    return;
  }
  kernels().add_from_rows(sum_.data(), shape_.d, shape_.k, shape_.kp, shape_.ld, out);
}

void OuterSum::absorb(const OuterSum& other, std::size_t begin, std::size_t end) {
  float* out = sum_.data();
  const float* in = other.sum_.data();
  for (std::size_t i = begin; i < end; ++i) out[i] += in[i];
}

}  // namespace amclust
