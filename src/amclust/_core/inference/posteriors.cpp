#include "inference/posteriors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace amclust {
namespace {

constexpr double kNoMembership = 1e-9;  // memories with less of a row are none of its
constexpr double kLogTwoPi = 1.8378770664093453;
constexpr int kFactorsOfProduct = 8;  // so many do not overflow

double dot(const double* a, const double* b, int n) { return kernels().dot_double(a, b, n); }

void add_scaled(double factor, const double* x, int n, double* out) { kernels().add_scaled_double(factor, x, n, out); }

const double* line(const std::vector<double>& matrix, int i, int n) {
  return matrix.data() + static_cast<std::ptrdiff_t>(i) * n;
}

double* line(std::vector<double>& matrix, int i, int n) { return matrix.data() + static_cast<std::ptrdiff_t>(i) * n; }

}  // namespace

// --- any covariances -------------------------------------------------------------------------------------------------

Posterior::Posterior(const GaussianMemories& given)
    : g_(given), memberships_(static_cast<std::size_t>(given.m) * kRows) {
  for (const double part : given.parts)
    log_parts_.push_back(part > 0.0 ? std::log(part) : -std::numeric_limits<double>::infinity());
}

void RowsTogether::set(const float* const* rows, int n, int d) {
  count = n;
  most_missing = 0;
  for (int r = 0; r < kRows; ++r) {
    missing[r].clear();
    double* to = values.data() + r;
    for (int j = 0; j < d; ++j, to += kRows) {
      const float value = r < n ? rows[r][j] : 0.0f;
      const bool gone = std::isnan(value);
      *to = gone ? 0.0 : value;
      if (gone) missing[r].push_back(j);
    }
    most_missing = std::max(most_missing, static_cast<int>(missing[r].size()));
  }
}

void Posterior::see(const RowsTogether& rows) {
  rows_ = &rows;
  conditional_.resize(static_cast<std::size_t>(g_.m) * rows.most_missing * kRows);
  look();
  for (int r = 0; r < rows.count; ++r) {
    double most = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (int m = 0; m < g_.m; ++m) most = std::max(most, memberships_[index(m, r)]);
    for (int m = 0; m < g_.m; ++m) total += memberships_[index(m, r)] = std::exp(memberships_[index(m, r)] - most);
    for (int m = 0; m < g_.m; ++m) {
      double& one = memberships_[index(m, r)];
      one = one / total > kNoMembership ? one / total : 0.0;
    }
    const double observed = g_.d - static_cast<int>(rows_->missing[r].size());
    likelihoods_[r] = most + std::log(total) - 0.5 * kLogTwoPi * observed;
  }
}

void Posterior::fill(int m, int row, double* out) const {
  for (int j = 0; j < g_.d; ++j) out[j] = rows_->values[index(j, row)];
  const double* hidden = conditional(m, row);
  for (std::size_t a = 0; a < rows_->missing[row].size(); ++a) out[rows_->missing[row][a]] = hidden[a * kRows];
}

double Posterior::share(int c, int row) const {
  if (g_.n_covariances > 1) return membership(c, row);
  double total = 0.0;
  for (int m = 0; m < g_.m; ++m) total += membership(m, row);
  return total;
}

// --- full covariances ------------------------------------------------------------------------------------------------

PrecisionPosterior::PrecisionPosterior(const GaussianMemories& given)
    : Posterior(given),
      pulls_(given.means.size()),
      constants_(given.m),
      image_(static_cast<std::size_t>(given.d) * kRows),
      pulled_(static_cast<std::size_t>(given.m) * kRows),
      cholesky_(given.n_covariances) {
  const int d = given.d;
  std::vector<double> lower;
  for (int c = 0; c < given.n_covariances; ++c) {
    const double* precision = line(given.precisions, c * d, d);
    lower.assign(precision, precision + static_cast<std::ptrdiff_t>(d) * d);
    if (!kernels().cholesky(lower.data(), d)) throw std::invalid_argument("a precision must be positive definite");
    double sum = 0.0;
    for (int j = 0; j < d; ++j) sum += std::log(line(lower, j, d)[j]);
    log_determinants_.push_back(2.0 * sum);
  }
  for (int m = 0; m < given.m; ++m) {
    const int c = given.n_covariances == 1 ? 0 : m;
    const double* mean = line(given.means, m, d);
    double* pull = line(pulls_, m, d);
    for (int j = 0; j < d; ++j) pull[j] = dot(line(given.precisions, c * d + j, d), mean, d);
    constants_[m] = dot(mean, pull, d);
  }
}

