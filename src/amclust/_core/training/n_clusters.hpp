// How many clusters rows have. Resamples of the rows are partitioned into every candidate number of clusters. A
// partition is scored by its silhouette (distances to centres, so it is linear in the rows), adjusted for chance as the
// Rand index is: 0 is what rows without clusters reach, 1 is perfect. Each resample votes for its best number, and the
// median vote is the estimate.
//
// The rows without clusters are uniform, with the covariance of the resample: of all distributions with a single mode,
// the flat one is the most easily mistaken for clusters.
#pragma once

#include "team.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

struct NClustersSettings {
  // The adjusted silhouette that clusters must exceed to be more than one. Single clouds (normal, uniform,
  // heavy-tailed, correlated; 100 rows or more) stay below it, tables with clusters above.
  double one_cluster = 0.1;
  // Part of the rows in a resample; and how many resamples, more when they are small.
  double resample = 0.8;
  int resampled_rows = 16000, min_resamples = 7, max_resamples = 25;
  // Partitions begin with this many times the largest candidate, and are merged from there.
  int overclustering = 3;
  // A cluster this much smaller than the average of its partition is a few outliers.
  double outliers = 0.1;
  // Rounds of Lloyd's algorithm: at first, between mergers, and before a partition that is scored.
  int first_rounds = 10, merging_rounds = 1, scored_rounds = 20;
};

// One entry per candidate; NaN where it was not scored: the number 1, or too many for the rows.
struct NClustersEvidence {
  std::vector<double> silhouette, reference;  // means over the resamples, of the rows and of uniform ones
  std::vector<double> adjusted;               // likewise; of the number 1 what others have to exceed
  std::vector<std::int64_t> votes;
  int n_clusters = 0;  // the median vote; 0: there were too few rows to score any candidate
};

// rows [n][d] in their principal directions; numbers ascending and different.
NClustersEvidence estimate_n_clusters(const float* rows, int n, int d, const std::vector<int>& numbers,
                                      const NClustersSettings& settings, std::uint64_t seed, Team& team,
                                      Control& control);

// The partitions that are compared, here of all rows: labels [numbers][n], -1 where coinciding rows leave fewer
// clusters than asked for.
std::vector<std::int32_t> merged_partitions(const float* rows, int n, int d, const std::vector<int>& numbers,
                                            const NClustersSettings& settings, std::uint64_t seed, Control& control);

}  // namespace amclust
