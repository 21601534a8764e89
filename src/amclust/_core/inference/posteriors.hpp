// What memories with covariances say of rows that may lack values: how much a row belongs to each of them, and its
// missing values under each. Some rows are looked at together; what is said of one does not depend on the others.
#pragma once

#include "inference/gaussians.hpp"
#include "kernels/kernels.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace amclust {

// Some rows that are looked at together. What they have in common with each other has all of kRows beside each other.
struct RowsTogether {
  static constexpr int kRows = kLaneRows;

  explicit RowsTogether(int d) : values(static_cast<std::size_t>(d) * kRows) {}
  // Up to kRows rows [d], with NaN where values are missing.
  void set(const float* const* rows, int count, int d);

  int count = 0, most_missing = 0;
  std::array<std::vector<int>, kRows> missing;  // columns
  std::vector<double> values;                   // [d][kRows], zero where missing
};

class Posterior {
 public:
  static constexpr int kRows = RowsTogether::kRows;

  virtual ~Posterior() = default;

  // The rows must stay until other ones are seen.
  void see(const RowsTogether& rows);

  const RowsTogether& rows() const { return *rows_; }
  // [m][kRows]; 0 for those that have next to nothing of a row
  double membership(int m, int row) const { return memberships_[index(m, row)]; }
  double likelihood(int row) const { return likelihoods_[row]; }
  // The mean of its missing values under a memory, [missing], of which the next is kRows further.
  const double* conditional(int m, int row) const { return conditional_.data() + index(m * rows_->most_missing, row); }
  // A row, completed by a memory.
  void fill(int m, int row, double* out) const;

  // Whether memories that share this covariance have a part of a row, and the part.
  double share(int c, int row) const;
  // Once for all rows, before variances and covariances under this one are asked for.
  virtual void turn_to(int c) = 0;
  // out[missing] += factor * the conditional variances of a row
  virtual void add_variances(int row, double factor, double* out) = 0;
  // normals [missing] become a draw under a memory; with a rank it takes other ones for the factors, [rank].
  virtual void draw(int m, int row, double* normals, const double* factors) = 0;

 protected:
  explicit Posterior(const GaussianMemories& given);
  static std::size_t index(int at, int row) { return static_cast<std::size_t>(at) * kRows + row; }
  // Sets conditional_, and memberships_ to the logarithms of densities, but for what all memories have in common.
  virtual void look() = 0;

  const GaussianMemories& g_;
  std::vector<double> log_parts_;
  const RowsTogether* rows_ = nullptr;
  std::vector<double> conditional_, memberships_;  // [m][most_missing][kRows], [m][kRows]
  std::array<double, kRows> likelihoods_{};
};

// Full covariances.
class PrecisionPosterior final : public Posterior {
 public:
  explicit PrecisionPosterior(const GaussianMemories& given);
  void turn_to(int c) override;
  void add_variances(int row, double factor, double* out) override;
  // The lower triangle of squares [d][ld] += factor * the conditional covariance under one of them, of each row
  void add_covariances(int c, const double* factors, double* squares, int ld);
  void draw(int m, int row, double* normals, const double* factors) override;

 private:
  void look() override;

  std::vector<double> log_determinants_, pulls_, constants_;  // of precisions P: log |P|, P rho, rho' P rho
  std::vector<double> image_, pulled_;
  std::vector<std::vector<double>> cholesky_;  // of each precision at the missing values
  std::vector<double> columns_;                // of the inverse of one of them
  std::vector<double> covariances_;            // of all rows, under one of them
};

// A few factors: loadings W and noise N.
class FactorPosterior final : public Posterior {
 public:
  explicit FactorPosterior(const GaussianMemories& given);
  void turn_to(int) override {}  // there is one covariance
  void add_variances(int row, double factor, double* out) override;
  void draw(int m, int row, double* normals, const double* factors) override;
  // The factors of a row under a memory [rank], and the inverse of their precision: lower triangle, [rank][rank].
  const double* factors(int m, int row) const;
  const double* invert(int row);
  // The columns that a row has.
  const std::vector<int>& observed(int row) const { return observed_[row]; }

 private:
  void look() override;
  void look_at(int row);

  std::vector<double> log_noise_, scaled_, whole_;  // scaled: W / N; whole: 1 + W' N^-1 W, the lower triangle
  std::array<std::vector<int>, kRows> observed_;
  std::array<std::vector<double>, kRows> cholesky_;         // of the precision of the factors
  std::vector<double> factors_, half_, inverse_, scratch_;  // factors: [kRows][m][rank]
};

std::unique_ptr<Posterior> make_posterior(const GaussianMemories& memories);

}  // namespace amclust