// Under a memory the hidden part is P_hh^-1 ((P rho)_h - P_ho x_o), at which the energy has its minimum.
void PrecisionPosterior::look() {
  const int d = g_.d, q = rows_->most_missing;
  std::array<double, kRows> square, gain;
  kernels().lane_dots(pulls_.data(), d, g_.m, rows_->values.data(), pulled_.data());
  for (int c = 0; c < g_.n_covariances; ++c) {
    const double* precision = line(g_.precisions, c * d, d);
    kernels().lane_dots(precision, d, d, rows_->values.data(), image_.data());
    kernels().lane_products(rows_->values.data(), image_.data(), d, square.data());
    std::vector<double>& cholesky = cholesky_[c];
    cholesky.resize(static_cast<std::size_t>(q) * q * kRows);
    for (int r = 0; r < kRows; ++r) {
      const std::vector<int>& missing = rows_->missing[r];
      const int own = static_cast<int>(missing.size());
      for (int a = 0; a < own; ++a) {
        const double* from = precision + static_cast<std::ptrdiff_t>(missing[a]) * d;
        double* to = cholesky.data() + index(a * q, r);
        for (int b = 0; b <= a; ++b) to[b * kRows] = from[missing[b]];
      }
      for (int a = own; a < q; ++a)  // rows that lack less have ones here
        for (int b = 0; b <= a; ++b) cholesky[index(a * q + b, r)] = a == b ? 1.0 : 0.0;
    }
    if (!kernels().lane_cholesky(cholesky.data(), q))
      throw std::invalid_argument("a precision must be positive definite");
    std::array<double, kRows> constant;
    for (int r = 0; r < kRows; ++r) {
      double logs = 0.0, product = 1.0;
      for (int a = 0; a < q; ++a) {
        product *= cholesky[index(a * q + a, r)];
        if (a % kFactorsOfProduct != kFactorsOfProduct - 1) continue;
        logs += std::log(product);
        product = 1.0;
      }
      constant[r] = 0.5 * log_determinants_[c] + logs + std::log(product);
    }
    const int first = g_.n_covariances == 1 ? 0 : c, last = g_.n_covariances == 1 ? g_.m : c + 1;
    for (int m = first; m < last; ++m) {
      const double* pull = line(pulls_, m, d);
      double* hidden = conditional_.data() + index(m * q, 0);
      for (int r = 0; r < kRows; ++r) {
        const int own = static_cast<int>(rows_->missing[r].size());
        for (int a = 0; a < q; ++a)
          hidden[index(a, r)] = a < own ? pull[rows_->missing[r][a]] - image_[index(rows_->missing[r][a], r)] : 0.0;
      }
      kernels().lane_half_solve(cholesky.data(), q, hidden);
      kernels().lane_products(hidden, hidden, q, gain.data());
      kernels().lane_transposed_solve(cholesky.data(), q, hidden);
      for (int r = 0; r < kRows; ++r) {
        const double energy = square[r] - 2.0 * pulled_[index(m, r)] + constants_[m] - gain[r];
        memberships_[index(m, r)] = log_parts_[m] + constant[r] - 0.5 * std::max(energy, 0.0);
      }
    }
  }
}

void PrecisionPosterior::turn_to(int c) {
  columns_.resize(cholesky_[c].size());
  kernels().lane_half_invert(cholesky_[c].data(), rows_->most_missing, columns_.data());
}

void PrecisionPosterior::add_variances(int row, double factor, double* out) {
  const int q = rows_->most_missing, own = static_cast<int>(rows_->missing[row].size());
  for (int a = 0; a < own; ++a) {
    const double* column = columns_.data() + index(a * q, row);
    double sum = 0.0;
    for (int i = a; i < own; ++i) sum += column[i * kRows] * column[i * kRows];
    out[a] += factor * sum;
  }
}

void PrecisionPosterior::add_covariances(int c, const double* factors, double* squares, int ld) {
  const int q = rows_->most_missing;
  turn_to(c);
  covariances_.resize(columns_.size());
  kernels().lane_squared(columns_.data(), q, covariances_.data());
  for (int a = 0; a < q; ++a)
    for (int r = 0; r < rows_->count; ++r) {
      const std::vector<int>& missing = rows_->missing[r];
      if (a >= static_cast<int>(missing.size()) || !(factors[r] > 0.0)) continue;
      double* to = squares + static_cast<std::ptrdiff_t>(missing[a]) * ld;
      const double* from = covariances_.data() + index(a * q, r);
      for (int b = 0; b <= a; ++b) to[missing[b]] += factors[r] * from[b * kRows];
    }
}

// P_hh = L L', and L'^-1 times normal numbers has the covariance P_hh^-1.
void PrecisionPosterior::draw(int m, int row, double* normals, const double*) {
  const int q = rows_->most_missing, own = static_cast<int>(rows_->missing[row].size());
  const double *cholesky = cholesky_[g_.n_covariances == 1 ? 0 : m].data(), *mean = conditional(m, row);
  for (int i = own - 1; i >= 0; --i) {
    const double* from = cholesky + index(i * q, row);
    normals[i] *= from[i * kRows];
    for (int k = 0; k < i; ++k) normals[k] -= from[k * kRows] * normals[i];
  }
  for (int a = 0; a < own; ++a) normals[a] += mean[a * kRows];
}

// --- factors ---------------------------------------------------------------------------------------------------------

