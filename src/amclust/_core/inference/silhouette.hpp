// The silhouette coefficient itself, O(rows^2), for several labelings of the same rows at once: the distances are
// computed once, and never stored as a whole.
#pragma once

#include "rows/dataset.hpp"
#include "team.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

// labels [labelings][n] in 0 ... k - 1; weights [n] or null. Returns one mean silhouette per labeling; a labeling with
// fewer than two clusters gets NaN. Where values are missing, distances are taken over the features that both rows have
// and scaled up to all features (as scikit-learn's nan_euclidean_distances); rows with none in common do not meet. A
// row of weight 2 counts like two rows. `values` [labelings][n] (may be null) gets the silhouette of every row: 0 for a
// row alone in its cluster, and where there is only one cluster.
std::vector<double> exact_silhouette(const Dataset& data, const std::int64_t* which, int n, const float* weights,
                                     const std::int32_t* labels, int labelings, int k, Team& team, Control& control,
                                     double* values = nullptr);

}  // namespace amclust
