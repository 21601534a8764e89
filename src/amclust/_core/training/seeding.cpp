#include "training/seeding.hpp"

#include "energies/registry.hpp"
#include "matrix.hpp"
#include "training/exact_steps.hpp"
#include "training/kmeans.hpp"
#include "training/order.hpp"
#include "training/picks.hpp"
#include "training/sparse_sample.hpp"
#include "training/ward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace amclust {
namespace {

constexpr int kSettlingRounds = 8;

// A tree is made of at most so many rows, and of a part of the rows, so that restarts differ.
constexpr int kTreeRows = 1024;
constexpr double kTreePart = 0.9;
// It is a good start already: more rounds would lead away from it.
constexpr int kTreeSettlingRounds = 2;
// Among many columns clusters explain little, and a row says little of its cluster: directions and sparse rows need
// more rounds.
constexpr int kManySettlingRounds = 100;
// More memories than this are moved to where they are needed, and k-means++ goes in two levels above the second.
constexpr int kFewMemories = 12, kOneLevel = 128;
constexpr int kRelocations = 20;
constexpr double kSettled = 1e-4;
constexpr int kPolishSteps = 2, kManyPolishSteps = 20;
// Rows of the sample: so many a memory, within limits; for very many memories fewer.
constexpr std::int64_t kMinSample = 4096, kMaxSample = 65536, kSampleRows = 64, kMinSampleRows = 16, kPolishRows = 128;
constexpr std::int64_t kMaxSampleNumbers = std::int64_t{1} << 22;
// Scales are measured on so many rows.
constexpr int kMeasuredRows = 4096;
// Rows are smoothed over this part of the rows a cluster has on average.
constexpr double kNeighbourhood = 1.0 / 32.0;

bool on_sphere(EnergyKind metric) {
  return with_energy(metric, [](auto energy) { return energy.on_sphere; });
}

// The rows that stand for all, and their weights.
struct Chosen {
  std::vector<std::int64_t> rows;
  std::vector<double> weights;
};

Chosen choose_sample(const Dataset& data, const TrainingRows& all, int k, std::uint64_t seed) {
  const double numbers = data.gives_entries() ? std::max(1.0, data.mean_entries()) : data.features;
  const std::int64_t wanted =
      std::min({kMaxSample, kSampleRows * k, static_cast<std::int64_t>(kMaxSampleNumbers / numbers)});
  const std::int64_t n = std::min(all.size, std::max({kMinSample, wanted, kMinSampleRows * k}));
  const RandomOrder order(seed, 0, static_cast<std::uint64_t>(all.size));
  Chosen out{std::vector<std::int64_t>(n), std::vector<double>(n, 1.0)};
  if (n == all.size)
    std::iota(out.rows.begin(), out.rows.end(), std::int64_t{0});
  else
    order.get(0, n, out.rows.data());
  for (std::int64_t i = 0; i < n; ++i) {
    if (all.weights) out.weights[i] = all.weights[out.rows[i]];
    if (all.rows) out.rows[i] = all.rows[out.rows[i]];
  }
  return out;
}

// Loaded once for all seedings.
Sample load_sample(const Dataset& data, const TrainingRows& all, int k, std::uint64_t seed, const float* fill) {
  Chosen chosen = choose_sample(data, all, k, seed);
  const int n = static_cast<int>(chosen.rows.size()), ld = padded(data.features, kernels().lanes);
  Buffer rows(static_cast<std::size_t>(n) * ld);
  std::vector<std::uint8_t> missing(data.has_missing ? static_cast<std::size_t>(n) * data.features : 0);
  data.load(chosen.rows.data(), n, fill, rows.data(), ld, missing.data());
  return Sample(std::move(rows), n, data.features, std::move(chosen.weights));
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

// The rows of a sample that a tree is made of, ascending.
std::vector<int> tree_rows(const std::vector<double>& weights, int k, std::uint64_t seed) {
  std::vector<int> picks;
  const int n = static_cast<int>(weights.size());
  const RandomOrder order(seed, ~std::uint32_t{0}, static_cast<std::uint64_t>(n));
  const int max_picks = std::max(std::min(kTreeRows, static_cast<int>(kTreePart * n)), std::min(n, 2 * k));
  for (int i = 0; i < n && static_cast<int>(picks.size()) < max_picks; ++i) {
    const int row = static_cast<int>(order[static_cast<std::uint64_t>(i)]);
    if (weights[row] > 0.0) picks.push_back(row);
  }
  std::sort(picks.begin(), picks.end());
  return picks;
}

// Their clusters; empty where they have no k distinct ones.
std::vector<int> tree_labels(Matrix squares, const std::vector<double>& weights, const std::vector<int>& picks, int k) {
  std::vector<double> of_picks;
  for (const int row : picks) of_picks.push_back(weights[row]);
  const int neighbours = static_cast<int>(std::lround(kNeighbourhood * static_cast<double>(picks.size()) / k));
  return cut_ward_tree(std::move(squares), of_picks, neighbours, k);
}

// The centres of the clusters of a Ward tree of some of the sample's rows; empty where these have no k distinct ones.
std::vector<float> ward_centres(const Sample& sample, int k, std::uint64_t seed) {
  const std::vector<int> picks = tree_rows(sample.weights, k, seed);
  const int n = static_cast<int>(picks.size()), d = sample.d;
  Matrix rows(n, sample.ld);
  for (int i = 0; i < n; ++i) std::copy_n(sample.row(picks[i]), d, rows.row(i));
  const std::vector<int> labels = tree_labels(squares_between(rows.view(), d), sample.weights, picks, k);
  if (labels.empty()) return {};

  Centres centres(k, d);
  for (int i = 0; i < n; ++i) centres.add(labels[i], sample.row(picks[i]), sample.weights[picks[i]]);
  std::vector<float> out(static_cast<std::size_t>(k) * d);
  centres.get({out.data(), k, d});
  return out;
}

// Exact steps on a sample.
class SampleSteps {
 public:
  SampleSteps(const Sample& sample, EnergyKind metric, const std::vector<float>& memories, Team& team,
              const Control& control)
      : weights_(sample.weights.begin(), sample.weights.end()) {
    const int d = sample.d;
    data_.rows = sample.n;
    data_.features = d;
    data_.dense = {sample.rows(), false, sample.ld};
    const std::vector<double> offset(d, 0.0);
    data_.set_units(metric, offset.data(), std::vector<float>(d, 1.0f).data());
    NetworkParameters start;
    start.k = static_cast<int>(memories.size()) / d;
    start.d = d;
    start.memories = memories;
    start.log_weights.assign(start.k, 0.0f);
    start.energy = metric;
    steps_.emplace(data_, TrainingRows{nullptr, weights_.data(), sample.n}, start, nullptr, team, &control);
  }
  ExactSteps* operator->() { return &*steps_; }

 private:
  Dataset data_;
  std::vector<float> weights_;
  std::optional<ExactSteps> steps_;
};

// Rows become centres, and the distances to them tell the temperature. Among many memories some are hardly needed and
// others stand for two: they move; but not where missing values were filled, which may look like clusters.
void settle(const Sample& sample, const Dataset& data, int rounds, std::uint64_t seed, std::vector<float>& memories,
            Team& team, const Control& control) {
  const int k = static_cast<int>(memories.size()) / sample.d;
  if (!on_sphere(data.metric) && (k <= kFewMemories || (data.has_missing && k <= kOneLevel))) {
    Lloyd lloyd(sample, memories);
    lloyd.settle(rounds, Lloyd::Empty::keep);
    memories = lloyd.centres_by_row();
    return;
  }
  SampleSteps steps(sample, data.metric, memories, team, control);
  steps->settle(on_sphere(data.metric) ? kManySettlingRounds : rounds, kSettled);
  const std::uint32_t relocations = data.has_missing || k <= kFewMemories ? 0 : kRelocations;
  for (std::uint32_t round = 0; round < relocations && steps->relocate(seed, round); ++round)
    steps->settle(kTreeSettlingRounds, kSettled);
  memories = steps->memories_by_row();
}

// Memories of a sample are the means of few rows each: some exact steps on more rows bring them to their places.
void polish(const Dataset& data, const TrainingRows& all, std::int64_t sampled, const float* fill, std::uint64_t seed,
            std::vector<float>& memories, Team& team, const Control& control) {
  const int d = data.features, k = static_cast<int>(memories.size()) / d;
  const std::int64_t n = std::min(all.size, std::max(kMaxSample, kPolishRows * k));
  if (k <= kFewMemories || data.has_missing || 2 * n < 3 * sampled) return;
  const RandomOrder order(seed, ~std::uint32_t{2}, static_cast<std::uint64_t>(all.size));
  std::vector<std::int64_t> which(n);
  std::vector<float> weights(all.weights ? n : 0);
  if (n == all.size)
    std::iota(which.begin(), which.end(), std::int64_t{0});
  else
    order.get(0, n, which.data());
  for (std::int64_t i = 0; i < n; ++i) {
    if (all.weights) weights[i] = all.weights[which[i]];
    if (all.rows) which[i] = all.rows[which[i]];
  }
  NetworkParameters start;
  start.k = k;
  start.d = d;
  start.memories = memories;
  start.log_weights.assign(k, 0.0f);
  start.energy = data.metric;
  ExactSteps steps(data, {which.data(), all.weights ? weights.data() : nullptr, n}, start, fill, team, &control);
  steps.settle(on_sphere(data.metric) ? kManyPolishSteps : kPolishSteps, kSettled);
  memories = steps.memories_by_row();
}

// k-means++ in two levels: a few coarse cells, then their share of the picks in each. The cost of one level grows with
// rows times picks, that of two with rows times the root of them.
std::vector<int> two_level_picks(const Sample& sample, EnergyKind metric, int k, std::uint64_t seed, Team& team,
                                 const Control& control) {
  const int cells = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(k))));
  const RandomOrder order(seed, ~std::uint32_t{1}, static_cast<std::uint64_t>(sample.n));
  std::vector<int> some(std::min(sample.n, 64 * cells));
  for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<int>(order[i]);
  Random random(seed, Purpose::seeding);
  const Sample part = sample.take(some);
  std::vector<float> centres;
  for (const int p : plus_plus_picks(part, cells, random))
    centres.insert(centres.end(), part.row(p), part.row(p) + part.d);
  SampleSteps coarse(part, metric, centres, team, control);
  coarse->settle(kSettlingRounds, kSettled);
  SampleSteps all(sample, metric, coarse->memories_by_row(), team, control);
  std::vector<std::vector<int>> rows(centres.size() / sample.d);
  const std::vector<std::int32_t>& labels = all->labels();
  for (int i = 0; i < sample.n; ++i)
    if (sample.weights[i] > 0.0) rows[labels[i]].push_back(i);

  // A cell gets picks by the root of weight times scatter, but no more than it has rows.
  const int n = static_cast<int>(rows.size());
  const std::vector<double> sizes = all->sizes(), scatter = all->losses();
  std::vector<double> share(n);
  for (int c = 0; c < n; ++c) share[c] = std::sqrt(sizes[c] * scatter[c]);
  double total = 0.0;
  for (const double s : share) total += s;
  std::vector<int> count(n, 0);
  int left = k;
  for (int c = 0; c < n && total > 0.0; ++c) {
    count[c] = std::min(static_cast<int>(k * share[c] / total), static_cast<int>(rows[c].size()));
    left -= count[c];
  }
  std::vector<int> by_rest(n);
  std::iota(by_rest.begin(), by_rest.end(), 0);
  std::stable_sort(by_rest.begin(), by_rest.end(),
                   [&](int a, int b) { return share[a] / (count[a] + 1.0) > share[b] / (count[b] + 1.0); });
  for (int again = 1; left > 0 && again;) {
    again = 0;
    for (const int c : by_rest)
      if (left > 0 && count[c] < static_cast<int>(rows[c].size())) {
        ++count[c];
        --left;
        again = 1;
      }
  }

  std::vector<std::vector<int>> found(n);
  team.run(n, [&](int c, int) {
    if (!count[c] || control.stopped()) return;
    const Sample cell = sample.take(rows[c]);
    Random mine(seed, Purpose::seeding, static_cast<std::uint32_t>(c) + 1);
    for (const int p : plus_plus_picks(cell, count[c], mine)) found[c].push_back(rows[c][p]);
  });
  std::vector<int> picks;
  for (const std::vector<int>& one : found) picks.insert(picks.end(), one.begin(), one.end());
  return picks;
}

