#include "inference/overlap.hpp"

#include "energies/registry.hpp"
#include "inference/filling.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace amclust {
namespace {

constexpr int kRows = 64;
// Rows are cut into at most so many parts, each with sums of its own.
constexpr std::int64_t kMaxParts = 16, kMinPartRows = 1024;
constexpr float kDecay = 4.0f;

class OverlapSums {
 public:
  OverlapSums(const Dataset& data, const float* fill, const Memories& memories, int n_nearest, int n_labels)
      : data_(data), fill_(fill), memories_(memories), n_nearest_(n_nearest), closeness_(kRows, memories.kp) {
    const std::size_t m = memories.k;
    sums.between.assign(m * m, 0.0);
    sums.mass.assign(m, 0.0);
    sums.by_label.assign(m * n_labels, 0.0);
    if (!data.gives_entries()) rows_.resize(kRows, memories.ld);
    if (data.has_missing) missing_.fit(kRows, memories.d);
    norms_.resize(kRows);
    nearest_.resize(n_nearest + 1);
    shares_.resize(n_nearest);
  }

  Overlap sums;

  void add(const OverlapSums& other, Slice slice) {
    slice.add(sums.between, other.sums.between, sums.between.size());
    slice.add(sums.mass, other.sums.mass, sums.mass.size());
    slice.add(sums.by_label, other.sums.by_label, sums.by_label.size());
  }

  void add_rows(const std::int64_t* which, int n, const float* weights, const std::int32_t* labels) {
    memories_.panel.products(load(which, n), closeness_);
    with_energy(memories_.metric, [&](auto energy) {
      for (int i = 0; i < n; ++i)
        for (int m = 0; m < memories_.k; ++m)
          closeness_(i, m) = energy.closeness(closeness_(i, m), memories_.square_norms[m]);
    });
    for (int i = 0; i < n; ++i) add_row(i, weights ? weights[i] : 1.0, labels ? labels[i] : -1);
  }

 private:
  struct Near {
    float closeness;
    std::int32_t memory;
  };

  RowBlock load(const std::int64_t* which, int n) {
    if (data_.gives_entries()) {
      data_.load_entries(which, n, entries_, norms_.data());
      return entries_.block();
    }
    const auto rows = rows_.block(0, n);
    data_.load(which, n, fill_, rows.data, memories_.ld, missing_.data());
    if (data_.has_missing) filler_.fill(memories_, rows, missing_.view(), true);
    kernels().norms(rows.data, memories_.ld, n, norms_.data());
    return rows;
  }

  void add_row(int row, double weight, std::int32_t label) {
    find_nearest(closeness_.row(row));
    // The part of the squared distances that is not in the closeness is the same for all memories.
    const bool spherical = with_energy(memories_.metric, [](auto energy) { return energy.on_sphere; });
    const float most = spherical ? 1.0f : norms_[row];
    const auto square = [&](int i) { return std::max(0.0f, most - nearest_[i].closeness); };
    const float next = square(n_nearest_);
    float total = 0.0f;
    for (int i = 0; i < n_nearest_; ++i) {
      // Rows on several memories at once belong to all of them alike.
      shares_[i] = next > 0.0f ? std::exp(-kDecay * square(i) / next) : 1.0f;
      total += shares_[i];
    }
    for (int i = 0; i < n_nearest_; ++i) {
      const double share = shares_[i] / total;
      sums.mass[nearest_[i].memory] += weight * share;
      if (label >= 0) sums.by_label[label * sums.mass.size() + nearest_[i].memory] += weight * share;
      double* to = sums.between.data() + nearest_[i].memory * sums.mass.size();
      for (int j = 0; j < n_nearest_; ++j) to[nearest_[j].memory] += weight * share * (shares_[j] / total);
    }
  }

  // The n_nearest_ + 1 closest memories, the closest first; of equals, the first.
  void find_nearest(const float* closeness) {
    std::fill(nearest_.begin(), nearest_.end(), Near{-std::numeric_limits<float>::infinity(), 0});
    for (int m = 0; m < memories_.k; ++m) {
      if (!(closeness[m] > nearest_[n_nearest_].closeness)) continue;
      int at = n_nearest_;
      for (; at > 0 && closeness[m] > nearest_[at - 1].closeness; --at) nearest_[at] = nearest_[at - 1];
      nearest_[at] = {closeness[m], m};
    }
  }

  const Dataset& data_;
  const float* fill_;
  const Memories& memories_;
  int n_nearest_;
  Matrix closeness_, rows_;
  MissingMarks missing_;
  SparseEntries entries_;
  Filler filler_;
  std::vector<float> norms_, shares_;
  std::vector<Near> nearest_;
};

}  // namespace

Overlap overlap(const Dataset& data, const TrainingRows& rows, const float* fill, const Memories& memories,
                int n_nearest, const std::int32_t* labels, int n_labels, Team& team, const Control& control) {
  const int parts = static_cast<int>(std::clamp<std::int64_t>(rows.size / kMinPartRows, 1, kMaxParts));
  const auto make = [&] { return OverlapSums(data, fill, memories, n_nearest, n_labels); };
  OverlapSums all = parallel_reduce(team, parts, make, [&](OverlapSums& sums, int part, int) {
    std::int64_t which[kRows];
    const std::int64_t last = rows.size * (part + 1) / parts;
    for (std::int64_t first = rows.size * part / parts; first < last && !control.stopped(); first += kRows) {
      const int n = static_cast<int>(std::min<std::int64_t>(kRows, last - first));
      for (int i = 0; i < n; ++i) which[i] = rows.rows ? rows.rows[first + i] : first + i;
      sums.add_rows(which, n, rows.weights ? rows.weights + first : nullptr, labels ? labels + first : nullptr);
    }
  });
  return std::move(all.sums);
}

}  // namespace amclust
