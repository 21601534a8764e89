#include "training/kmeans.hpp"

#include "kernels/kernels.hpp"
#include "team.hpp"
#include "training/picks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace amclust {

Sample::Sample(Buffer rows, int n_rows, int features, std::vector<double> row_weights)
    : n(n_rows),
      d(features),
      ld(padded(features, kernels().lanes)),
      weights(std::move(row_weights)),
      rows_(std::move(rows)),
      tiles_(static_cast<std::size_t>(tiles()) * d * kTile) {
  for (int i = 0; i < n; ++i) {
    float* column = tiles_.data() + static_cast<std::ptrdiff_t>(i / kTile) * d * kTile + i % kTile;
    const float* x = row(i);
    for (int j = 0; j < d; ++j) column[static_cast<std::ptrdiff_t>(j) * kTile] = x[j];
  }
}

Sample Sample::take(const std::vector<int>& which) const {
  const int count = static_cast<int>(which.size());
  Buffer chosen(static_cast<std::size_t>(count) * ld);
  std::vector<double> their_weights(count);
  for (int i = 0; i < count; ++i) {
    std::copy_n(row(which[i]), ld, chosen.data() + static_cast<std::ptrdiff_t>(i) * ld);
    their_weights[i] = weights[which[i]];
  }
  return Sample(std::move(chosen), count, d, std::move(their_weights));
}

void Sample::distances(int tile, const float* centres, int count, float* out) const {
  kernels().distances(centres, ld, count, d, tiles_.data() + static_cast<std::ptrdiff_t>(tile) * d * kTile, kTile, out);
}

namespace {

// Squared distances of all rows of a sample to a few of them, [tile][picks][kTile].
class PickDistances {
 public:
  PickDistances(const Sample& sample, int picks)
      : sample_(sample),
        picks_(picks),
        chosen_(static_cast<std::size_t>(picks) * sample.ld),
        values_(static_cast<std::size_t>(sample.tiles()) * picks * Sample::kTile) {}

  void compute(const std::vector<int>& picks) {
    for (std::size_t c = 0; c < picks.size(); ++c)
      std::copy_n(sample_.row(picks[c]), sample_.d, chosen_.data() + c * sample_.ld);
    for (int tile = 0; tile < sample_.tiles(); ++tile)
      sample_.distances(tile, chosen_.data(), static_cast<int>(picks.size()),
                        values_.data() + static_cast<std::ptrdiff_t>(tile) * picks_ * Sample::kTile);
  }
  float at(int row, int pick) const {
    const std::ptrdiff_t tile = row / Sample::kTile;
    return values_[static_cast<std::size_t>((tile * picks_ + pick) * Sample::kTile + row % Sample::kTile)];
  }

 private:
  const Sample& sample_;
  int picks_;
  Buffer chosen_, values_;
};

}  // namespace

std::vector<int> plus_plus_picks(const Sample& sample, int k, Random& random) {
  PickDistances distances(sample, plus_plus_trials(k));
  return plus_plus_picks(distances, sample.weights, k, random);
}

std::vector<int> distinct_picks(const Sample& sample, int k, Random& random) {
  PickDistances distances(sample, 1);
  return distinct_picks(distances, sample.weights, k, random);
}

Lloyd::Lloyd(const Sample& sample, const std::vector<float>& centres)
    : sample_(sample),
      k_(static_cast<int>(centres.size()) / sample.d),
      capacity_(k_),
      centres_(static_cast<std::size_t>(k_) * sample.ld),
      distances_(static_cast<std::size_t>(sample.tiles()) * k_ * Sample::kTile),
      labels_(sample.n, -1),
      sizes_(k_, 0),
      moved_(k_, 1),
      changed_(k_, 0) {
  for (int m = 0; m < k_; ++m)
    std::copy_n(centres.data() + static_cast<std::ptrdiff_t>(m) * sample.d, sample.d, centre(m));
}

