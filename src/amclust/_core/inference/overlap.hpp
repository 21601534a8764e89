// How much memories overlap: the graph whose low cuts make assemblies.
//
// A row belongs to the few memories nearest to it, with a width of its own: z = exp(-4 d^2 / h) over the s nearest, h
// being the squared distance to the next one, scaled to a sum of 1. Z^T Z is then the graph of the memories whose
// normalised cuts are those of the rows' graph Z D^-1 Z^T, D having the sums of Z's columns.
#pragma once

#include "memories.hpp"
#include "rows/dataset.hpp"
#include "team.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

struct Overlap {
  std::vector<double> between;   // [m][m] Z^T Z
  std::vector<double> mass;      // [m] sums of the columns of Z
  std::vector<double> by_label;  // [labels][m] the same over the rows of each label
};

// Of the memories (brought up to date for these rows) and rows, whose missing values they fill. labels [n] in 0 ...
// n_labels - 1, or less than 0 for rows of none; null: none at all. The bits do not depend on the threads.
Overlap overlap(const Dataset& data, const TrainingRows& rows, const float* fill, const Memories& memories,
                int n_nearest, const std::int32_t* labels, int n_labels, Team& team, const Control& control);

}  // namespace amclust
