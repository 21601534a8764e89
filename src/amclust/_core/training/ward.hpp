// Ward's tree: rows are merged two by two so that the scatter inside the clusters rises least.
#pragma once

#include "buffer.hpp"
#include "matrix.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace amclust {

// By how much merging two clusters raises the scatter inside, from the squared distance of their centres and sizes.
inline float merge_cost(float square, double a, double b) { return square * static_cast<float>(a * b / (a + b)); }

// What merging any two of some centres costs. Between calls a few centres move and others go: only their costs are
// computed anew.
class MergeCosts {
 public:
  MergeCosts(int max_k, int d);
  // The two of k centres [k][ld] (at least two) that cost least to merge, the lower first.
  std::pair<int, int> cheapest(const float* centres, int ld, int k, const std::vector<double>& sizes);

 private:
  float* row(int m) { return costs_.data() + static_cast<std::ptrdiff_t>(m) * max_k_; }
  void find_partner(int m, int k);

  int max_k_, d_, known_ = 0;
  std::vector<float> centres_;  // as of the last call, [known][d]
  std::vector<double> sizes_;
  Buffer costs_;              // [max_k][max_k], symmetric
  std::vector<int> partner_;  // the cheapest to merge with, the first of equals
};

// Squared distances between the rows [n][ld], [n][n padded].
Matrix squares_between(MatrixView<const float> rows, int d);

// Cuts the tree of n rows with these squared distances from each other, [n][n padded], and these weights (all positive)
// into k clusters and returns the cluster of every row, or nothing where there are fewer than k distinct rows.
//
// Rows are first replaced by the mean of themselves and their `neighbours` nearest rows: the tree then follows where
// the rows are dense, and single rows between two clusters mislead it less.
std::vector<int> cut_ward_tree(Matrix squares, const std::vector<double>& weights, int neighbours, int k);

}  // namespace amclust