FactorPosterior::FactorPosterior(const GaussianMemories& given)
    : Posterior(given),
      log_noise_(given.d),
      scaled_(given.loadings.size()),
      whole_(static_cast<std::size_t>(given.rank) * given.rank, 0.0),
      factors_(static_cast<std::size_t>(kRows) * given.m * given.rank),
      half_(given.rank),
      inverse_(whole_.size()),
      scratch_(whole_.size()) {
  const int r = given.rank;
  for (int a = 0; a < r; ++a) line(whole_, a, r)[a] = 1.0;
  for (int j = 0; j < given.d; ++j) {
    log_noise_[j] = std::log(given.noise[j]);
    for (int a = 0; a < r; ++a) line(scaled_, j, r)[a] = line(given.loadings, j, r)[a] / given.noise[j];
    for (int a = 0; a < r; ++a)
      add_scaled(line(scaled_, j, r)[a], line(given.loadings, j, r), a + 1, line(whole_, a, r));
  }
}

void FactorPosterior::look() {
  for (int row = 0; row < rows_->count; ++row) look_at(row);
}

// Factors z = B^-1 W_o' N_o^-1 (x - rho)_o with B = 1 + W_o' N_o^-1 W_o.
void FactorPosterior::look_at(int row) {
  const int r = g_.rank, d = g_.d;
  std::vector<int>& observed = observed_[row];
  observed.clear();
  for (int j = 0, next = 0; j < d; ++j) {
    const bool gone = next < static_cast<int>(rows_->missing[row].size()) && rows_->missing[row][next] == j;
    if (gone)
      ++next;
    else
      observed.push_back(j);
  }
  // Of whatever there is less: what is missing is taken from the whole, or what is observed put together.
  const bool takes = rows_->missing[row].size() < observed.size();
  std::vector<double>& square = cholesky_[row];
  square = whole_;
  if (!takes) {
    std::fill(square.begin(), square.end(), 0.0);
    for (int a = 0; a < r; ++a) line(square, a, r)[a] = 1.0;
  }
  for (const int j : takes ? rows_->missing[row] : observed)
    for (int a = 0; a < r; ++a) {
      const double factor = takes ? -line(scaled_, j, r)[a] : line(scaled_, j, r)[a];
      add_scaled(factor, line(g_.loadings, j, r), a + 1, line(square, a, r));
    }
  if (!kernels().cholesky(square.data(), r)) throw std::invalid_argument("loadings and noise must be finite");
  double constant = 0.0;
  for (const int j : observed) constant -= 0.5 * log_noise_[j];
  for (int a = 0; a < r; ++a) constant -= std::log(line(square, a, r)[a]);
  for (int m = 0; m < g_.m; ++m) {
    const double* mean = line(g_.means, m, d);
    double* z = line(factors_, row * g_.m + m, r);
    double energy = 0.0;
    std::fill(z, z + r, 0.0);
    for (const int j : observed) {
      const double apart = rows_->values[index(j, row)] - mean[j];
      energy += apart * apart / g_.noise[j];
      add_scaled(apart, line(scaled_, j, r), r, z);
    }
    kernels().cholesky_half_solve(square.data(), r, z);
    energy -= dot(z, z, r);
    memberships_[index(m, row)] = log_parts_[m] + constant - 0.5 * std::max(energy, 0.0);
    kernels().cholesky_transposed_solve(square.data(), r, z);
    double* hidden = conditional_.data() + index(m * rows_->most_missing, row);
    for (std::size_t a = 0; a < rows_->missing[row].size(); ++a) {
      const int j = rows_->missing[row][a];
      hidden[a * kRows] = mean[j] + dot(line(g_.loadings, j, r), z, r);
    }
  }
}

const double* FactorPosterior::factors(int m, int row) const { return line(factors_, row * g_.m + m, g_.rank); }

const double* FactorPosterior::invert(int row) {
  kernels().cholesky_invert(cholesky_[row].data(), g_.rank, scratch_.data(), inverse_.data());
  return inverse_.data();
}

void FactorPosterior::add_variances(int row, double factor, double* out) {
  const int r = g_.rank;
  for (std::size_t a = 0; a < rows_->missing[row].size(); ++a) {
    const int j = rows_->missing[row][a];
    std::copy_n(line(g_.loadings, j, r), r, half_.begin());
    kernels().cholesky_half_solve(cholesky_[row].data(), r, half_.data());
    out[a] += factor * (g_.noise[j] + dot(half_.data(), half_.data(), r));
  }
}

void FactorPosterior::draw(int m, int row, double* normals, const double* factors) {
  const int r = g_.rank;
  half_.assign(factors, factors + r);
  kernels().cholesky_transposed_solve(cholesky_[row].data(), r, half_.data());
  const double* mean = conditional(m, row);
  for (std::size_t a = 0; a < rows_->missing[row].size(); ++a) {
    const int j = rows_->missing[row][a];
    normals[a] = mean[a * kRows] + std::sqrt(g_.noise[j]) * normals[a] + dot(line(g_.loadings, j, r), half_.data(), r);
  }
}

std::unique_ptr<Posterior> make_posterior(const GaussianMemories& memories) {
  if (memories.rank) return std::make_unique<FactorPosterior>(memories);
  return std::make_unique<PrecisionPosterior>(memories);
}

}  // namespace amclust
