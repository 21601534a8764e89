// Initial memories: k-means++ (greedy, as in scikit-learn; for many memories in two levels) or the clusters of a Ward
// tree, both settled by a few rounds of Lloyd's algorithm; or distinct random rows.
#pragma once

#include "rows/dataset.hpp"
#include "team.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

enum class SeedingMethod { plus_plus, ward, random };

struct Seeding {
  std::vector<float> memories;  // [k][d], in core units
  double mean_square = 0.0;     // mean squared distance of a row to its seed
  double median_gap = 0.0;      // median over rows of d^2(second nearest) - d^2(nearest)
  double total_square = 0.0;    // mean squared distance of a row to the mean of all
  bool separated = false;       // hardly any row is near the border of two clusters
  int distinct = 0;             // fewer than k: there are no k distinct rows
};

// One seeding per method and seed. Where a Ward tree has no k clusters of distinct rows, k-means++ steps in. On many
// rows a random part of them stands for all (`sample_seed` chooses it).
std::vector<Seeding> seed_memories(const Dataset& data, const TrainingRows& rows, int k,
                                   const std::vector<SeedingMethod>& methods, const std::vector<std::uint64_t>& seeds,
                                   std::uint64_t sample_seed, const float* fill, Team& team, const Control& control);

// The same scales for given memories [k][d].
void measure_scales(const Dataset& data, const TrainingRows& rows, int k, std::uint64_t sample_seed, const float* fill,
                    Seeding& seeding);

}  // namespace amclust
