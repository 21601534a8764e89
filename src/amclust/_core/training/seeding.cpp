#include "training/seeding.hpp"

#include "matrix.hpp"
#include "training/kmeans.hpp"
#include "training/order.hpp"
#include "training/ward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace amclust {
namespace {

constexpr int kSettlingRounds = 8;

// A tree is made of at most so many rows, and of a part of the rows, so that restarts differ.
constexpr int kTreeRows = 1024;
constexpr double kTreePart = 0.9;
// It is a good start already: more rounds would lead away from it.
constexpr int kTreeSettlingRounds = 2;
// Rows are smoothed over this part of the rows a cluster has on average.
constexpr double kNeighbourhood = 1.0 / 32.0;

// The rows that stand for all, loaded once for all seedings.
Sample load_sample(const Dataset& data, const TrainingRows& all, int k, std::uint64_t seed, const float* fill) {
  const std::int64_t most = std::max<std::int64_t>(4096, std::int64_t{16} * k);
  const int n = static_cast<int>(std::min<std::int64_t>(all.size, most)), ld = padded(data.features, kernels().lanes);
  const RandomOrder order(seed, 0, static_cast<std::uint64_t>(all.size));
  std::vector<std::int64_t> which(n);
  std::vector<double> weights(n, 1.0);
  for (int i = 0; i < n; ++i) {
    const std::int64_t at = n == all.size ? i : static_cast<std::int64_t>(order[static_cast<std::uint64_t>(i)]);
    which[i] = all.rows ? all.rows[at] : at;
    if (all.weights) weights[i] = all.weights[at];
  }
  Buffer rows(static_cast<std::size_t>(n) * ld);
  std::vector<std::uint8_t> missing(data.has_missing ? static_cast<std::size_t>(n) * data.features : 0);
  data.load(which.data(), n, fill, rows.data(), ld, missing.data());
  return Sample(std::move(rows), n, data.features, std::move(weights));
}

// Weighted means of the rows of each cluster.
class Centres {
 public:
  Centres(int k, int d) : d_(d), sums_(static_cast<std::size_t>(k) * d, 0.0), sizes_(k, 0.0) {}

  void add(int cluster, const float* row, double weight) {
    double* sum = view(cluster);
    for (int j = 0; j < d_; ++j) sum[j] += weight * row[j];
    sizes_[cluster] += weight;
  }
  // Empty clusters keep what stands in `out` [k][d].
  void get(MatrixView<float> out) {
    for (int m = 0; m < out.rows; ++m)
      for (int j = 0; j < d_ && sizes_[m] > 0.0; ++j) out(m, j) = static_cast<float>(view(m)[j] / sizes_[m]);
  }

 private:
  double* view(int cluster) {
    return MatrixView<double>{sums_.data(), static_cast<int>(sizes_.size()), d_}.row(cluster);
  }

