// Statistics of columns, to the same bits in whatever blocks the rows come.
#pragma once

#include "rows/dataset.hpp"
#include "rows/exact_sums.hpp"
#include "team.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

struct ColumnStatistics {
  std::vector<double> weight, mean, variance, low, high;  // over the observed values
  std::int64_t missing = 0;
  std::int64_t infinite_row = -1, empty_row = -1, zero_row = -1;  // the first with an infinity, nothing, only zeros
  int infinite_column = -1;
};

// What the statistics of some rows are made of.
struct PartialStatistics {
  explicit PartialStatistics(int features = 0);

  int features() const { return static_cast<int>(low.size()); }
  // Rows that come after these; throws std::invalid_argument where they have other columns.
  void add(const PartialStatistics& later);
  ColumnStatistics finish() const;

  std::int64_t n_rows = 0;     // there are, whether counted or not: row numbers of what is added begin here
  std::int64_t n_counted = 0;  // with a weight above 0
  std::int64_t missing = 0;
  std::int64_t infinite_row = -1, empty_row = -1, zero_row = -1;
  std::int64_t infinite_column = -1;
  std::vector<double> low, high;
  ExactSums sum, square;     // of weight * x, weight * x^2
  ExactSums weight;          // of all rows, one sum
  ExactSums missing_weight;  // per column; no sums as long as nothing is missing
};

// Of the listed rows (all when `which` is null) with weights (1 when null).
PartialStatistics partial_statistics(const Dataset& data, const std::int64_t* which, std::int64_t n,
                                     const float* weights, Team& team);

ColumnStatistics column_statistics(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* weights,
                                   Team& team);

}  // namespace amclust