void Lloyd::assign() {
  constexpr int kTile = Sample::kTile;
  std::vector<int> which;
  for (int m = 0; m < k_; ++m)
    if (moved_[m]) which.push_back(m);
  if (which.empty()) return;
  const int count = static_cast<int>(which.size());
  Buffer packed(static_cast<std::size_t>(count) * sample_.ld), fresh(static_cast<std::size_t>(count) * kTile);
  for (int c = 0; c < count; ++c)
    std::copy_n(centre(which[c]), sample_.d, packed.data() + static_cast<std::ptrdiff_t>(c) * sample_.ld);
  for (int tile = 0; tile < sample_.tiles(); ++tile) {
    float* far = distances_.data() + static_cast<std::ptrdiff_t>(tile) * capacity_ * kTile;
    check_interrupt();
    sample_.distances(tile, packed.data(), count, fresh.data());
    for (int c = 0; c < count; ++c)
      std::copy_n(&fresh[static_cast<std::size_t>(c) * kTile], kTile, far + which[c] * kTile);
    std::int32_t nearest[kTile];
    kernels().least(far, k_, kTile, nearest);
    std::int32_t* labels = labels_.data() + static_cast<std::ptrdiff_t>(tile) * kTile;
    for (int i = 0; i < sample_.tile_rows(tile); ++i) {
      if (nearest[i] == labels[i]) continue;
      if (labels[i] >= 0) {
        changed_[labels[i]] = 1;
        --sizes_[labels[i]];
      }
      changed_[nearest[i]] = 1;
      ++sizes_[nearest[i]];
      labels[i] = nearest[i];
    }
  }
  std::fill(moved_.begin(), moved_.end(), 0);
}

bool Lloyd::any_changed() const { return std::find(changed_.begin(), changed_.end(), 1) != changed_.end(); }

void Lloyd::update() {
  const int d = sample_.d;
  std::vector<double> sums(static_cast<std::size_t>(k_) * d, 0.0), weights(k_, 0.0);
  for (int i = 0; i < sample_.n; ++i) {
    const int m = labels_[i];
    if (!changed_[m]) continue;
    const float* x = sample_.row(i);
    double* sum = sums.data() + static_cast<std::ptrdiff_t>(m) * d;
    const double weight = sample_.weights[i];
    for (int j = 0; j < d; ++j) sum[j] += weight * x[j];
    weights[m] += weight;
  }
  for (int m = 0; m < k_; ++m) {
    changed_[m] = 0;
    if (!(weights[m] > 0.0)) continue;
    moved_[m] = 1;
    const double* sum = sums.data() + static_cast<std::ptrdiff_t>(m) * d;
    for (int j = 0; j < d; ++j) centre(m)[j] = static_cast<float>(sum[j] / weights[m]);
  }
}

void Lloyd::settle(int rounds, Empty empty) {
  for (int round = 0; round < rounds; ++round) {
    assign();
    if (!any_changed()) return;
    update();
    if (empty == Empty::drop) drop_empty();
  }
}

void Lloyd::drop_empty() {
  for (int m = k_; m-- > 0;)
    if (sizes_[m] == 0) remove(m);
}

void Lloyd::replace(int from, int to) {
  for (std::int32_t& label : labels_)
    if (label == from) label = to;
}

void Lloyd::remove(int m) {
  const int last = --k_;
  if (m != last) {
    replace(last, m);
    std::copy_n(centre(last), sample_.ld, centre(m));
    for (int tile = 0; tile < sample_.tiles(); ++tile) {
      float* far = distances_.data() + static_cast<std::ptrdiff_t>(tile) * capacity_ * Sample::kTile;
      std::copy_n(far + last * Sample::kTile, Sample::kTile, far + m * Sample::kTile);
    }
    sizes_[m] = sizes_[last];
    moved_[m] = moved_[last];
    changed_[m] = changed_[last];
  }
  sizes_.resize(k_);
  moved_.resize(k_);
  changed_.resize(k_);
}

void Lloyd::merge(int a, int b) {
  // A cluster without rows still has a place: it counts like a single row.
  const double first = std::max(sizes_[a], 1), second = std::max(sizes_[b], 1);
  for (int j = 0; j < sample_.d; ++j)
    centre(a)[j] = static_cast<float>((first * centre(a)[j] + second * centre(b)[j]) / (first + second));
  replace(b, a);
  sizes_[a] += sizes_[b];
  moved_[a] = changed_[a] = 1;
  remove(b);
}

std::vector<float> Lloyd::centres_by_row() const {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(k_) * sample_.d);
  for (int m = 0; m < k_; ++m) {
    const float* from = centres_.data() + static_cast<std::ptrdiff_t>(m) * sample_.ld;
    out.insert(out.end(), from, from + sample_.d);
  }
  return out;
}

}  // namespace amclust
