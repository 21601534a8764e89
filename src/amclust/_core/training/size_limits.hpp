// Labels of rows where every cluster's size has limits, at the least cost. Each memory has a price (the log-weight of
// the network, divided by beta): without limits on a row, it belongs where cost - price is least. Of all labels within
// the limits those are cheapest that go with prices above 0 only where a cluster has its least size, and below 0 only
// where it has its largest: the dual of a transport problem.
//
// Prices that are nearly right are made right by shortest paths. Between two clusters a and b lies the row of a that
// costs least to move; a cluster with too many rows passes one on, along the path that costs least in all, to one with
// too few. Prices rise by the lengths of the paths, which keeps every row where cost - price is least. Only rows that
// are nearly undecided take part; how nearly is told, and where others would be needed nothing is guessed.
#pragma once

#include "team.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

struct SizeLimits {
  double least, most;
};

// Rows that may change their cluster.
struct UndecidedRows {
  const float* costs = nullptr;     // [n][k]
  const double* weights = nullptr;  // [n], above 0; null: all 1
  std::int64_t n = 0;
  int k = 0;
};

struct LimitedLabels {
  std::vector<std::int32_t> labels;  // [n]
  std::vector<double> prices;        // [k]
  std::vector<double> sizes;         // [k], of all rows
  // False: rows that were not among the undecided ones are needed. Prices are better than before.
  bool complete = false;
};

// Where cost - price is least (the first of equals), by how much it is less than elsewhere (rounded down), and the cost
// there; all [n].
void find_cheapest(const float* costs, std::int64_t n, int k, const double* prices, Team& team, std::int32_t* labels,
                   float* margins, float* own);

// `labels`: where cost - price is least. `sizes`: of all rows, by these labels and those of the rows that are decided,
// whose margins are above `reach`. Rows are moved as a whole: with weights, sizes may end outside the limits, where no
// exchange of rows was found that brings them inside.
LimitedLabels limit_sizes(const UndecidedRows& rows, std::vector<std::int32_t> labels, std::vector<double> prices,
                          std::vector<double> sizes, double reach, SizeLimits limits, const Control& control);

}  // namespace amclust
