#include "training/seeding.hpp"

#include "matrix.hpp"
#include "training/order.hpp"
#include "training/ward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
struct Sample {
  int n = 0, d = 0, ld = 0;
  Matrix rows;
  std::vector<double> weights;

  Sample(const Dataset& data, const TrainingRows& all, int k, std::uint64_t seed, const float* fill) {
    const std::int64_t max_rows = std::max<std::int64_t>(4096, std::int64_t{16} * k);
    n = static_cast<int>(std::min<std::int64_t>(all.size, max_rows));
    d = data.features;
    ld = padded(d, kernels().lanes);
    const RandomOrder order(seed, 0, static_cast<std::uint64_t>(all.size));
    std::vector<std::int64_t> which(n);
    weights.assign(n, 1.0);
    for (int i = 0; i < n; ++i) {
      const std::int64_t at = n == all.size ? i : static_cast<std::int64_t>(order[static_cast<std::uint64_t>(i)]);
      which[i] = all.rows ? all.rows[at] : at;
      if (all.weights) weights[i] = all.weights[at];
    }
    rows.resize(n, ld);
    std::vector<std::uint8_t> missing(data.has_missing ? static_cast<std::size_t>(n) * d : 0);
    data.load(which.data(), n, fill, rows.data(), ld, missing.data());
  }
  const float* row(int i) const { return rows.row(i); }
  // Squared distances of all rows to the vectors [d][width] into out [n][width].
  void distances(const Matrix& columns, Matrix& out) const {
    kernels().distances(rows.data(), ld, n, d, columns.data(), static_cast<int>(columns.stride()), out.data());
  }
};

// Squared distances of all rows of the sample to a few of its rows, [n][width].
class SampleDistances {
 public:
  SampleDistances(const Sample& sample, int width)
      : sample_(sample),
        columns_(sample.d, padded(width, kernels().lanes)),
        distances_(sample.n, padded(width, kernels().lanes)) {}

  void compute(const std::vector<int>& picks) {
    columns_.zero();
    for (int c = 0; c < static_cast<int>(picks.size()); ++c) {
      const float* x = sample_.row(picks[c]);
      for (int j = 0; j < sample_.d; ++j) columns_(j, c) = x[j];
    }
    sample_.distances(columns_, distances_);
  }
  float at(int row, int pick) const { return distances_(row, pick); }

 private:
  const Sample& sample_;
  Matrix columns_, distances_;
};

// Index at which the running sum of weight * value passes the target.
int pick(const std::vector<double>& weights, const float* values, double target) {
  int last = 0;
  for (int i = 0; i < static_cast<int>(weights.size()); ++i) {
    const double mass = weights[i] * (values ? values[i] : 1.0);
    if (mass <= 0.0) continue;
    last = i;
    if ((target -= mass) < 0.0) break;
  }
  return last;
}

double total(const std::vector<double>& weights, const float* values) {
  double sum = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * (values ? values[i] : 1.0);
  return sum;
}

std::vector<int> plus_plus_picks(const Sample& sample, int k, Random& random) {
  const int trials = 2 + static_cast<int>(std::log(static_cast<double>(k)));
  SampleDistances panel(sample, trials);
  std::vector<int> picks{pick(sample.weights, nullptr, random.uniform() * total(sample.weights, nullptr))};
  std::vector<float> nearest(sample.n), trial(sample.n), best(sample.n);
  panel.compute(picks);
  for (int i = 0; i < sample.n; ++i) nearest[i] = panel.at(i, 0);
  while (static_cast<int>(picks.size()) < k) {
    const double potential = total(sample.weights, nearest.data());
    if (!(potential > 0.0)) break;
    std::vector<int> candidates(trials);
    for (int& candidate : candidates) candidate = pick(sample.weights, nearest.data(), random.uniform() * potential);
    panel.compute(candidates);
    double best_potential = std::numeric_limits<double>::infinity();
    int winner = candidates[0];
    for (int c = 0; c < trials; ++c) {
      for (int i = 0; i < sample.n; ++i) trial[i] = std::min(nearest[i], panel.at(i, c));
      const double value = total(sample.weights, trial.data());
      if (value < best_potential) {
        best_potential = value;
        winner = candidates[c];
        best.swap(trial);
      }
    }
    nearest = best;
    picks.push_back(winner);
  }
  return picks;
}

