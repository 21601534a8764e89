// Compiled without contraction (CMakeLists.txt): the rounding of each operation counts.
#include "rows/statistics.hpp"

#include "kernels/kernels.hpp"
#include "rows/stored.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace amclust {
namespace {

static_assert(bins::kKept == ColumnSlices::kBins, "kernels cut terms into as many slices as sums keep");

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What kernels add slices of terms into: counts of units as doubles, exact for so many rows.
class SliceSums {
 public:
  static constexpr int kRows = 8192;  // each has up to 2^39 units

  explicit SliceSums(ExactSums& sums)
      : sums_(sums), d_(sums.size()), limit_(d_), magic_(d_ * bins::kKept), slices_(d_ * bins::kKept, 0.0) {
    for (std::size_t j = 0; j < d_; ++j) set_bins(j);
  }

  // Makes room for a term of this size.
  void admit(std::size_t j, double largest) {
    if (largest <= limit_[j]) return;
    flush(j);
    sums_.raise(j, bins::top_for(largest));
    set_bins(j);
  }
  void flush() {
    for (std::size_t j = 0; j < d_; ++j) flush(j);
  }
  ColumnSlices view() { return {magic_.data(), slices_.data()}; }

 private:
  void set_bins(std::size_t j) {
    const int top = sums_.top(j);
    limit_[j] = bins::limit(top);
    // Where terms overflow, what is added is forgotten.
    for (int at = 0; at < bins::kKept; ++at) magic_[at * d_ + j] = bins::magic(std::min(top, bins::kHighest) - at);
  }
  void flush(std::size_t j) {
    const int top = sums_.top(j);
    for (int at = 0; at < bins::kKept; ++at) {
      double& slice = slices_[at * d_ + j];
      if (slice != 0.0 && top != bins::kOverflow)
        sums_.add_units(j, at, static_cast<std::int64_t>(slice / bins::unit(top - at)));
      slice = 0.0;
    }
  }

  ExactSums& sums_;
  std::size_t d_;
  std::vector<double> limit_, magic_, slices_;  // [d], [kKept][d]
};

// Adds rows. Those that are dense and finite, or have missing values, are collected and go by the kernels a block at a
// time; infinite, huge, sparse and mixed ones by their entries.
class Collector {
 public:
  Collector(const Dataset& data, bool weighted, PartialStatistics& out)
      : data_(data), d_(data.features), weighted_(weighted), out_(out), sums_(out.sum), squares_(out.square) {
    const std::size_t width = std::max(1, d_) * (data.dense.is_double ? sizeof(double) : sizeof(float));
    block_ = static_cast<int>(std::clamp<std::size_t>(kCache / width, 8, kMaxBlock));
    if (!data.is_dense()) stored_rows_.resize(d_, 0);
    if (data.is_dense()) largest_.resize(2 * static_cast<std::size_t>(d_));
  }

  void add(std::int64_t row, double weight) {
    ++rows_;
    out_.n_counted += weight > 0.0;
    if (weighted_) out_.weight.add(0, weight);
    if (!data_.is_dense())
      take_stored(row, weight);
    else if (data_.dense.is_double)
      take_dense(static_cast<const double*>(data_.dense.data) + row * data_.dense.stride, row, weight, doubles_);
    else
      take_dense(static_cast<const float*>(data_.dense.data) + row * data_.dense.stride, row, weight, floats_);
    if (waiting_ == block_) add_block();
    if (rows_ % SliceSums::kRows == 0) flush();
  }

  void finish() {
    flush();
    if (!weighted_) out_.weight.add(0, 1.0, rows_);
    for (int j = 0; j < d_; ++j) {
      if (!data_.is_dense() && stored_rows_[j] < rows_) note(j, 0.0);
      // One zero, not two, whatever comes first.
      out_.low[j] += 0.0;
      out_.high[j] += 0.0;
    }
  }

 private:
  static constexpr int kMaxBlock = 64;
  static constexpr std::size_t kCache = 1 << 15;  // bytes that a block may have
  static RowState inspect(const float* row, int d) { return kernels().inspect_float(row, d); }
  static RowState inspect(const double* row, int d) { return kernels().inspect_double(row, d); }