// k-means++; fewer than k where there are no k distinct rows.
std::vector<int> spread_picks(const Sample& sample, EnergyKind metric, int k, std::uint64_t seed, Team& team,
                              const Control& control) {
  if (k > kOneLevel) {
    std::vector<int> picks = two_level_picks(sample, metric, k, seed, team, control);
    if (static_cast<int>(picks.size()) == k || control.stopped()) return picks;
  }  // else cells had fewer distinct rows than rows
  Random random(seed, Purpose::seeding);
  return plus_plus_picks(sample, k, random);
}

// From the gaps of some rows. A cluster of which two memories have a half each has rows without a gap, and so have
// clusters that overlap.
void set_gaps(std::vector<float>& gaps, int k, Seeding& seeding) {
  constexpr float kNarrow = 0.25f;  // of the median
  // Such rows do not count where they are so small a part of all, and of a cluster.
  constexpr double kNarrowRows = 1e-3, kNarrowInCluster = 0.1;
  const std::size_t n = gaps.size();
  std::nth_element(gaps.begin(), gaps.begin() + n / 2, gaps.end());
  const float median = gaps[n / 2];
  const auto narrow = std::count_if(gaps.begin(), gaps.end(), [&](float gap) { return gap < kNarrow * median; });
  seeding.median_gap = median;
  const double few = static_cast<double>(n) * std::min(kNarrowRows, kNarrowInCluster / k);
  seeding.separated = k > 1 && median > 0.0f && static_cast<double>(narrow) <= few;
}