  int d_;
  std::vector<double> sums_, sizes_;
};

// The centres of the clusters of a Ward tree of some of the sample's rows; empty where these have no k distinct ones.
std::vector<float> ward_centres(const Sample& sample, int k, std::uint64_t seed) {
  std::vector<int> picks;
  const RandomOrder order(seed, ~std::uint32_t{0}, static_cast<std::uint64_t>(sample.n));
  const int max_picks =
      std::max(std::min(kTreeRows, static_cast<int>(kTreePart * sample.n)), std::min(sample.n, 2 * k));
  for (int i = 0; i < sample.n && static_cast<int>(picks.size()) < max_picks; ++i) {
    const int row = static_cast<int>(order[static_cast<std::uint64_t>(i)]);
    if (sample.weights[row] > 0.0) picks.push_back(row);
  }
  std::sort(picks.begin(), picks.end());
  const int n = static_cast<int>(picks.size()), d = sample.d;
  Matrix rows(n, sample.ld);
  std::vector<double> weights(n);
  for (int i = 0; i < n; ++i) {
    std::copy_n(sample.row(picks[i]), d, rows.row(i));
    weights[i] = sample.weights[picks[i]];
  }
  const int neighbours = static_cast<int>(std::lround(kNeighbourhood * n / k));
  const std::vector<int> labels = cut_ward_tree(rows.view(), d, weights, neighbours, k);
  if (labels.empty()) return {};

  Centres centres(k, d);
  for (int i = 0; i < n; ++i) centres.add(labels[i], sample.row(picks[i]), weights[i]);
  std::vector<float> out(static_cast<std::size_t>(k) * d);
  centres.get({out.data(), k, d});
  return out;
}

// Rows become centres, and the distances to them tell the temperature.
void settle(const Sample& sample, int rounds, std::vector<float>& memories) {
  Lloyd lloyd(sample, memories);
  lloyd.settle(rounds, Lloyd::Empty::keep);
  memories = lloyd.centres_by_row();
}

// Mean of the smallest, median of second smallest minus smallest, of the distances to the memories; and the mean of
// those to the centre of all.
void scales_of(const Sample& sample, int k, Seeding& seeding) {
  const int kp = padded(k, kernels().lanes);
  Matrix columns(sample.d, kp), distances(sample.n, kp);
  const MatrixView<const float> memories{seeding.memories.data(), k, sample.d};
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < sample.d; ++j) columns(j, m) = memories(m, j);
  kernels().distances(sample.rows(), sample.ld, sample.n, sample.d, columns.data(), kp, distances.data());
  std::vector<float> gaps(sample.n);
  std::vector<double> centre(sample.d, 0.0);
  double sum = 0.0, weight = 0.0, squares = 0.0;
  for (int i = 0; i < sample.n; ++i) {
    float first = std::numeric_limits<float>::max(), second = first;
    for (int m = 0; m < k; ++m) {
      const float value = distances.row(i)[m];
      if (value < first) {
        second = first;
        first = value;
      } else if (value < second) {
        second = value;
      }
    }
    gaps[i] = k > 1 ? second - first : first;
    sum += sample.weights[i] * first;
    weight += sample.weights[i];
    const float* x = sample.row(i);
    for (int j = 0; j < sample.d; ++j) {
      centre[j] += sample.weights[i] * x[j];
      squares += sample.weights[i] * x[j] * x[j];
    }
  }
  std::nth_element(gaps.begin(), gaps.begin() + sample.n / 2, gaps.end());
  seeding.mean_square = sum / weight;
  seeding.median_gap = gaps[sample.n / 2];
  for (double c : centre) squares -= c * c / weight;
  seeding.total_square = std::max(squares, 0.0) / weight;
}

}  // namespace

std::vector<Seeding> seed_memories(const Dataset& data, const TrainingRows& rows, int k,
                                   const std::vector<SeedingMethod>& methods, const std::vector<std::uint64_t>& seeds,
                                   std::uint64_t sample_seed, const float* fill, Team& team) {
  const Sample sample = load_sample(data, rows, k, sample_seed, fill);
  std::vector<Seeding> out(seeds.size());
  team.run(static_cast<int>(seeds.size()), [&](int index, int) {
    Seeding& seeding = out[index];
    if (methods[index] == SeedingMethod::ward) {
      seeding.memories = ward_centres(sample, k, seeds[index]);
      if (!seeding.memories.empty()) {
        seeding.distinct = k;
        settle(sample, kTreeSettlingRounds, seeding.memories);
        scales_of(sample, k, seeding);
        return;
      }
    }
    const bool random_rows = methods[index] == SeedingMethod::random;
    Random random(seeds[index], Purpose::seeding);
    const std::vector<int> picks = random_rows ? distinct_picks(sample, k, random) : plus_plus_picks(sample, k, random);
    seeding.distinct = static_cast<int>(picks.size());
    if (seeding.distinct < k) return;
    seeding.memories.reserve(static_cast<std::size_t>(k) * sample.d);
    for (int p : picks) seeding.memories.insert(seeding.memories.end(), sample.row(p), sample.row(p) + sample.d);
    if (!random_rows) settle(sample, kSettlingRounds, seeding.memories);
    scales_of(sample, k, seeding);
  });
  return out;
}

void measure_scales(const Dataset& data, const TrainingRows& rows, int k, std::uint64_t sample_seed, const float* fill,
                    Seeding& seeding) {
  const Sample sample = load_sample(data, rows, k, sample_seed, fill);
  seeding.distinct = k;
  scales_of(sample, k, seeding);
}

}  // namespace amclust