std::vector<int> random_picks(const Sample& sample, int k, Random& random) {
  std::vector<double> weights = sample.weights;
  SampleDistances panel(sample, 1);
  std::vector<int> picks;
  while (static_cast<int>(picks.size()) < k) {
    const double left = total(weights, nullptr);
    if (!(left > 0.0)) break;
    picks.push_back(pick(weights, nullptr, random.uniform() * left));
    panel.compute({picks.back()});
    for (int i = 0; i < sample.n; ++i)
      if (panel.at(i, 0) <= 0.0f) weights[i] = 0.0;
  }
  return picks;
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

// Squared distances of all rows of the sample to memories [k][d].
class MemoryDistances {
 public:
  MemoryDistances(const Sample& sample, int k)
      : sample_(sample),
        columns_(sample.d, padded(k, kernels().lanes)),
        distances_(sample.n, padded(k, kernels().lanes)) {}

  void compute(MatrixView<const float> memories) {
    for (int m = 0; m < memories.rows; ++m)
      for (int j = 0; j < sample_.d; ++j) columns_(j, m) = memories(m, j);
    sample_.distances(columns_, distances_);
  }
  const float* row(int i) const { return distances_.row(i); }

 private:
  const Sample& sample_;
  Matrix columns_, distances_;
};

// A few rounds of Lloyd's algorithm on the sample: rows become centres, and the distances to them tell the temperature.
void settle(const Sample& sample, int k, int rounds, std::vector<float>& memories) {
  const MatrixView<float> centres{memories.data(), k, sample.d};
  MemoryDistances distances(sample, k);
  std::vector<int> nearest(sample.n, -1);
  for (int round = 0; round < rounds; ++round) {
    distances.compute(centres);
    bool changed = false;
    for (int i = 0; i < sample.n; ++i) {
      const float* row = distances.row(i);
      const int best = static_cast<int>(std::min_element(row, row + k) - row);
      changed = changed || best != nearest[i];
      nearest[i] = best;
    }
    if (!changed) return;
    Centres means(k, sample.d);
    for (int i = 0; i < sample.n; ++i) means.add(nearest[i], sample.row(i), sample.weights[i]);
    means.get(centres);
  }
}

// Mean of the smallest, median of second smallest minus smallest, of the distances to the memories; and the mean of
// those to the centre of all.
void scales_of(const Sample& sample, int k, Seeding& seeding) {
  MemoryDistances distances(sample, k);
  distances.compute({seeding.memories.data(), k, sample.d});
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
  const Sample sample(data, rows, k, sample_seed, fill);
  std::vector<Seeding> out(seeds.size());
  team.run(static_cast<int>(seeds.size()), [&](int index, int) {
    Seeding& seeding = out[index];
    if (methods[index] == SeedingMethod::ward) {
      seeding.memories = ward_centres(sample, k, seeds[index]);
      if (!seeding.memories.empty()) {
        seeding.distinct = k;
        settle(sample, k, kTreeSettlingRounds, seeding.memories);
        scales_of(sample, k, seeding);
        return;
      }
    }
    const bool random_rows = methods[index] == SeedingMethod::random;
    Random random(seeds[index], Purpose::seeding);
    const std::vector<int> picks = random_rows ? random_picks(sample, k, random) : plus_plus_picks(sample, k, random);
    seeding.distinct = static_cast<int>(picks.size());
    if (seeding.distinct < k) return;
    seeding.memories.reserve(static_cast<std::size_t>(k) * sample.d);
    for (int p : picks) seeding.memories.insert(seeding.memories.end(), sample.row(p), sample.row(p) + sample.d);
    if (!random_rows) settle(sample, k, kSettlingRounds, seeding.memories);
    scales_of(sample, k, seeding);
  });
  return out;
}

void measure_scales(const Dataset& data, const TrainingRows& rows, int k, std::uint64_t sample_seed, const float* fill,
                    Seeding& seeding) {
  const Sample sample(data, rows, k, sample_seed, fill);
  seeding.distinct = k;
  scales_of(sample, k, seeding);
}

}  // namespace amclust
