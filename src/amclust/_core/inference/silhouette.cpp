#include "inference/silhouette.hpp"

#include "matrix.hpp"
#include "rows/sparse_panel.hpp"
#include "rows/stored.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace amclust {
namespace {

constexpr int kQueries = 16;  // a multiple of every lane count
constexpr int kOthers = 64;

// Distances between blocks of rows. With missing values, rows are stored as value, square and presence, all zero where
// missing, and a distance is three products over a count. Sparse rows meet by their entries.
class Distances {
 public:
  Distances(const Dataset& data, const std::int64_t* which, int n)
      : d_(data.features), ld_(padded(d_, kernels().lanes)), missing_(data.has_missing), sparse_(data.gives_entries()) {
    if (sparse_) {
      load_entries(data, which, n);
      return;
    }
    rows_.resize(n, ld_);
    if (!missing_) {
      data.load(which, n, nullptr, rows_.data(), ld_, nullptr);
      return;
    }
    square_.resize(n, ld_);
    present_.resize(n, ld_);
    MissingMarks missing;
    missing.fit(n, d_);
    const std::vector<float> zero(d_, 0.0f);
    data.load(which, n, zero.data(), rows_.data(), ld_, missing.data());
    const std::vector<float>& parts = data.column_parts();
    by_parts_ = !parts.empty();
    columns_ = static_cast<float>(data.columns());
    if (by_parts_) present_parts_.resize(n, ld_);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < d_; ++j) {
        square_(i, j) = rows_(i, j) * rows_(i, j);
        present_(i, j) = missing.row(i)[j] ? 0.0f : 1.0f;
        if (by_parts_) present_parts_(i, j) = present_(i, j) * parts[j];
      }
  }

  // A block of rows as columns, to be held against others; kept by a thread.
  struct Columns {
    Matrix value, square, present;
    std::optional<SparsePanel> entries;
    int first = 0, count = 0;
  };
  void set(Columns& out, int first, int count) const {
    out.first = first;
    out.count = count;
    if (sparse_) {
      if (!out.entries) out.entries.emplace(d_, kQueries);
      out.entries->clear();
      for (int c = 0; c < count; ++c) out.entries->set(c, row(first + c), place(first + c));
      return;
    }
    transpose(rows_, first, count, out.value);
    if (missing_) {
      transpose(square_, first, count, out.square);
      transpose(present_, first, count, out.present);
    }
  }

  // out [count][kQueries] of kOthers rows, or fewer at the end; presence likewise gets 0 where two rows have no feature
  // in common.
  void between(const Columns& columns, int other, int count, float* out, Buffer& temp, float* meet) const {
    const Kernels& kernel = kernels();
    const int size = count * kQueries;
    if (sparse_) {
      const RowBlock others = entries_[other / kOthers].block();
      columns.entries->products(others, out);
      for (int i = 0; i < count; ++i)
        for (int c = 0; c < columns.count; ++c) {
          const float both = norms_[other + i] + norms_[columns.first + c];
          float& value = out[i * kQueries + c];
          value = both - 2.0f * value;
          if (!(value > kCancels * both))
            value = square_between(others, i, row(columns.first + c), place(columns.first + c));
        }
      kernel.roots(out, size);
      return;
    }
    if (!missing_) {
      kernel.distances(rows_.row(other), ld_, count, d_, columns.value.data(), kQueries, out);
      kernel.roots(out, size);
      return;
    }
    const auto multiply = [&](const Matrix& rows, const Matrix& with, float* result) {
      kernel.products(rows.row(other), ld_, count, d_, with.data(), kQueries, result);
    };
    multiply(square_, columns.present, out);
    multiply(present_, columns.square, temp.data());
    for (int i = 0; i < size; ++i) out[i] += temp[i];
    multiply(rows_, columns.value, temp.data());
    multiply(by_parts_ ? present_parts_ : present_, columns.present, meet);
    for (int i = 0; i < size; ++i) {
      const float square = std::max(0.0f, out[i] - 2.0f * temp[i]);
      out[i] = meet[i] > 0.0f ? std::sqrt(square * columns_ / meet[i]) : 0.0f;
      meet[i] = meet[i] > 0.0f ? 1.0f : 0.0f;
    }
  }

 private:
  void load_entries(const Dataset& data, const std::int64_t* which, int n) {
    norms_.resize(n);
    for (int first = 0; first < n; first += kOthers) {
      const int count = std::min(kOthers, n - first);
      data.load_entries(which + first, count, entries_.emplace_back(), norms_.data() + first);
      // Differences of rows do not hang on where the origin is: norms are of the entries alone.
      const RowBlock block = entries_.back().block();
      for (int i = 0; i < count; ++i) {
        double square = 0.0;
        for (std::int32_t e = block.starts[i]; e < block.starts[i + 1]; ++e)
          square += static_cast<double>(block.values[e]) * block.values[e];
        norms_[first + i] = static_cast<float>(square);
      }
    }
  }
  // The block that holds a sparse row, and its place there.
  RowBlock row(int i) const { return entries_[i / kOthers].block(); }
  static int place(int i) { return i % kOthers; }
  void transpose(const Matrix& from, int first, int count, Matrix& to) const {
    to.resize(d_, kQueries);
    for (int c = 0; c < count; ++c)
      for (int j = 0; j < d_; ++j) to(j, c) = from(first + c, j);
  }
  int d_, ld_;
  bool missing_, sparse_, by_parts_ = false;
  float columns_ = 0.0f;  // of the table, of which a level is a part
  Matrix rows_, square_, present_, present_parts_;
  std::vector<SparseEntries> entries_;  // kOthers rows each
  std::vector<float> norms_;
};

