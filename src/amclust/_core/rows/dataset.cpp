#include "rows/dataset.hpp"

#include "energies/registry.hpp"
#include "matrix.hpp"
#include "rows/stored.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

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
  if (!is_dense()) std::fill(out, out + features, 0.0);
  visit_stored(*this, row, [out](int j, double value) { out[j] = value; });
}

void Dataset::set_columns(std::vector<TableColumn> columns) {
  storage = Storage::mixed;
  mixed.columns = std::move(columns);
  features = 0;
  column_parts_.clear();
  for (TableColumn& column : mixed.columns) {
    column.first = features;
    features += column.width();
    column_parts_.resize(features, 1.0f / static_cast<float>(column.width()));
  }
}

double Dataset::observed_columns(const std::uint8_t* missing) const {
  if (!missing) return columns();
  if (storage != Storage::mixed) return features - static_cast<double>(std::count(missing, missing + features, 1));
  return static_cast<double>(std::count_if(mixed.columns.begin(), mixed.columns.end(),
                                           [missing](const TableColumn& column) { return !missing[column.first]; }));
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
  zero_.clear();
  one_.clear();
  entry_offset_.clear();
  if (storage == Storage::mixed) {
    entry_offset_.assign(features, 0.0);  // numbers are all stored: theirs need no origin
    for (const TableColumn& column : mixed.columns)
      if (!column.levels) entry_offset_[column.first] = offset_[column.first];
    for (int j = 0; j < features; ++j) {
      zero_.push_back(static_cast<float>(-offset_[j] * scale_[j]));
      one_.push_back(static_cast<float>((1.0 - offset_[j]) * scale_[j]));
    }
  }
  origin_.clear();
  origin_square_ = 0.0;
  near_zero_ = true;
  const auto origin = [&](int j) { return offset_[j] - (entry_offset_.empty() ? 0.0 : entry_offset_[j]); };
  bool centred = false;
  for (int j = 0; j < features && !centred; ++j) centred = origin(j) != 0.0;
  if (!centred) return;
  origin_.resize(features);
  for (int j = 0; j < features; ++j) {
    origin_[j] = static_cast<float>(-origin(j) * scale_[j]);
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
  if (is_dense()) return features;
  if (storage == Storage::mixed) {
    std::int64_t count = 0;
    const std::uint8_t* code = mixed.codes + row * mixed.code_stride;
    for (const TableColumn& column : mixed.columns)
      count += column.levels && *code++ == MixedRows::kMissing ? column.levels : 1;
    return count;
  }
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
      const float entry = static_cast<float>((value - (entry_offset_.empty() ? 0.0 : entry_offset_[j])) * scale_[j]);
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
  if (!is_sparse() || !rows) return columns();
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
void Dataset::load_mixed_row(std::int64_t row, float* out) const {
  const Value* x = static_cast<const Value*>(mixed.numbers.data) + row * mixed.numbers.stride;
  const std::uint8_t* code = mixed.codes + row * mixed.code_stride;
  std::copy_n(zero_.data(), features, out);
  for (const TableColumn& column : mixed.columns) {
    const int first = column.first;
    if (!column.levels)
      out[first] = static_cast<float>((*x++ - offset_[first]) * scale_[first]);
    else if (const int level = *code++; level != MixedRows::kMissing)
      out[first + level] = one_[first + level];
    else
      std::fill_n(out + first, column.levels, std::numeric_limits<float>::quiet_NaN());
  }
}

void Dataset::load_stored_row(std::int64_t row, float* out) const {
  for (int j = 0; j < features; ++j) out[j] = static_cast<float>(-offset_[j] * scale_[j]);
  visit_values(*this, row, [&](int j, double value) { out[j] = static_cast<float>((value - offset_[j]) * scale_[j]); });
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
  const MatrixView<float> rows_out{out, n, ld};
  const MatrixView<std::uint8_t> marks{missing, n, d};
  const bool spherical = with_energy(metric, [](auto energy) { return energy.on_sphere; });
  for (int i = 0; i < n; ++i) {
    float* x = rows_out.row(i);
    for (int j = d; j < ld; ++j) x[j] = 0.0f;
    if (is_sparse() || (limits && !is_dense()))
      load_stored_row(which[i], x);
    else if (storage == Storage::mixed)
      mixed.numbers.is_double ? load_mixed_row<double>(which[i], x) : load_mixed_row<float>(which[i], x);
    else
      dense.is_double ? load_dense_row<double>(which[i], x) : load_dense_row<float>(which[i], x);
    if (limits && is_dense()) dense.is_double ? limit<double>(which[i], x) : limit<float>(which[i], x);
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

template <class Value>
int compare_mixed(const MixedRows& rows, std::int64_t a, std::int64_t b) {
  const Value* values = static_cast<const Value*>(rows.numbers.data);
  const Value *left = values + a * rows.numbers.stride, *right = values + b * rows.numbers.stride;
  const std::uint8_t *code = rows.codes + a * rows.code_stride, *other = rows.codes + b * rows.code_stride;
  // Codes that are missing come first: they wrap to 0.
  const auto place = [](std::uint8_t level) { return static_cast<std::uint8_t>(level + 1); };
  for (const TableColumn& column : rows.columns) {
    const int sign = column.levels ? place(*code++) - place(*other++) : order(*left++, *right++);
    if (sign) return sign < 0 ? -1 : 1;
  }
  return 0;
}

}  // namespace

int Dataset::compare(std::int64_t a, std::int64_t b) const {
  if (storage == Storage::mixed)
    return mixed.numbers.is_double ? compare_mixed<double>(mixed, a, b) : compare_mixed<float>(mixed, a, b);
  if (!is_sparse())
    return dense.is_double ? compare_dense<double>(dense, features, a, b) : compare_dense<float>(dense, features, a, b);
  if (sparse.wide_indices)
    return sparse.is_double ? compare_sparse<double, std::int64_t>(sparse, a, b)
                            : compare_sparse<float, std::int64_t>(sparse, a, b);
  return sparse.is_double ? compare_sparse<double, std::int32_t>(sparse, a, b)
                          : compare_sparse<float, std::int32_t>(sparse, a, b);
}

namespace {

int count_numbers(const MixedRows& rows) {
  return static_cast<int>(std::count_if(rows.columns.begin(), rows.columns.end(),
                                        [](const TableColumn& column) { return !column.levels; }));
}

}  // namespace

bool rows_are_plain(const Dataset& data, bool zeros, Team& team) {
  if (data.is_sparse()) return false;
  const DenseRows& numbers = data.is_dense() ? data.dense : data.mixed.numbers;
  const int n_numbers = data.is_dense() ? data.features : count_numbers(data.mixed);
  const int n_codes = data.is_dense() ? 0 : data.columns() - n_numbers;
  zeros = zeros || n_codes;  // a level is not nothing
  constexpr int kParts = 16;
  constexpr std::int64_t kTogether = 1024;
  // Where rows of zeros need not be told from others, many short ones are as one.
  const bool gaps = !data.is_dense() || numbers.stride != n_numbers;
  const std::int64_t together = zeros && !gaps ? std::max<std::int64_t>(1, kTogether / std::max(1, n_numbers)) : 1;
  std::atomic<bool> plain{true};
  team.run(kParts, [&](int part, int) {
    const std::int64_t last = data.rows * (part + 1) / kParts;
    for (std::int64_t i = data.rows * part / kParts; i < last && plain.load(std::memory_order_relaxed); i += together) {
      const std::ptrdiff_t at = i * numbers.stride;
      RowState state = RowState::zero;
      const int n = static_cast<int>(std::min(together, last - i)) * n_numbers;
      if (n_numbers)
        state = numbers.is_double ? kernels().inspect_double(static_cast<const double*>(numbers.data) + at, n)
                                  : kernels().inspect_float(static_cast<const float*>(numbers.data) + at, n);
      bool fine = state == RowState::plain || (zeros && state == RowState::zero);
      if (n_codes)
        fine = fine && !std::memchr(data.mixed.codes + i * data.mixed.code_stride, MixedRows::kMissing, n_codes);
      if (!fine) plain.store(false, std::memory_order_relaxed);
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

bool has_level(const MixedRows& rows, int n_codes, std::int64_t row) {
  const std::uint8_t* code = rows.codes + row * rows.code_stride;
  return std::any_of(code, code + n_codes, [](std::uint8_t level) { return level != MixedRows::kMissing; });
}

}  // namespace

std::vector<std::int64_t> empty_rows(const Dataset& data, Team& team) {
  constexpr int kParts = 16;
  std::vector<std::int64_t> found[kParts];
  const DenseRows& numbers = data.is_dense() ? data.dense : data.mixed.numbers;
  const int n_numbers = data.is_dense() ? data.features : count_numbers(data.mixed);
  const int n_codes = data.is_dense() ? 0 : data.columns() - n_numbers;
  team.run(kParts, [&](int part, int) {
    for (std::int64_t i = data.rows * part / kParts; i < data.rows * (part + 1) / kParts; ++i) {
      if (i % 256 == 0) check_interrupt();
      const bool has =
          numbers.is_double ? has_value<double>(numbers, n_numbers, i) : has_value<float>(numbers, n_numbers, i);
      if (!has && !has_level(data.mixed, n_codes, i)) found[part].push_back(i);
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