// Mean of the smallest, median of second smallest minus smallest, of the squared distances to the memories; and the
// mean of those to where one memory of all rows would be.
void scales_of(const Sample& sample, EnergyKind metric, int k, Seeding& seeding) {
  constexpr int kRows = 64;
  const Kernels& kernel = kernels();
  const int kp = padded(k, kernel.lanes), n = std::min(sample.n, kMeasuredRows);
  Matrix columns(sample.d, kp), distances(kRows, kp);
  const MatrixView<const float> memories{seeding.memories.data(), k, sample.d};
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < sample.d; ++j) columns(j, m) = memories(m, j);
  std::vector<float> gaps(n);
  std::vector<double> centre(sample.d, 0.0);
  double sum = 0.0, weight = 0.0, squares = 0.0;
  for (int i = 0; i < n; ++i) {
    // Rows of the sample at equal steps: it may be in the order of the table.
    const int at = static_cast<int>(static_cast<std::int64_t>(sample.n) * i / n);
    const float* x = sample.row(at);
    if (i % kRows == 0 && n == sample.n)
      kernel.distances(x, sample.ld, std::min(kRows, n - i), sample.d, columns.data(), kp, distances.data());
    else if (n < sample.n)
      kernel.distances(x, sample.ld, 1, sample.d, columns.data(), kp, distances.row(i % kRows));
    float first = std::numeric_limits<float>::max(), second = first;
    const float* row = distances.row(i % kRows);
    for (int m = 0; m < k; ++m) {
      if (row[m] < first) {
        second = first;
        first = row[m];
      } else if (row[m] < second) {
        second = row[m];
      }
    }
    gaps[i] = k > 1 ? second - first : first;
    sum += sample.weights[at] * first;
    weight += sample.weights[at];
    for (int j = 0; j < sample.d; ++j) {
      centre[j] += sample.weights[at] * x[j];
      squares += sample.weights[at] * x[j] * x[j];
    }
  }
  seeding.mean_square = sum / weight;
  set_gaps(gaps, k, seeding);
  double centre_norm = 0.0;
  for (double c : centre) {
    squares -= c * c / weight;
    centre_norm += c * c / (weight * weight);
  }
  // A memory on the sphere has the direction of the centre, and is as far from the centre as that is from the sphere.
  if (on_sphere(metric)) squares += weight * std::pow(1.0 - std::sqrt(centre_norm), 2.0);
  seeding.total_square = std::max(squares, 0.0) / weight;
}

