// One pass over rows for the mean of every cluster: each row falls to its nearest memory, or to the one it is given,
// and its values are added there in fixed point. Whole numbers: blocks of rows add up to the same bits in any order.
#pragma once

#include "inference/labels.hpp"
#include "rows/dataset.hpp"
#include "rows/exact_sums.hpp"
#include "team.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

struct NearestSums {
  static constexpr int kSizeBits = 20, kLossBits = 40;  // sizes and loss count in 2^-20 and 2^-40

  std::vector<std::int64_t> sums;   // [k][d], of weight * x, in units of the quantum of each column
  std::vector<std::int64_t> sizes;  // [k], of weights
  Int128 loss = 0;                  // of weight * squared distance
};

// Missing values are filled by the memories, as in exact steps (training/exact_steps.hpp). Sparse rows that are taken
// by their entries are added without their origin. Throws std::overflow_error where a quantum is too small.
// `labels`: the memory of each row; null: the nearest.
NearestSums nearest_sums(const Dataset& data, const TrainingRows& rows, const std::int32_t* labels,
                         const Certificates& network, const float* fill, const double* quantum, Team& team,
                         const Control& control);

}  // namespace amclust
