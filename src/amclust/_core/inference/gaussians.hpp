// Memories with covariances: the Mahalanobis energy -log sum_m parts_m |S_m|^-1/2 exp(-(v - rho_m)' S_m^-1 (v - rho_m)
// / 2). Where coordinates of a row are missing it is least at their conditional means, a regression on the observed
// ones; so rows are completed, and so memories and covariances are learned of rows that lack values (the missing parts
// are integrated out, as expectation and maximisation has it).
#pragma once

#include "rows/dataset.hpp"
#include "team.hpp"
#include "training/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace amclust {

// Covariances are `n_covariances` full ones (1: all memories share it; m: each has its own), given by their inverses;
// or, with a rank, one that all share: loadings * loadings' + diag(noise).
struct GaussianMemories {
  int m = 0, d = 0, n_covariances = 1, rank = 0;
  std::vector<double> parts;       // [m], they sum to 1
  std::vector<double> means;       // [m][d]
  std::vector<double> precisions;  // [n_covariances][d][d]; empty with a rank
  std::vector<double> loadings;    // [d][rank]
  std::vector<double> noise;       // [d]
};
// Throws std::invalid_argument where the sizes do not fit, or a precision is not positive definite.
void check(const GaussianMemories& memories);

// What the next memories and covariances are made of.
struct GaussianSums {
  double weight = 0.0, likelihood = 0.0;  // of rows; the sum of their weighted log-likelihoods
  std::vector<double> sizes;              // [m]
  std::vector<double> sums;               // [m][d], of the rows with their missing values at the conditional means
  std::vector<double> squares;            // [n_covariances][d][d], about zero, with the conditional covariances
  // With a rank, of the factors z of observed values: per column sums of z z', of z x and of x x, x the value less the
  // memory's, and the weight.
  std::vector<double> factor_squares;  // [d][rank][rank]
  std::vector<double> factor_values;   // [d][rank]
  std::vector<double> value_squares;   // [d]
  std::vector<double> column_weights;  // [d]
};
GaussianSums gaussian_sums(const Dataset& data, const TrainingRows& rows, const GaussianMemories& memories, Team& team,
                           const Control& control);

// The missing values of some rows, one row after the other: their conditional means and, where wanted, variances.
struct Completions {
  std::vector<std::int64_t> starts;  // [n + 1]
  std::vector<double> means, variances;
};
Completions complete(const Dataset& data, const std::int64_t* which, std::int64_t n, const GaussianMemories& memories,
                     bool with_variances, Team& team, const Control& control);

// Where the missing values of rows go, row by row, and the range [d] that they are kept in.
struct Gaps {
  const std::int64_t* starts = nullptr;  // [rows + 1]
  float* values = nullptr;
  const double *low = nullptr, *high = nullptr;
};

// Fills gaps of some rows by their conditional means, averaged over several mixtures of memories.
void fill(const Dataset& data, const std::int64_t* which, std::int64_t n,
          const std::vector<const GaussianMemories*>& mixtures, const Gaps& gaps, Team& team, const Control& control);

// The same by draws: for each row of a memory by how much the row belongs to it, and then by the conditional
// distribution of its missing values under that memory. Draws hang on the seed and on the place of a row in the list.
void draw(const Dataset& data, const std::int64_t* which, std::int64_t n, const GaussianMemories& memories,
          std::uint64_t seed, const Gaps& gaps, Team& team, const Control& control);

}  // namespace amclust