  void note(int j, double x) {
    if (x < out_.low[j]) out_.low[j] = x;
    if (x > out_.high[j]) out_.high[j] = x;
  }

  // A row of which nothing is known is not one of zeros.
  void note_little(std::int64_t row, double amount, bool empty) {
    std::int64_t& first = empty ? out_.empty_row : out_.zero_row;
    if ((empty || amount < kNothing) && first < 0) first = row;
  }

  void flush() {
    add_block();
    sums_.flush();
    squares_.flush();
  }

  void add_block() {
    if (!waiting_) return;
    double* largest = largest_.data();
    const ColumnRange range{out_.low.data(), out_.high.data(), largest, largest + d_};
    const double* weights = weighted_ ? weights_ : nullptr;
    if (data_.dense.is_double)
      kernels().range_double(doubles_, weights, waiting_, d_, range);
    else
      kernels().range_float(floats_, weights, waiting_, d_, range);
    for (int j = 0; j < d_; ++j) {
      sums_.admit(j, largest[j]);
      squares_.admit(j, largest[d_ + j]);
    }
    if (data_.dense.is_double)
      kernels().slice_double(doubles_, weights, waiting_, d_, sums_.view(), squares_.view());
    else
      kernels().slice_float(floats_, weights, waiting_, d_, sums_.view(), squares_.view());
    waiting_ = 0;
  }

  template <class Value>
  void take_dense(const Value* x, std::int64_t row, double weight, const Value** list) {
    const RowState state = inspect(x, d_);
    bool ordinary = state != RowState::large && std::isfinite(weight);
    if (state == RowState::not_finite) {
      take(weight, [&](auto&& visit) {
        for (int j = 0; j < d_; ++j) visit(j, static_cast<double>(x[j]));
      });
      double amount = 0.0;
      for (const double value : values_) amount += value * value;
      ordinary = ordinary && amount <= kMuch;
      note_little(row, amount, values_.empty() && d_ > 0);
    } else if (state == RowState::zero && out_.zero_row < 0) {
      out_.zero_row = row;
    }
    if (ordinary) {
      list[waiting_] = x;
      weights_[waiting_++] = weight;
      return;
    }
    if (state != RowState::not_finite)
      take(weight, [&](auto&& visit) {
        for (int j = 0; j < d_; ++j) visit(j, static_cast<double>(x[j]));
      });
    add_entries(row, weight);
  }

  // A row by its stored entries; the zeros between them count for the range only, at the end.
  void take_stored(std::int64_t row, double weight) {
    const std::int64_t missing = out_.missing;
    take(weight, [&](auto&& visit) {
      visit_stored(data_, row, [&](int j, double x) {
        ++stored_rows_[j];
        visit(j, x);
      });
    });
    double amount = 0.0;
    for (const double x : values_) amount += x * x;
    note_little(row, amount, out_.missing - missing == d_ && d_ > 0);
    add_entries(row, weight);
  }

  // The observed entries of a row into the list; the others are counted.
  template <class Walk>
  void take(double weight, const Walk& walk) {
    values_.clear();
    columns_.clear();
    walk([&](int j, double x) {
      if (!std::isnan(x)) {
        values_.push_back(x);
        columns_.push_back(j);
        return;
      }
      ++out_.missing;
      if (!out_.missing_weight.size()) out_.missing_weight = ExactSums(static_cast<std::size_t>(d_));
      out_.missing_weight.add(j, weight);
    });
  }

  void add_entries(std::int64_t row, double weight) {
    const int n = static_cast<int>(values_.size());
    for (int e = 0; e < n; ++e) {
      const int j = columns_[e];
      const double x = values_[e];
      if (std::isinf(x) && out_.infinite_row < 0) {
        out_.infinite_row = row;
        out_.infinite_column = j;
      }
      note(j, x);
      sums_.admit(j, std::abs(weight * x));
      squares_.admit(j, std::abs(weight * (x * x)));
    }
    kernels().slice_entries(values_.data(), columns_.data(), n, weight, d_, sums_.view(), squares_.view());
  }

