// Initial memories: k-means++ (greedy, as in scikit-learn) settled by a few rounds of Lloyd's algorithm, or distinct
// random rows.
#pragma once

#include "dataset.hpp"
#include "team.hpp"
#include "trainer.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

struct Seeding {
  std::vector<float> memories;  // [k][d], in the core's units
  double mean_square = 0.0;     // mean squared distance of a row to its seed
  double median_gap = 0.0;      // median over rows of d^2(second nearest) - d^2(nearest)
  int distinct = 0;             // fewer than k: there are no k distinct rows
};

// One seeding per seed. On many rows a random part of them stands for all (`sample_seed` chooses it).
std::vector<Seeding> seed_memories(const Dataset& data, const TrainingRows& rows, int k, bool plus_plus,
                                   const std::vector<std::uint64_t>& seeds, std::uint64_t sample_seed,
                                   const float* fill, Team& team);

// The same two scales for given memories [k][d].
void measure_scales(const Dataset& data, const TrainingRows& rows, int k, std::uint64_t sample_seed, const float* fill,
                    Seeding& seeding);

}  // namespace amclust
