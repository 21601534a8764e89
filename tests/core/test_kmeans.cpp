// k-means against its definition: everything computed anew in every round.
#include "check.hpp"
#include "tables.hpp"
#include "training/kmeans.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace {

using amclust::Lloyd;
using amclust::Sample;

Sample random_sample(int n, int d, std::uint64_t seed, bool weighted) {
  const int ld = amclust::padded(d, amclust::kernels().lanes);
  tests::Source source(seed);
  amclust::Buffer rows(static_cast<std::size_t>(n) * ld);
  for (int i = 0; i < n; ++i) source.fill(rows.data() + static_cast<std::ptrdiff_t>(i) * ld, d);
  std::vector<double> weights(n, 1.0);
  if (weighted)
    for (double& weight : weights) weight = source.uniform(0.1, 3.0);
  return Sample(std::move(rows), n, d, std::move(weights));
}

std::vector<float> first_rows(const Sample& sample, int k) {
  std::vector<float> out;
  for (int m = 0; m < k; ++m) out.insert(out.end(), sample.row(m), sample.row(m) + sample.d);
  return out;
}

double square(const float* a, const float* b, int d) {
  double sum = 0.0;
  for (int j = 0; j < d; ++j) sum += (double{a[j]} - b[j]) * (double{a[j]} - b[j]);
  return sum;
}

std::vector<int> nearest(const Sample& sample, const std::vector<float>& centres) {
  const int k = static_cast<int>(centres.size()) / sample.d;
  std::vector<int> out(sample.n);
  for (int i = 0; i < sample.n; ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (int m = 0; m < k; ++m) {
      const double value = square(sample.row(i), &centres[static_cast<std::size_t>(m) * sample.d], sample.d);
      if (value >= least) continue;
      least = value;
      out[i] = m;
    }
  }
  return out;
}

// Means of the rows of each cluster; a centre without rows stays.
std::vector<float> means(const Sample& sample, const std::vector<int>& labels, std::vector<float> centres) {
  const int d = sample.d, k = static_cast<int>(centres.size()) / d;
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < d; ++j) {
      double sum = 0.0, weight = 0.0;
      for (int i = 0; i < sample.n; ++i)
        if (labels[i] == m) {
          sum += sample.weights[i] * sample.row(i)[j];
          weight += sample.weights[i];
        }
      if (weight > 0.0) centres[static_cast<std::size_t>(m) * d + j] = static_cast<float>(sum / weight);
    }
  return centres;
}

void check_state(const Sample& sample, const Lloyd& lloyd) {
  const std::vector<float> centres = lloyd.centres_by_row();
  const std::vector<int> expected = nearest(sample, centres);
  std::vector<int> sizes(lloyd.k(), 0);
  bool same = true, right = true;
  for (int i = 0; i < sample.n; ++i) {
    same = same && lloyd.labels()[i] == expected[i];
    ++sizes[lloyd.labels()[i]];
    for (int m = 0; m < lloyd.k(); ++m) {
      const double found = lloyd.distances(i / Sample::kTile)[m * Sample::kTile + i % Sample::kTile];
      const double truth = square(sample.row(i), &centres[static_cast<std::size_t>(m) * sample.d], sample.d);
      right = right && std::abs(found - truth) <= 1e-5 * (1.0 + truth);
    }
  }
  CHECK(same);
  CHECK(right);
  CHECK(sizes == lloyd.sizes());
}

void rounds_are_those_of_the_definition() {
  for (const int n : {5, 32, 33, 200})
    for (const int d : {1, 3, 20})
      for (const bool weighted : {false, true})
        for (const int k : {1, 2, 5}) {
          check::describe("n=", n, " d=", d, " k=", k, weighted ? " weighted" : "");
          const Sample sample = random_sample(n, d, static_cast<std::uint64_t>(10 * n + d), weighted);
          std::vector<float> expected = first_rows(sample, k);
          Lloyd lloyd(sample, expected);
          for (int round = 0; round < 6; ++round) {
            lloyd.settle(1, Lloyd::Empty::keep);
            expected = means(sample, nearest(sample, expected), expected);
            const std::vector<float> found = lloyd.centres_by_row();
            bool near = true;
            for (std::size_t at = 0; at < found.size(); ++at) near = near && std::abs(found[at] - expected[at]) < 1e-5;
            CHECK(near);
          }
          lloyd.assign();
          check_state(sample, lloyd);
        }
}