// The same of sparse rows, against memories in the columns of the data.
void scales_of(const Dataset& data, const std::vector<std::int64_t>& which, const std::vector<double>& weights, int k,
               Seeding& seeding) {
  constexpr int kRows = 64;
  const int n = static_cast<int>(std::min<std::size_t>(which.size(), kMeasuredRows)), d = data.features;
  NetworkParameters network;
  network.k = k;
  network.d = d;
  network.memories = seeding.memories;
  network.log_weights.assign(k, 0.0f);
  network.energy = data.metric;
  Memories memories = network.prepared(n);
  memories.shape.take_sparse(data.origin());
  memories.refresh(false);
  const bool spherical = on_sphere(data.metric);
  Matrix products(kRows, memories.kp);
  SparseEntries entries;
  std::vector<std::int64_t> rows(kRows);
  std::vector<float> gaps(n), norms(kRows);
  std::vector<double> centre(d, 0.0);
  double sum = 0.0, total = 0.0, squares = 0.0;
  for (int at = 0; at < n; at += kRows) {
    const int count = std::min(kRows, n - at);
    const auto place = [&](int i) { return which.size() * static_cast<std::size_t>(at + i) / n; };
    for (int i = 0; i < count; ++i) rows[i] = which[place(i)];
    data.load_entries(rows.data(), count, entries, norms.data());
    const RowBlock block = entries.block();
    memories.panel.products(block, products);
    for (int i = 0; i < count; ++i) {
      const double weight = weights[place(i)];
      float first = std::numeric_limits<float>::max(), second = first;
      for (int m = 0; m < k; ++m) {
        const float norm = spherical ? 1.0f : memories.square_norms[m];
        const float square = std::max(0.0f, norms[i] + norm - 2.0f * products(i, m));
        second = std::min(second, std::max(first, square));
        first = std::min(first, square);
      }
      gaps[at + i] = k > 1 ? second - first : first;
      sum += weight * first;
      total += weight;
      squares += weight * norms[i];
      for (std::int32_t e = block.starts[i]; e < block.starts[i + 1]; ++e)
        centre[block.columns[e]] += weight * block.values[e];
    }
  }
  seeding.mean_square = sum / total;
  set_gaps(gaps, k, seeding);
  double centre_norm = 0.0;
  for (int j = 0; j < d; ++j) {
    const double mean = centre[j] / total + (data.origin() ? data.origin()[j] : 0.0f);
    squares -= total * mean * mean;
    centre_norm += mean * mean;
  }
  if (spherical) squares += total * std::pow(1.0 - std::sqrt(centre_norm), 2.0);
  seeding.total_square = std::max(squares, 0.0) / total;
}