  const Dataset& data_;
  int d_;
  bool weighted_;
  PartialStatistics& out_;
  SliceSums sums_, squares_;
  std::vector<double> largest_;  // of a block's terms, [2][d]
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> stored_rows_;  // how many rows have a column stored, where not all do
  int block_ = 0, waiting_ = 0;
  const float* floats_[kMaxBlock];
  const double* doubles_[kMaxBlock];
  double weights_[kMaxBlock];
  std::vector<double> values_;  // of one row
  std::vector<std::int32_t> columns_;
};

}  // namespace

PartialStatistics::PartialStatistics(int features)
    : low(features, kInfinity), high(features, -kInfinity), sum(low.size()), square(low.size()), weight(1) {}

void PartialStatistics::add(const PartialStatistics& later) {
  if (later.features() != features()) throw std::invalid_argument("these statistics are of other columns");
  const auto first = [this](std::int64_t& row, std::int64_t other) {
    if (row < 0 && other >= 0) row = n_rows + other;
  };
  if (infinite_row < 0) infinite_column = later.infinite_column;
  first(infinite_row, later.infinite_row);
  first(empty_row, later.empty_row);
  first(zero_row, later.zero_row);
  n_rows += later.n_rows;
  n_counted += later.n_counted;
  missing += later.missing;
  for (std::size_t j = 0; j < low.size(); ++j) {
    low[j] = std::min(low[j], later.low[j]);
    high[j] = std::max(high[j], later.high[j]);
  }
  sum.add(later.sum);
  square.add(later.square);
  weight.add(later.weight);
  if (!missing_weight.size())
    missing_weight = later.missing_weight;
  else if (later.missing_weight.size())
    missing_weight.add(later.missing_weight);
}

ColumnStatistics PartialStatistics::finish() const {
  ColumnStatistics out;
  out.missing = missing;
  out.infinite_row = infinite_row;
  out.infinite_column = static_cast<int>(infinite_column);
  out.empty_row = empty_row;
  out.zero_row = zero_row;
  out.low = low;
  out.high = high;
  const std::size_t d = low.size();
  out.weight.assign(d, 0.0);
  out.mean.assign(d, 0.0);
  out.variance.assign(d, 0.0);
  const Wide all = weight.total(0);
  for (std::size_t j = 0; j < d; ++j) {
    const Wide observed = missing_weight.size() ? all - missing_weight.total(j) : all;
    out.weight[j] = std::max(0.0, observed.high);
    if (!(observed.high > 0.0)) continue;
    const Wide total = sum.total(j), squares = square.total(j);
    const double mean = out.mean[j] = std::isfinite(total.high) ? quotient(total, observed) : total.high;
    // sum of (x - mean)^2
    const Wide around = squares - (total + (total - observed * mean)) * mean;
    out.variance[j] = std::isfinite(around.high) ? std::max(0.0, quotient(around, observed)) : kInfinity;
    if (low[j] == high[j]) {  // one value, whatever rounding says
      out.mean[j] = low[j];
      out.variance[j] = 0.0;
    }
  }
  return out;
}

PartialStatistics partial_statistics(const Dataset& data, const std::int64_t* which, std::int64_t n,
                                     const float* weights, Team& team) {
  // Exact sums may be cut in any way: a part a thread.
  const int parts = team.size();
  std::vector<PartialStatistics> found(parts, PartialStatistics(data.features));
  team.run(parts, [&](int part, int) {
    Collector collector(data, weights != nullptr, found[part]);
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
      if (i % 256 == 0) check_interrupt();
      collector.add(which ? which[i] : i, weights ? weights[i] : 1.0);
    }
    collector.finish();
  });
  for (int part = 1; part < parts; ++part) found[0].add(found[part]);
  found[0].n_rows = data.rows;
  return std::move(found[0]);
}

ColumnStatistics column_statistics(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* weights,
                                   Team& team) {
  return partial_statistics(data, which, n, weights, team).finish();
}

}  // namespace amclust
