#include "training/n_clusters.hpp"

#include "kernels/kernels.hpp"
#include "training/kmeans.hpp"
#include "training/order.hpp"
#include "training/ward.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

namespace amclust {
namespace {

// Draws that belong to the rows, and to the uniform ones beside them.
constexpr std::uint32_t kFound = 0, kReference = 1;

using Visit = std::function<void(int index, const Lloyd&)>;

// Visits a k-means partition for each number of clusters (ascending), from the largest to the smallest. Many small
// clusters are merged, the pair that costs least at a time (Ward), and settled again. This finds better partitions than
// restarts do, and all of them at the price of a few.
void visit_partitions(const Sample& sample, const std::vector<int>& numbers, const NClustersSettings& settings,
                      Random& random, Control& control, const Visit& visit) {
  const int start = std::min(settings.overclustering * numbers.back(), sample.n);
  std::vector<float> centres;
  for (const int pick : plus_plus_picks(sample, start, random))
    centres.insert(centres.end(), sample.row(pick), sample.row(pick) + sample.d);
  Lloyd lloyd(sample, centres);
  lloyd.settle(settings.first_rounds, Lloyd::Empty::drop);
  MergeCosts costs(lloyd.k(), sample.d);
  while (!control.stopped()) {
    lloyd.assign();
    const int k = lloyd.k();
    const auto number = std::lower_bound(numbers.begin(), numbers.end(), k);
    if (number != numbers.end() && *number == k) visit(static_cast<int>(number - numbers.begin()), lloyd);
    if (k <= numbers.front()) return;
    std::vector<double> sizes(k);
    for (int m = 0; m < k; ++m) sizes[m] = std::max(lloyd.sizes()[m], 1);  // an empty cluster still has a place
    const auto [into, from] = costs.cheapest(lloyd.centres().data(), sample.ld, k, sizes);
    lloyd.merge(into, from);
    lloyd.settle(k <= numbers.back() + 1 ? settings.scored_rounds : settings.merging_rounds, Lloyd::Empty::drop);
  }
}

// The silhouette by distances to centres. One row of each cluster counts nothing, as in a cluster of a single row: it
// is the price of the centre. Outliers score nothing and are nobody's second nearest cluster.
double centre_silhouette(const Sample& sample, const Lloyd& partition, double outliers) {
  constexpr int kTile = Sample::kTile;
  const int n = sample.n, k = partition.k();
  const double fewest = std::max(2.0, outliers * n / k);
  double total = 0.0;
  for (int tile = 0; tile < sample.tiles(); ++tile) {
    const float* squares = partition.distances(tile);
    const std::int32_t* labels = partition.labels().data() + static_cast<std::ptrdiff_t>(tile) * kTile;
    const int count = sample.tile_rows(tile);
    float second[kTile];
    std::fill(second, second + kTile, std::numeric_limits<float>::infinity());
    for (int m = 0; m < k; ++m) {
      if (partition.sizes()[m] < fewest) continue;
      for (int i = 0; i < count; ++i)
        if (labels[i] != m) second[i] = std::min(second[i], squares[m * kTile + i]);
    }
    for (int i = 0; i < count; ++i) {
      if (partition.sizes()[labels[i]] < fewest || !std::isfinite(second[i]) || !(second[i] > 0.0f)) continue;
      const double own = std::sqrt(squares[labels[i] * kTile + i]), other = std::sqrt(second[i]);
      total += (other - own) / std::max(other, own);
    }
  }
  return total / n * (1.0 - static_cast<double>(k) / n);
}

// Some of the rows, drawn without replacement.
Buffer resampled(const float* rows, int n, int d, int size, std::uint64_t seed, std::uint32_t resample) {
  const int ld = padded(d, kernels().lanes);
  const PassOrder order(seed, resample, n);
  Buffer out(static_cast<std::size_t>(size) * ld);
  for (int i = 0; i < size; ++i) std::copy_n(rows + order[i] * d, d, out.data() + static_cast<std::ptrdiff_t>(i) * ld);
  return out;
}

// Replaces rows by uniform ones with the same standard deviations, around zero.
void make_uniform(Buffer& rows, int n, int d, Random random) {
  const int ld = padded(d, kernels().lanes);
  std::vector<double> mean(d, 0.0), width(d, 0.0);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < d; ++j) mean[j] += rows[static_cast<std::size_t>(i) * ld + j] / static_cast<double>(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < d; ++j) {
      const double offset = rows[static_cast<std::size_t>(i) * ld + j] - mean[j];
      width[j] += offset * offset / n;
    }
  for (double& w : width) w = 2.0 * std::sqrt(3.0 * w);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < d; ++j)
      rows[static_cast<std::size_t>(i) * ld + j] = static_cast<float>(width[j] * (random.uniform() - 0.5));
}

}  // namespace