SparseSample load_sparse_sample(const Dataset& data, const TrainingRows& all, int k, std::uint64_t seed) {
  Chosen chosen = choose_sample(data, all, k, seed);
  return SparseSample(data, std::move(chosen.rows), std::move(chosen.weights));
}

// One seeding of sparse rows.
Seeding seed_sparse(const Dataset& data, const TrainingRows& rows, const SparseSample& sample, int k,
                    SeedingMethod method, std::uint64_t seed, const float* fill, Team& team, const Control& control) {
  Seeding seeding;
  std::vector<float> centres;
  if (method == SeedingMethod::ward) {
    const std::vector<int> picks = tree_rows(sample.weights, k, seed);
    const std::vector<int> labels = tree_labels(sample.squares_between(picks), sample.weights, picks, k);
    if (!labels.empty()) centres = sample.means(picks, labels, k);
  }
  const bool random_rows = method == SeedingMethod::random;
  if (centres.empty()) {
    SparseSample::Distances distances(sample, random_rows ? 1 : plus_plus_trials(k));
    Random random(seed, Purpose::seeding);
    const std::vector<int> picks = random_rows ? distinct_picks(distances, sample.weights, k, random)
                                               : plus_plus_picks(distances, sample.weights, k, random);
    seeding.distinct = static_cast<int>(picks.size());
    if (seeding.distinct < k) return seeding;
    if (random_rows) {
      std::vector<std::int64_t> which;
      for (const int pick : picks) which.push_back(sample.which[pick]);
      seeding.memories.resize(static_cast<std::size_t>(k) * data.features);
      data.load(which.data(), k, fill, seeding.memories.data(), data.features, nullptr);
      scales_of(data, sample.which, sample.weights, k, seeding);
      return seeding;
    }
    std::vector<int> numbers(k);
    std::iota(numbers.begin(), numbers.end(), 0);
    centres = sample.means(picks, numbers, k);
  }
  seeding.distinct = k;
  NetworkParameters start;
  start.k = k;
  start.d = sample.rows().features;
  start.memories = centres;
  start.log_weights.assign(k, 0.0f);
  start.energy = data.metric;
  ExactSteps steps(sample.rows(), sample.training_rows(), start, nullptr, team, &control);
  steps.settle(kManySettlingRounds, kSettled);
  seeding.memories = sample.lift(steps.labels(), steps.memories_by_row(), k);
  polish(data, rows, sample.n(), fill, seed, seeding.memories, team, control);
  scales_of(data, sample.which, sample.weights, k, seeding);
  return seeding;
}

