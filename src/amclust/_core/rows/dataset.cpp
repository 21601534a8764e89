#include "rows/dataset.hpp"

#include "energies/registry.hpp"
#include "matrix.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

namespace amclust {
namespace {

template <class Value, class Visit>
void visit_dense(const Dataset& data, std::int64_t row, Visit&& visit) {
  const Value* x = static_cast<const Value*>(data.dense.data) + row * data.dense.stride;
  for (int j = 0; j < data.features; ++j) visit(j, x[j]);
}

// Calls visit(column, value) for the stored entries of a sparse row.
template <class Value, class Index, class Visit>
void visit_sparse(const Dataset& data, std::int64_t row, Visit&& visit) {
  const Value* values = static_cast<const Value*>(data.sparse.data);
  const Index* indices = static_cast<const Index*>(data.sparse.indices);
  const Index* indptr = static_cast<const Index*>(data.sparse.indptr);
  for (Index at = indptr[row]; at < indptr[row + 1]; ++at) visit(static_cast<int>(indices[at]), values[at]);
}

template <class Visit>
void visit_stored(const Dataset& data, std::int64_t row, Visit&& visit) {
  if (!data.is_sparse)
    data.dense.is_double ? visit_dense<double>(data, row, visit) : visit_dense<float>(data, row, visit);
  else if (data.sparse.wide_indices)
    data.sparse.is_double ? visit_sparse<double, std::int64_t>(data, row, visit)
                          : visit_sparse<float, std::int64_t>(data, row, visit);
  else
    data.sparse.is_double ? visit_sparse<double, std::int32_t>(data, row, visit)
                          : visit_sparse<float, std::int32_t>(data, row, visit);
}

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

// Unit length; returns the length there was. Missing coordinates are taken to be as long as the observed ones.
float normalise(float* x, int d) {
  double square = 0.0;
  int observed = 0;
  for (int j = 0; j < d; ++j) {
    if (std::isnan(x[j])) continue;
    square += static_cast<double>(x[j]) * x[j];
    ++observed;
  }
  const float length = observed ? static_cast<float>(std::sqrt(square * d / observed)) : 0.0f;
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
    visit_stored(*this, which[i], [&](int j, double value) {
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
      visit_stored(*this, which[i],
                   [&](int j, double value) { x[j] = static_cast<float>((value - shift[j]) * factor[j]); });
    } else if (dense.is_double) {
      load_dense_row<double>(which[i], x);
    } else {
      load_dense_row<float>(which[i], x);
    }
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

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Statistics of some of the rows. Finite rows are collected and added a few at a time; the others entry by entry.
class PartialStatistics {
 public:
  PartialStatistics(const Dataset& data, const std::vector<double>& shift)
      : data_(data),
        d_(data.features),
        shift_(shift),
        weight(d_, 0.0),
        sum(d_, 0.0),
        square(d_, 0.0),
        low(d_, kInfinity),
        high(d_, -kInfinity) {}

  void add(std::int64_t row, double row_weight) {
    if (data_.is_sparse) {
      take_stored(row, row_weight);
    } else if (data_.dense.is_double) {
      take(static_cast<const double*>(data_.dense.data) + row * data_.dense.stride, row, row_weight, doubles_);
    } else {
      take(static_cast<const float*>(data_.dense.data) + row * data_.dense.stride, row, row_weight, floats_);
    }
    if (waiting_ == kAtOnce) flush();
  }

  void finish() {
    flush();
    if (data_.is_sparse) add_zeros();
    for (double& w : weight) w += finite_weight_;
  }

  void add(const PartialStatistics& later, Slice) {
    missing += later.missing;
    if (infinite_row < 0 && later.infinite_row >= 0) {
      infinite_row = later.infinite_row;
      infinite_column = later.infinite_column;
    }
    if (empty_row < 0) empty_row = later.empty_row;
    if (zero_row < 0) zero_row = later.zero_row;
    for (int j = 0; j < d_; ++j) {
      weight[j] += later.weight[j];
      sum[j] += later.sum[j];
      square[j] += later.square[j];
      low[j] = std::min(low[j], later.low[j]);
      high[j] = std::max(high[j], later.high[j]);
    }
  }

 private:
  static constexpr int kAtOnce = 8;
  static RowState inspect(const float* row, int d) { return kernels().inspect_float(row, d); }
  static RowState inspect(const double* row, int d) { return kernels().inspect_double(row, d); }

  template <class Value>
  void take(const Value* x, std::int64_t row, double row_weight, const Value** list) {
    const RowState state = inspect(x, d_);
    if (state == RowState::zero && zero_row < 0) zero_row = row;
    if (state == RowState::not_finite) {
      flush();  // rows are added in their order, whatever they are
      return take_entries(x, row, row_weight);
    }
    list[waiting_] = x;
    weights_[waiting_++] = row_weight;
    finite_weight_ += row_weight;
  }

  template <class Value>
  void take_entries(const Value* row_values, std::int64_t row, double row_weight) {
    int observed = 0;
    double amount = 0.0;
    for (int j = 0; j < d_; ++j) {
      const double x = static_cast<double>(row_values[j]);
      if (!take_entry(j, x, row, row_weight)) continue;
      ++observed;
      amount += x * x;
      weight[j] += row_weight;
    }
    if (observed == 0 && empty_row < 0) empty_row = row;
    if (amount < kNothing && zero_row < 0) zero_row = row;
  }

  // False: the value is missing.
  bool take_entry(int j, double x, std::int64_t row, double row_weight) {
    if (std::isnan(x)) {
      ++missing;
      return false;
    }
    if (std::isinf(x) && infinite_row < 0) {
      infinite_row = row;
      infinite_column = j;
    }
    const double moved = x - shift_[j];
    sum[j] += row_weight * moved;
    square[j] += row_weight * moved * moved;
    low[j] = std::min(low[j], x);
    high[j] = std::max(high[j], x);
    return true;
  }

  // A sparse row by its stored entries; the zeros between them wait for add_zeros().
  void take_stored(std::int64_t row, double row_weight) {
    stored_.resize(d_, 0.0);
    stored_rows_.resize(d_, 0);
    int unknown = 0;
    double amount = 0.0;
    visit_stored(data_, row, [&](int j, double x) {
      stored_[j] += row_weight;
      ++stored_rows_[j];
      if (take_entry(j, x, row, row_weight)) {
        amount += x * x;
      } else {
        ++unknown;
        weight[j] -= row_weight;  // finish() adds all rows
      }
    });
    finite_weight_ += row_weight;
    ++rows_;
    if (unknown == d_ && empty_row < 0) empty_row = row;
    if (amount < kNothing && zero_row < 0) zero_row = row;
  }

  void add_zeros() {
    if (!rows_) return;
    for (int j = 0; j < d_; ++j) {
      if (stored_rows_[j] == rows_) continue;
      const double zeros = finite_weight_ - stored_[j];
      sum[j] -= zeros * shift_[j];
      square[j] += zeros * shift_[j] * shift_[j];
      low[j] = std::min(low[j], 0.0);
      high[j] = std::max(high[j], 0.0);
    }
  }

  void flush() {
    const ColumnSums sums{shift_.data(), sum.data(), square.data(), low.data(), high.data()};
    if (data_.dense.is_double)
      kernels().add_double(doubles_, weights_, waiting_, d_, sums);
    else
      kernels().add_float(floats_, weights_, waiting_, d_, sums);
    waiting_ = 0;
  }

  const Dataset& data_;
  int d_;
  const std::vector<double>& shift_;
  // Of sparse rows: how many there are, and of how many, of which weight, a column is stored.
  std::int64_t rows_ = 0;
  std::vector<double> stored_;
  std::vector<std::int64_t> stored_rows_;
  const float* floats_[kAtOnce];
  const double* doubles_[kAtOnce];
  double weights_[kAtOnce];
  int waiting_ = 0;
  double finite_weight_ = 0.0;

 public:
  std::vector<double> weight, sum, square, low, high;
  std::int64_t missing = 0, infinite_row = -1, empty_row = -1, zero_row = -1;
  int infinite_column = -1;
};

}  // namespace

ColumnStatistics column_statistics(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* weights,
                                   Team& team) {
  const int d = data.features;
  // The first row is subtracted before squaring: variances of columns far from zero stay right.
  std::vector<double> shift(d);
  if (n) data.raw(which ? which[0] : 0, shift.data());
  for (double& s : shift)
    if (!std::isfinite(s)) s = 0.0;

  constexpr int kParts = 16;  // fixed, so that sums do not depend on the number of threads
  const auto make = [&] { return PartialStatistics(data, shift); };
  PartialStatistics all = parallel_reduce(team, kParts, make, [&](PartialStatistics& statistics, int part, int) {
    for (std::int64_t i = n * part / kParts; i < n * (part + 1) / kParts; ++i)
      statistics.add(which ? which[i] : i, weights ? weights[i] : 1.0);
    statistics.finish();
  });

  ColumnStatistics out;
  out.missing = all.missing;
  out.infinite_row = all.infinite_row;
  out.infinite_column = all.infinite_column;
  out.empty_row = all.empty_row;
  out.zero_row = all.zero_row;
  out.weight = std::move(all.weight);
  out.mean = std::move(all.sum);
  out.variance = std::move(all.square);
  out.low = std::move(all.low);
  out.high = std::move(all.high);
  for (int j = 0; j < d; ++j) {
    if (out.weight[j] <= 0.0) continue;
    const double mean = out.mean[j] / out.weight[j];
    out.variance[j] = std::max(0.0, out.variance[j] / out.weight[j] - mean * mean);
    out.mean[j] = shift[j] + mean;
  }
  return out;
}

bool rows_are_plain(const Dataset& data, bool zeros, Team& team) {
  if (data.is_sparse) return false;
  constexpr int kParts = 16;
  std::atomic<bool> plain{true};
  team.run(kParts, [&](int part, int) {
    const std::int64_t last = data.rows * (part + 1) / kParts;
    for (std::int64_t i = data.rows * part / kParts; i < last && plain.load(std::memory_order_relaxed); ++i) {
      const std::ptrdiff_t at = i * data.dense.stride;
      const RowState state =
          data.dense.is_double
              ? kernels().inspect_double(static_cast<const double*>(data.dense.data) + at, data.features)
              : kernels().inspect_float(static_cast<const float*>(data.dense.data) + at, data.features);
      if (state != RowState::plain && !(zeros && state == RowState::zero))
        plain.store(false, std::memory_order_relaxed);
    }
  });
  return plain;
}

DistinctRows distinct_rows(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* weights) {
  const auto row = [which](std::int64_t at) { return which ? which[at] : at; };
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return data.compare(row(a), row(b)) < 0; });
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
