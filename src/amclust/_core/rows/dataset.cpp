#include "rows/dataset.hpp"

#include "energies/registry.hpp"
#include "matrix.hpp"
#include "rows/stored.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

namespace amclust {
namespace {

// Rows with fewer values are not worth the call of a kernel.
constexpr int kShort = 8;

// In units of a column's spread.
constexpr float kMaxOrigin = 16.0f;

void mark_missing(float* x, int d, const float* fill, std::uint8_t* missing) {
  for (int j = 0; j < d; ++j) {
    missing[j] = std::isnan(x[j]);
    if (missing[j]) x[j] = fill[j];
  }
}

// Unit length; returns the length there was. Missing coordinates are taken to be as long as the observed ones. A row
// without any value has no length: what is filled in stays a direction.
float normalise(float* x, int d) {
  double square = 0.0;
  int observed = 0;
  for (int j = 0; j < d; ++j) {
    if (std::isnan(x[j])) continue;
    square += static_cast<double>(x[j]) * x[j];
    ++observed;
  }
  const float length = observed ? static_cast<float>(std::sqrt(square * d / observed)) : 1.0f;
  const float inverse = length > 0.0f ? 1.0f / length : 0.0f;
  for (int j = 0; j < d; ++j) x[j] *= inverse;
  return length;
}

}  // namespace

void Dataset::raw(std::int64_t row, double* out) const {
  if (is_sparse) std::fill(out, out + features, 0.0);
  visit_stored(*this, row, [out](int j, double value) { out[j] = value; });
}

void Dataset::set_units(EnergyKind new_metric, const double* offset, const float* scale) {
  metric = new_metric;
  offset_.assign(offset, offset + features);
  narrow_offset_.assign(offset, offset + features);
  scale_.assign(scale, scale + features);
  fill_factor_.clear();
  fill_shift_.clear();
  for (int j = 0; fills && j < features; ++j) {
    fill_factor_.push_back(fills.scale[j] * scale_[j]);
    fill_shift_.push_back((fills.offset[j] - offset_[j]) * scale_[j]);
  }
  const auto in_core = [&](const std::vector<double>& bounds, std::vector<float>& out) {
    out.resize(bounds.size());
    for (std::size_t j = 0; j < bounds.size(); ++j) out[j] = static_cast<float>((bounds[j] - offset_[j]) * scale_[j]);
  };
  in_core(limits.low, low_);
  in_core(limits.high, high_);
  origin_.clear();
  origin_square_ = 0.0;
  near_zero_ = true;
  if (std::all_of(offset_.begin(), offset_.end(), [](double o) { return o == 0.0; })) return;
  origin_.resize(features);
  for (int j = 0; j < features; ++j) {
    origin_[j] = static_cast<float>(-offset_[j] * scale_[j]);
    origin_square_ += static_cast<double>(origin_[j]) * origin_[j];
    near_zero_ = near_zero_ && std::abs(origin_[j]) <= kMaxOrigin;
  }
}

void Dataset::believe_all() {
  const double far = std::numeric_limits<double>::infinity();
  for (double& low : limits.believed_low) low = -far;
  for (double& high : limits.believed_high) high = far;
}

std::int64_t Dataset::stored(std::int64_t row) const {
  if (!is_sparse) return features;
  if (sparse.wide_indices) {
    const auto* starts = static_cast<const std::int64_t*>(sparse.indptr);
    return starts[row + 1] - starts[row];
  }
  const auto* starts = static_cast<const std::int32_t*>(sparse.indptr);
  return starts[row + 1] - starts[row];
}

void Dataset::load_entries(const std::int64_t* which, int n, SparseEntries& out, float* norms) const {
  const bool spherical = with_energy(metric, [](auto energy) { return energy.on_sphere; });
  out.starts.assign(1, 0);
  for (int i = 0; i < n; ++i) out.starts.push_back(out.starts.back() + static_cast<std::int32_t>(stored(which[i])));
  out.values.resize(out.starts.back());
  out.columns.resize(out.starts.back());
  for (int i = 0; i < n; ++i) {
    double square = origin_square_;
    float* values = out.values.data() + out.starts[i];
    std::int32_t* columns = out.columns.data() + out.starts[i];
    int e = 0;
    std::int64_t at = fills ? fills.starts[which[i]] : 0;
    visit_values(*this, which[i], [&](int j, double value) {
      if (fills && std::isnan(value)) value = fills.values[at++] * fills.scale[j] + fills.offset[j];
      const float entry = static_cast<float>(value * scale_[j]);
      square += entry * (entry + 2.0 * (origin_.empty() ? 0.0 : origin_[j]));
      values[e] = entry;
      columns[e++] = j;
    });
    if (spherical) {
      const float length = static_cast<float>(std::sqrt(square)), inverse = length > 0.0f ? 1.0f / length : 0.0f;
      for (int at = 0; at < e; ++at) values[at] *= inverse;
      square = length > 0.0f ? 1.0 : 0.0;
    }
    norms[i] = static_cast<float>(std::max(square, 0.0));
  }
}

double Dataset::mean_entries() const {
  if (!is_sparse || !rows) return features;
  const auto all = sparse.wide_indices ? static_cast<const std::int64_t*>(sparse.indptr)[rows]
                                       : static_cast<const std::int32_t*>(sparse.indptr)[rows];
  return static_cast<double>(all) / static_cast<double>(rows);
}

template <class Value>
void Dataset::load_dense_row(std::int64_t row, float* out) const {
  const Value* x = static_cast<const Value*>(dense.data) + row * dense.stride;
  if (features < kShort) {
    for (int j = 0; j < features; ++j) {
      if constexpr (sizeof(Value) == sizeof(double))
        out[j] = static_cast<float>((x[j] - offset_[j]) * scale_[j]);
      else
        out[j] = (x[j] - narrow_offset_[j]) * scale_[j];
    }
    return;
  }
  if constexpr (sizeof(Value) == sizeof(double))
    kernels().affine_double(x, offset_.data(), scale_.data(), features, out);
  else
    kernels().affine(x, narrow_offset_.data(), scale_.data(), features, out);
}

template <class Value>
void Dataset::limit(std::int64_t row, float* out) const {
  // By the values as they are: which count as missing must not hang on rounding.
  const Value* x = static_cast<const Value*>(dense.data) + row * dense.stride;
  int believed = 0;
  for (int j = 0; j < features; ++j) believed += limits.believes(j, x[j]);
  for (int j = 0; j < features; ++j) {
    if (believed && !limits.believes(j, x[j]))
      out[j] = std::numeric_limits<float>::quiet_NaN();
    else
      out[j] = out[j] < low_[j] ? low_[j] : out[j] > high_[j] ? high_[j] : out[j];
  }
}

void Dataset::put_fills(std::int64_t row, float* out) const {
  const std::int64_t at = fills.starts[row];
  if (fills.starts[row + 1] > at)
    kernels().put_missing(fills.values + at, fill_factor_.data(), fill_shift_.data(), features, out);
}

void Dataset::load(const std::int64_t* which, int n, const float* fill, float* out, int ld, std::uint8_t* missing,
                   float* row_scale) const {
  const int d = features;
  const double* shift = offset_.data();
  const float* factor = scale_.data();
  const MatrixView<float> rows_out{out, n, ld};
  const MatrixView<std::uint8_t> marks{missing, n, d};
  const bool spherical = with_energy(metric, [](auto energy) { return energy.on_sphere; });
  for (int i = 0; i < n; ++i) {
    float* x = rows_out.row(i);
    for (int j = d; j < ld; ++j) x[j] = 0.0f;
    if (is_sparse) {
      for (int j = 0; j < d; ++j) x[j] = static_cast<float>(-shift[j] * factor[j]);
      visit_values(*this, which[i],
                   [&](int j, double value) { x[j] = static_cast<float>((value - shift[j]) * factor[j]); });
    } else if (dense.is_double) {
      load_dense_row<double>(which[i], x);
    } else {
      load_dense_row<float>(which[i], x);
    }
    if (limits && !is_sparse) dense.is_double ? limit<double>(which[i], x) : limit<float>(which[i], x);
    if (fills) put_fills(which[i], x);
    float length = 1.0f;
    if (spherical) length = normalise(x, d);
    if (row_scale) row_scale[i] = length;
    if (has_missing) mark_missing(x, d, fill, marks.row(i));
  }
}

namespace {

// -1, 0 or 1, NaN first and equal to NaN.
int order(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return static_cast<int>(std::isnan(y)) - static_cast<int>(std::isnan(x));
  return static_cast<int>(x > y) - static_cast<int>(x < y);
}

template <class Value>
int compare_dense(const DenseRows& rows, int features, std::int64_t a, std::int64_t b) {
  const Value* left = static_cast<const Value*>(rows.data) + a * rows.stride;
  const Value* right = static_cast<const Value*>(rows.data) + b * rows.stride;
  for (int j = 0; j < features; ++j)
    if (const int sign = order(left[j], right[j])) return sign;
  return 0;
}

// Walks the stored entries of both rows at once: where only one has an entry, the other is zero.
template <class Value, class Index>
int compare_sparse(const SparseRows& rows, std::int64_t a, std::int64_t b) {
  const Value* values = static_cast<const Value*>(rows.data);
  const Index* indices = static_cast<const Index*>(rows.indices);
  const Index* indptr = static_cast<const Index*>(rows.indptr);
  Index left = indptr[a], right = indptr[b];
  const Index left_end = indptr[a + 1], right_end = indptr[b + 1];
  while (left < left_end || right < right_end) {
    const bool has_left = left < left_end && (right == right_end || indices[left] <= indices[right]);
    const bool has_right = right < right_end && (left == left_end || indices[right] <= indices[left]);
    const double x = has_left ? values[left] : 0.0, y = has_right ? values[right] : 0.0;
    if (const int sign = order(x, y)) return sign;
    left += has_left;
    right += has_right;
  }
  return 0;
}

}  // namespace

int Dataset::compare(std::int64_t a, std::int64_t b) const {
  if (!is_sparse)
    return dense.is_double ? compare_dense<double>(dense, features, a, b) : compare_dense<float>(dense, features, a, b);
  if (sparse.wide_indices)
    return sparse.is_double ? compare_sparse<double, std::int64_t>(sparse, a, b)
                            : compare_sparse<float, std::int64_t>(sparse, a, b);
  return sparse.is_double ? compare_sparse<double, std::int32_t>(sparse, a, b)
                          : compare_sparse<float, std::int32_t>(sparse, a, b);
}

bool rows_are_plain(const Dataset& data, bool zeros, Team& team) {
  if (data.is_sparse) return false;
  constexpr int kParts = 16;
  constexpr std::int64_t kTogether = 1024;
  // Where rows of zeros need not be told from others, many short ones are as one.
  const bool gaps = data.dense.stride != data.features;
  const std::int64_t together = zeros && !gaps ? std::max<std::int64_t>(1, kTogether / data.features) : 1;
  std::atomic<bool> plain{true};
  team.run(kParts, [&](int part, int) {
    const std::int64_t last = data.rows * (part + 1) / kParts;
    for (std::int64_t i = data.rows * part / kParts; i < last && plain.load(std::memory_order_relaxed); i += together) {
      const std::ptrdiff_t at = i * data.dense.stride;
      const int numbers = static_cast<int>(std::min(together, last - i)) * data.features;
      const RowState state = data.dense.is_double
                                 ? kernels().inspect_double(static_cast<const double*>(data.dense.data) + at, numbers)
                                 : kernels().inspect_float(static_cast<const float*>(data.dense.data) + at, numbers);
      if (state != RowState::plain && !(zeros && state == RowState::zero))
        plain.store(false, std::memory_order_relaxed);
    }
  });
  return plain;
}

namespace {

template <class Value>
bool has_value(const DenseRows& rows, int features, std::int64_t row) {
  const Value* x = static_cast<const Value*>(rows.data) + row * rows.stride;
  return std::any_of(x, x + features, [](Value value) { return !std::isnan(value); });
}

}  // namespace

std::vector<std::int64_t> empty_rows(const Dataset& data, Team& team) {
  constexpr int kParts = 16;
  std::vector<std::int64_t> found[kParts];
  team.run(kParts, [&](int part, int) {
    for (std::int64_t i = data.rows * part / kParts; i < data.rows * (part + 1) / kParts; ++i) {
      if (i % 256 == 0) check_interrupt();
      const bool has = data.dense.is_double ? has_value<double>(data.dense, data.features, i)
                                            : has_value<float>(data.dense, data.features, i);
      if (!has) found[part].push_back(i);
    }
  });
  std::vector<std::int64_t> all;
  for (const std::vector<std::int64_t>& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

DistinctRows distinct_rows(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* weights) {
  const auto row = [which](std::int64_t at) { return which ? which[at] : at; };
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) {
              check_interrupt();
              return data.compare(row(a), row(b)) < 0;
            });
  DistinctRows out;
  for (std::size_t i = 0; i < order.size();) {
    double total = 0.0;
    std::size_t next = i;
    for (; next < order.size() && (next == i || data.compare(row(order[i]), row(order[next])) == 0); ++next)
      total += weights ? weights[order[next]] : 1.0;
    if (total > 0.0) {
      out.rows.push_back(row(order[i]));
      out.weights.push_back(static_cast<float>(total));
    }
    i = next;
  }
  return out;
}

}  // namespace amclust