// seed_one(index, team) for every restart: one with all threads, or many with one each.
template <class SeedOne>
void seed_all(std::size_t count, Team& team, const SeedOne& seed_one) {
  if (count == 1) return seed_one(0, team);
  team.run(static_cast<int>(count), [&](int index, int) {
    Team alone(1);
    seed_one(index, alone);
  });
}

}  // namespace

std::vector<Seeding> seed_memories(const Dataset& data, const TrainingRows& rows, int k,
                                   const std::vector<SeedingMethod>& methods, const std::vector<std::uint64_t>& seeds,
                                   std::uint64_t sample_seed, const float* fill, Team& team, const Control& control) {
  std::vector<Seeding> out(seeds.size());
  if (data.gives_entries()) {
    const SparseSample sample = load_sparse_sample(data, rows, k, sample_seed);
    seed_all(seeds.size(), team, [&](int index, Team& helpers) {
      out[index] = seed_sparse(data, rows, sample, k, methods[index], seeds[index], fill, helpers, control);
    });
    return out;
  }
  const Sample sample = load_sample(data, rows, k, sample_seed, fill);
  const auto seed_one = [&](int index, Team& helpers) {
    Seeding& seeding = out[index];
    if (methods[index] == SeedingMethod::ward) {
      seeding.memories = ward_centres(sample, k, seeds[index]);
      if (!seeding.memories.empty()) {
        seeding.distinct = k;
        settle(sample, data, kTreeSettlingRounds, seeds[index], seeding.memories, helpers, control);
        polish(data, rows, sample.n, fill, seeds[index], seeding.memories, helpers, control);
        scales_of(sample, data.metric, k, seeding);
        return;
      }
    }
    const bool random_rows = methods[index] == SeedingMethod::random;
    Random random(seeds[index], Purpose::seeding);
    const std::vector<int> picks = random_rows ? distinct_picks(sample, k, random)
                                               : spread_picks(sample, data.metric, k, seeds[index], helpers, control);
    seeding.distinct = static_cast<int>(picks.size());
    if (seeding.distinct < k) return;
    seeding.memories.reserve(static_cast<std::size_t>(k) * sample.d);
    for (int p : picks) seeding.memories.insert(seeding.memories.end(), sample.row(p), sample.row(p) + sample.d);
    if (!random_rows) {
      settle(sample, data, kSettlingRounds, seeds[index], seeding.memories, helpers, control);
      polish(data, rows, sample.n, fill, seeds[index], seeding.memories, helpers, control);
    }
    scales_of(sample, data.metric, k, seeding);
  };
  seed_all(seeds.size(), team, seed_one);
  return out;
}

void measure_scales(const Dataset& data, const TrainingRows& rows, int k, std::uint64_t sample_seed, const float* fill,
                    Seeding& seeding) {
  seeding.distinct = k;
  if (data.gives_entries()) {
    const Chosen chosen = choose_sample(data, rows, k, sample_seed);
    return scales_of(data, chosen.rows, chosen.weights, k, seeding);
  }
  scales_of(load_sample(data, rows, k, sample_seed, fill), data.metric, k, seeding);
}

}  // namespace amclust