// From the summed distances of one row to every cluster and the weight of the rows it met there.
double silhouette_of(MatrixView<const float> totals, MatrixView<const float> met, int row, int own, double own_copy) {
  double inside = 0.0, outside = std::numeric_limits<double>::infinity();
  for (int m = 0; m < totals.rows; ++m) {
    const double weight = met(m, row), sum = totals(m, row);
    if (m == own) {
      const double rest = weight - own_copy;
      if (rest <= 1e-6 * weight) return 0.0;  // alone in its cluster
      inside = sum / rest;
    } else if (weight > 0.0) {
      outside = std::min(outside, sum / weight);
    }
  }
  const double larger = std::max(inside, outside);
  return std::isfinite(outside) && larger > 0.0 ? (outside - inside) / larger : 0.0;
}

bool any_missing(const Dataset& data, const std::int64_t* which, int n) {
  bool found = false;
  for (int i = 0; i < n && !found; ++i)
    visit_values(data, which[i], [&](int, double value) { found = found || std::isnan(value); });
  return found;
}

}  // namespace

std::vector<double> exact_silhouette(const Dataset& data, const std::int64_t* which, int n, const float* weights,
                                     const std::int32_t* labels, int labelings, int k, Team& team, Control& control,
                                     double* values) {
  if (data.has_missing && !any_missing(data, which, n)) {  // no matter which rows there are beside these
    Dataset complete = data;
    complete.has_missing = false;
    return exact_silhouette(complete, which, n, weights, labels, labelings, k, team, control, values);
  }
  const Distances distances(data, which, n);
  const int panels = (n + kQueries - 1) / kQueries;
  const MatrixView<const std::int32_t> label_of{labels, labelings, n};
  std::vector<double> sizes(static_cast<std::size_t>(labelings) * k, 0.0);  // cluster by cluster
  for (int r = 0; r < labelings; ++r)
    for (int i = 0; i < n; ++i) sizes[r * k + label_of(r, i)] += weights ? weights[i] : 1.0;
  std::vector<double> sum_values(static_cast<std::size_t>(panels) * labelings, 0.0);
  const MatrixView<double> sums{sum_values.data(), panels, labelings};
  std::vector<Distances::Columns> columns_of(team.size());
  team.run(panels, [&](int panel, int member) {
    if (control.stopped()) return;
    const int first = panel * kQueries, queries = std::min(kQueries, n - first);
    Distances::Columns& columns = columns_of[member];
    distances.set(columns, first, queries);
    constexpr int kBlock = kOthers * kQueries;
    Matrix block(kOthers, kQueries), meet(kOthers, kQueries);
    Buffer temp(kBlock);
    Matrix totals(labelings * k, kQueries), met(labelings * k, kQueries);  // cluster by cluster
    if (!data.has_missing)                                                 // every row meets all of a cluster
      for (int cluster = 0; cluster < labelings * k; ++cluster)
        std::fill_n(met.row(cluster), kQueries, static_cast<float>(sizes[cluster]));
    for (int other = 0; other < n; other += kOthers) {
      const int count = std::min(kOthers, n - other);
      distances.between(columns, other, count, block.data(), temp, meet.data());
      for (int r = 0; r < labelings; ++r) {
        const auto add = [&](const Matrix& values, Matrix& out) {
          kernels().add_to_rows(values.data(), weights ? weights + other : nullptr, label_of.row(r) + other, count,
                                kQueries, out.row(r * k));
        };
        add(block, totals);
        if (data.has_missing) add(meet, met);
      }
    }
    for (int r = 0; r < labelings; ++r)
      for (int c = 0; c < queries; ++c) {
        const double weight = weights ? weights[first + c] : 1.0;
        const double value = silhouette_of(totals.block(r * k, k), met.block(r * k, k), c, label_of(r, first + c),
                                           std::min(1.0, weight));
        if (values) values[static_cast<std::size_t>(r) * n + first + c] = value;
        sums(panel, r) += weight * value;
      }
  });

  std::vector<double> out(labelings, 0.0);
  for (int r = 0; r < labelings; ++r) {
    double total = 0.0;
    for (int panel = 0; panel < panels; ++panel) total += sums(panel, r);
    const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(r) * k;
    const double weight = std::accumulate(begin, begin + k, 0.0);
    const bool two = std::count_if(begin, begin + k, [](double size) { return size > 0.0; }) > 1;
    out[r] = two ? total / weight : std::numeric_limits<double>::quiet_NaN();
  }
  return out;
}

}  // namespace amclust
