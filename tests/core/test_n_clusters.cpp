// The number of clusters, estimated.
#include "blobs.hpp"
#include "check.hpp"
#include "training/n_clusters.hpp"

#include <algorithm>
#include <cmath>

namespace {

using amclust::Control;
using amclust::NClustersEvidence;
using amclust::NClustersSettings;
using amclust::Team;

NClustersEvidence estimate(const tests::Rows& rows, const std::vector<int>& numbers, int threads = 1,
                           std::uint64_t seed = 3) {
  NClustersEvidence out;
  amclust::Monitor monitor;
  amclust::supervise(monitor, [&](Control& control) {
    Team team(threads);
    out = amclust::estimate_n_clusters(rows.values.data(), rows.n, rows.d, numbers, NClustersSettings{}, seed, team,
                                       control);
  });
  return out;
}

void blobs_are_counted_by_any_number_of_threads() {
  const tests::Rows rows = tests::Rows::blobs(120, 3, 4, 0.3, 1);
  const std::vector<int> numbers{1, 2, 3, 4, 5, 6, 7, 8};
  const NClustersEvidence one = estimate(rows, numbers), four = estimate(rows, numbers, 4);
  CHECK_EQUAL(one.n_clusters, 4);
  CHECK_EQUAL(four.n_clusters, 4);
  CHECK(one.votes == four.votes);
  CHECK(std::isnan(one.silhouette[0]) && std::isnan(one.reference[0]));
  CHECK_EQUAL(one.adjusted[0], NClustersSettings{}.one_cluster);
  for (std::size_t c = 1; c < numbers.size(); ++c) {
    CHECK(one.silhouette[c] == four.silhouette[c] && one.reference[c] == four.reference[c]);
    CHECK_NEAR(one.adjusted[c], (one.silhouette[c] - one.reference[c]) / (1.0 - one.reference[c]), 1e-12);
  }
  CHECK(estimate(rows, numbers, 1, 4).silhouette[1] != one.silhouette[1]);
}

void one_cloud_is_one_cluster() {
  CHECK_EQUAL(estimate(tests::Rows::blobs(200, 4, 1, 1.0, 2), {1, 2, 3, 4, 5}).n_clusters, 1);
}

void too_few_rows_have_no_number() {
  const NClustersEvidence found = estimate(tests::Rows::blobs(4, 2, 2, 0.1, 1), {1, 3, 4});
  CHECK_EQUAL(found.n_clusters, 0);
  CHECK(std::isnan(found.adjusted[1]));
  CHECK_EQUAL(found.votes[0] + found.votes[1] + found.votes[2], std::int64_t{0});
}

void partitions_have_the_numbers_asked_for() {
  const tests::Rows rows = tests::Rows::blobs(90, 3, 3, 0.1, 5);
  amclust::Monitor monitor;
  std::vector<std::int32_t> labels;
  amclust::supervise(monitor, [&](Control& control) {
    labels = amclust::merged_partitions(rows.values.data(), 90, 3, {3, 6}, NClustersSettings{}, 1, control);
  });
  for (int i = 3; i < 90; ++i) CHECK_EQUAL(labels[i], labels[i % 3]);
  CHECK(labels[0] != labels[1] && labels[1] != labels[2] && labels[0] != labels[2]);
  CHECK_EQUAL(*std::max_element(labels.begin() + 90, labels.end()), 5);
}

void it_stops_when_asked() {
  struct Stop : amclust::Monitor {
    bool poll() override { return false; }
  } stop;
  const tests::Rows rows = tests::Rows::blobs(2000, 30, 1, 1.0, 6);
  std::vector<int> numbers(300);
  for (int k = 0; k < 300; ++k) numbers[k] = k + 2;
  const auto work = [&](Control& control) {
    Team team(1);
    amclust::estimate_n_clusters(rows.values.data(), rows.n, rows.d, numbers, NClustersSettings{}, 1, team, control);
  };
  CHECK_THROWS(amclust::Interrupted, amclust::supervise(stop, work));
}

}  // namespace

int main() {
  for (const char* name : tests::instruction_sets()) {
    amclust::use_instruction_set(name);
    blobs_are_counted_by_any_number_of_threads();
    one_cloud_is_one_cluster();
    too_few_rows_have_no_number();
    partitions_have_the_numbers_asked_for();
    it_stops_when_asked();
  }
  return check::finish();
}
