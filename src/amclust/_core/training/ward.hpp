// Ward's tree: rows are merged two by two so that the scatter inside the clusters rises least.
#pragma once

#include "matrix.hpp"

#include <vector>

namespace amclust {

// Cuts the tree of the rows [n][ld] with these weights (all positive) into k clusters and returns the cluster of every
// row, or nothing where there are fewer than k distinct rows. Takes O(n^2) memory.
//
// Rows are first replaced by the mean of themselves and their `neighbours` nearest rows: the tree then follows where
// the rows are dense, and single rows between two clusters mislead it less.
std::vector<int> cut_ward_tree(MatrixView<const float> rows, int d, const std::vector<double>& weights, int neighbours,
                               int k);

}  // namespace amclust