void rounds_at_once_are_rounds_one_by_one() {
  const Sample sample = random_sample(150, 4, 3, true);
  Lloyd once(sample, first_rows(sample, 6)), single(sample, first_rows(sample, 6));
  once.settle(9, Lloyd::Empty::keep);
  for (int round = 0; round < 9; ++round) single.settle(1, Lloyd::Empty::keep);
  CHECK(once.centres_by_row() == single.centres_by_row());
}

void clusters_merge_with_their_rows() {
  const Sample sample = random_sample(100, 3, 4, false);
  Lloyd lloyd(sample, first_rows(sample, 7));
  lloyd.settle(3, Lloyd::Empty::drop);
  for (int k = lloyd.k(); k > 1; --k) {
    check::describe("k=", k);
    lloyd.assign();
    check_state(sample, lloyd);
    const int a = k / 3, b = k % 2 ? k - 1 : a + 1;
    lloyd.merge(a, b);
    CHECK_EQUAL(lloyd.k(), k - 1);
    CHECK_EQUAL(std::accumulate(lloyd.sizes().begin(), lloyd.sizes().end(), 0), 100);
    lloyd.settle(1, Lloyd::Empty::drop);
  }
  lloyd.assign();
  check_state(sample, lloyd);
}

void empty_clusters_are_kept_or_dropped() {
  const Sample sample = random_sample(40, 2, 5, false);
  std::vector<float> centres = first_rows(sample, 4);
  centres[2] = centres[3] = 1000.0f;
  Lloyd kept(sample, centres), dropped(sample, centres);
  kept.settle(5, Lloyd::Empty::keep);
  dropped.settle(5, Lloyd::Empty::drop);
  CHECK_EQUAL(kept.k(), 4);
  CHECK_EQUAL(dropped.k(), 3);
  CHECK_EQUAL(kept.centres_by_row()[2], 1000.0f);
  dropped.assign();
  check_state(sample, dropped);
}

void picks_are_distinct_rows() {
  const int ld = amclust::padded(2, amclust::kernels().lanes);
  amclust::Buffer rows(static_cast<std::size_t>(30) * ld);
  std::vector<double> weights(30, 1.0);
  for (int i = 0; i < 30; ++i) rows[static_cast<std::size_t>(i) * ld] = static_cast<float>(i % 6);
  for (int i = 5; i < 30; i += 6) weights[i] = 0.0;  // the sixth value has no weight
  const Sample sample(std::move(rows), 30, 2, std::move(weights));
  for (const auto picks_of : {amclust::plus_plus_picks, amclust::distinct_picks})
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (const int k : {1, 3, 5, 9}) {
        amclust::Random random(seed, amclust::Purpose::seeding);
        const std::vector<int> picks = picks_of(sample, k, random);
        CHECK_EQUAL(static_cast<int>(picks.size()), std::min(k, 5));
        std::vector<int> values;
        for (const int pick : picks) values.push_back(pick % 6);
        std::sort(values.begin(), values.end());
        CHECK(std::unique(values.begin(), values.end()) == values.end());
        CHECK(std::find(values.begin(), values.end(), 5) == values.end());
      }
}

}  // namespace

int main() {
  for (const char* name : tests::instruction_sets()) {
    amclust::use_instruction_set(name);
    rounds_are_those_of_the_definition();
    rounds_at_once_are_rounds_one_by_one();
    clusters_merge_with_their_rows();
    empty_clusters_are_kept_or_dropped();
    picks_are_distinct_rows();
  }
  return check::finish();
}