NClustersEvidence estimate_n_clusters(const float* rows, int n, int d, const std::vector<int>& numbers,
                                      const NClustersSettings& settings, std::uint64_t seed, Team& team,
                                      Control& control) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::size_t candidates = numbers.size();
  NClustersEvidence out;
  out.silhouette.assign(candidates, kNan);
  out.reference.assign(candidates, kNan);
  out.adjusted.assign(candidates, kNan);
  out.votes.assign(candidates, 0);
  const int size = static_cast<int>(std::ceil(settings.resample * n));
  // A cluster has at least two rows; four rows are the fewest in which two clusters can be seen.
  std::vector<int> scored;
  std::vector<std::size_t> place;
  for (std::size_t c = 0; c < candidates; ++c) {
    if (numbers[c] == 1) out.adjusted[c] = settings.one_cluster;
    if (numbers[c] <= 1 || numbers[c] > size / 2) continue;
    scored.push_back(numbers[c]);
    place.push_back(c);
  }
  if (scored.empty()) return out;

  const int resamples = std::clamp(settings.resampled_rows / size, settings.min_resamples, settings.max_resamples);
  const std::size_t columns = scored.size();
  // [resample][found, reference][scored]; coinciding rows may leave fewer clusters than asked for: these score 0.
  std::vector<double> scores(static_cast<std::size_t>(resamples) * 2 * columns, 0.0);
  team.run(2 * resamples, [&](int task, int) {
    if (control.stopped()) return;
    const std::uint32_t resample = static_cast<std::uint32_t>(task) / 2, kind = static_cast<std::uint32_t>(task) % 2;
    Buffer values = resampled(rows, n, d, size, seed, resample);
    if (kind == kReference) make_uniform(values, size, d, Random(seed, Purpose::reference, resample));
    const Sample sample(std::move(values), size, d, std::vector<double>(size, 1.0));
    Random random(seed, Purpose::seeding, resample, kind);
    visit_partitions(sample, scored, settings, random, control, [&](int index, const Lloyd& partition) {
      scores[task * columns + index] = centre_silhouette(sample, partition, settings.outliers);
    });
  });

  const auto at = [&](int resample, std::uint32_t kind, std::size_t c) {
    return scores[(static_cast<std::size_t>(resample) * 2 + kind) * columns + c];
  };
  std::vector<double> best(resamples, -std::numeric_limits<double>::infinity());
  std::vector<std::size_t> vote(resamples, place[0]);
  if (numbers[0] == 1) {
    std::fill(best.begin(), best.end(), settings.one_cluster);
    std::fill(vote.begin(), vote.end(), 0);
  }
  for (std::size_t c = 0; c < columns; ++c) {
    double found = 0.0, reference = 0.0;
    for (int r = 0; r < resamples; ++r) {
      found += at(r, kFound, c) / resamples;
      reference += at(r, kReference, c) / resamples;
    }
    out.silhouette[place[c]] = found;
    out.reference[place[c]] = reference;
    out.adjusted[place[c]] = (found - reference) / (1.0 - reference);
    for (int r = 0; r < resamples; ++r) {
      const double adjusted = (at(r, kFound, c) - reference) / (1.0 - reference);
      if (!(adjusted > best[r])) continue;
      best[r] = adjusted;
      vote[r] = place[c];
    }
  }
  for (const std::size_t c : vote) ++out.votes[c];
  std::sort(vote.begin(), vote.end());
  out.n_clusters = numbers[vote[(resamples - 1) / 2]];
  return out;
}

std::vector<std::int32_t> merged_partitions(const float* rows, int n, int d, const std::vector<int>& numbers,
                                            const NClustersSettings& settings, std::uint64_t seed, Control& control) {
  const int ld = padded(d, kernels().lanes);
  Buffer values(static_cast<std::size_t>(n) * ld);
  for (int i = 0; i < n; ++i)
    std::copy_n(rows + static_cast<std::ptrdiff_t>(i) * d, d, values.data() + static_cast<std::ptrdiff_t>(i) * ld);
  const Sample sample(std::move(values), n, d, std::vector<double>(n, 1.0));
  Random random(seed, Purpose::seeding);
  std::vector<std::int32_t> out(numbers.size() * n, -1);
  visit_partitions(sample, numbers, settings, random, control, [&](int index, const Lloyd& partition) {
    std::copy(partition.labels().begin(), partition.labels().end(),
              out.begin() + static_cast<std::ptrdiff_t>(index) * n);
  });
  return out;
}

}  // namespace amclust
