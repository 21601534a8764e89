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

void PanelShape::take_sparse(const float* origin_) {
  by_features = false;
  for_sparse = true;
  origin = origin_;
}

void Panel::refresh(const PanelShape& shape, const float* vectors) {
  shape_ = shape;
  vectors_ = vectors;
  at_origin_.resize(shape.kp);
  if (shape.origin) kernels().products(shape.origin, shape.d, 1, shape.d, vectors, shape.kp, at_origin_.data());
  packed_ = nullptr;
  if (shape.for_sparse) return;
  if (!shape.by_features) {
    packed_ = vectors;  // few vectors lie like that already
    if (shape.kp <= 2 * kernels().lanes) return;
    packed_buffer_.resize(static_cast<std::size_t>(shape.d) * shape.kp);
    kernels().pack(vectors, shape.d, shape.kp, packed_buffer_.data());
    packed_ = packed_buffer_.data();
    return;
  }
  by_features_.resize(shape.k, shape.ld);
  kernels().to_rows(vectors, shape.d, shape.k, shape.kp, shape.ld, by_features_.data());
}

void Panel::products(const RowBlock& rows, MatrixView<float> out) const {
  if (rows.is_sparse())
    kernels().sparse_products(rows.values, rows.columns, rows.starts, rows.n, vectors_, shape_.kp, at_origin_.data(),
                              out.data);
  else if (shape_.by_features)
    kernels().dots(rows.dense.data, shape_.ld, rows.n, by_features_.data(), shape_.k, shape_.kp, out.data);
  else if (!packed_)
    kernels().products(rows.dense.data, shape_.ld, rows.n, shape_.d, vectors_, shape_.kp, out.data);
  else
    kernels().packed_products(rows.dense.data, shape_.ld, rows.n, shape_.d, packed_, shape_.kp, out.data);
}

void Panel::nearest_two(const RowBlock& rows, const float* bias, float factor, MatrixView<float> products,
                        const NearestTwo& out) const {
  if (packed_ && !rows.is_sparse())
    return kernels().nearest_two(rows.dense.data, shape_.ld, rows.n, shape_.d, packed_, shape_.kp, bias, factor, out);
  this->products(rows, products);
  kernels().largest_two(products.data, rows.n, shape_.kp, bias, factor, out);
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

void OuterSum::add(const OuterSum& other, Slice slice) { slice.add(sum_.data(), other.sum_.data(), sum_.size()); }

void OuterSum::add_to(float* out) const {
  if (target_ == out) return;
  if (shape_.by_features)
    kernels().add_from_rows(sum_.data(), shape_.d, shape_.k, shape_.kp, shape_.ld, out);
  else
    Slice{}.add(out, sum_.data(), sum_.size());
}

}  // namespace amclust
