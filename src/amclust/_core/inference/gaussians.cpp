#include "inference/gaussians.hpp"

#include "kernels/kernels.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

namespace amclust {
namespace {

constexpr int kMaxParts = 16;               // that sums are made of, whatever the threads
constexpr std::int64_t kPartNumbers = 1 << 23;  // numbers that their states hold together, about
constexpr double kNoMembership = 1e-9;      // memories with less of a row are none of its
constexpr double kLogTwoPi = 1.8378770664093453;

double dot(const double* a, const double* b, int n) { return kernels().dot_double(a, b, n); }

void add_scaled(double factor, const double* x, int n, double* out) { kernels().add_scaled_double(factor, x, n, out); }

// A positive definite matrix A = L L', given by its lower triangle, [n][n].
class Cholesky {
 public:
  // Returns whether it is positive definite.
  bool factor(const std::vector<double>& a, int n) {
    n_ = n;
    l_.assign(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n) * n);
    return kernels().cholesky(l_.data(), n);
  }
  double log_determinant() const {
    double sum = 0.0;
    for (int i = 0; i < n_; ++i) sum += std::log(l_[static_cast<std::size_t>(i) * n_ + i]);
    return 2.0 * sum;
  }
  // x <- L^-1 x
  void half_solve(double* x) const { kernels().cholesky_half_solve(l_.data(), n_, x); }
  // x <- A^-1 x
  void solve(double* x) const { kernels().cholesky_solve(l_.data(), n_, x); }
  // x <- L'^-1 x
  void transposed_solve(double* x) const {
    for (int i = n_ - 1; i >= 0; --i) {
      const double* row = l_.data() + static_cast<std::ptrdiff_t>(i) * n_;
      x[i] /= row[i];
      add_scaled(-x[i], row, i, x);
    }
  }
  // A^-1, its lower triangle, [n][n].
  void invert(std::vector<double>& out) {
    scratch_.resize(l_.size());
    out.resize(l_.size());
    kernels().cholesky_invert(l_.data(), n_, scratch_.data(), out.data());
  }

 private:
  int n_ = 0;
  std::vector<double> l_, scratch_;
};

// What follows from the memories alone.
struct Prepared {
  explicit Prepared(const GaussianMemories& memories) : given(memories) {
    const int d = given.d;
    log_parts.resize(given.m);
    for (int m = 0; m < given.m; ++m)
      log_parts[m] = given.parts[m] > 0.0 ? std::log(given.parts[m]) : -std::numeric_limits<double>::infinity();
    if (given.rank) {
      log_noise.resize(d);
      scaled.resize(given.loadings.size());
      for (int j = 0; j < d; ++j) {
        log_noise[j] = std::log(given.noise[j]);
        for (int r = 0; r < given.rank; ++r)
          scaled[static_cast<std::size_t>(j) * given.rank + r] =
              given.loadings[static_cast<std::size_t>(j) * given.rank + r] / given.noise[j];
      }
      return;
    }
    Cholesky cholesky;
    for (int c = 0; c < given.n_covariances; ++c) {
      const double* p = precision(c);
      if (!cholesky.factor({p, p + static_cast<std::ptrdiff_t>(d) * d}, d))
        throw std::invalid_argument("a precision must be positive definite");
      log_determinants.push_back(cholesky.log_determinant());
    }
    pulls.resize(given.means.size());
    constants.resize(given.m);
    for (int m = 0; m < given.m; ++m) {
      const double* mean = given.means.data() + static_cast<std::ptrdiff_t>(m) * d;
      double* pull = pulls.data() + static_cast<std::ptrdiff_t>(m) * d;
      for (int j = 0; j < d; ++j) pull[j] = dot(precision(covariance_of(m)) + static_cast<std::ptrdiff_t>(j) * d, mean, d);
      constants[m] = dot(mean, pull, d);
    }
  }

  int covariance_of(int m) const { return given.n_covariances == 1 ? 0 : m; }
  const double* precision(int c) const { return given.precisions.data() + static_cast<std::ptrdiff_t>(c) * given.d * given.d; }

  const GaussianMemories& given;
  std::vector<double> log_parts;
  std::vector<double> log_determinants, pulls, constants;  // of precisions P: log |P|, P rho, rho' P rho
  std::vector<double> log_noise, scaled;                   // loadings over noise
};

// A row as the memories see it: how much it belongs to each, and its missing values under each.
class RowPosterior {
 public:
  explicit RowPosterior(const Prepared& prepared) : p_(prepared), g_(prepared.given) {
    values_.resize(g_.d);
    memberships.resize(g_.m);
    if (g_.rank) {
      factors_.resize(static_cast<std::size_t>(g_.m) * g_.rank);
      square_.resize(static_cast<std::size_t>(g_.rank) * g_.rank);
    } else {
      cholesky_.resize(g_.n_covariances);
      gathered_.resize(static_cast<std::size_t>(g_.d) * g_.d);
      image_.resize(g_.d);
    }
  }

  std::vector<int> missing, observed;
  std::vector<double> memberships;  // [m]
  double likelihood = 0.0;

  // x [d] with NaN where values are missing.
  void see(const float* x) {
    missing.clear();
    observed.clear();
    for (int j = 0; j < g_.d; ++j) {
      const bool gone = std::isnan(x[j]);
      values_[j] = gone ? 0.0 : x[j];
      (gone ? missing : observed).push_back(j);
    }
    g_.rank ? see_by_factors() : see_by_precisions();
    double most = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (const double log : memberships) most = std::max(most, log);
    for (double& one : memberships) total += one = std::exp(one - most);
    for (double& one : memberships) one = one / total > kNoMembership ? one / total : 0.0;
    likelihood = most + std::log(total) - 0.5 * kLogTwoPi * static_cast<double>(observed.size());
  }

  const double* values() const { return values_.data(); }  // [d], zero where missing
  // [missing] under a memory
  const double* conditional(int m) const { return conditional_.data() + static_cast<std::ptrdiff_t>(m) * missing.size(); }
  // normals [missing] become a draw under a memory; with a rank it takes other ones for the factors, [rank].
  void draw(int m, double* normals, const double* factors) {
    const int q = static_cast<int>(missing.size());
    const double* mean = conditional(m);
    if (!g_.rank) {  // P_hh = L L', and L'^-1 times normal numbers has the covariance P_hh^-1
      cholesky_[g_.n_covariances == 1 ? 0 : m].transposed_solve(normals);
      for (int a = 0; a < q; ++a) normals[a] += mean[a];
      return;
    }
    half_.assign(factors, factors + g_.rank);
    cholesky_of_factors_.transposed_solve(half_.data());
    for (int a = 0; a < q; ++a) {
      const double* loading = g_.loadings.data() + static_cast<std::ptrdiff_t>(missing[a]) * g_.rank;
      normals[a] = mean[a] + std::sqrt(g_.noise[missing[a]]) * normals[a] + dot(loading, half_.data(), g_.rank);
    }
  }
  // With a rank: [rank] the factors under a memory, and the inverse of their precision [rank][rank].
  const double* factors(int m) const { return factors_.data() + static_cast<std::ptrdiff_t>(m) * g_.rank; }
  const std::vector<double>& invert_factors() {
    cholesky_of_factors_.invert(inverse_);
    return inverse_;
  }
  // The conditional covariance under memories with this covariance: lower triangle, [missing][missing].
  const std::vector<double>& invert(int c) {
    cholesky_[c].invert(inverse_);
    return inverse_;
  }
  // The conditional variances, [missing].
  void variances(int c, std::vector<double>& out) {
    const int q = static_cast<int>(missing.size());
    out.resize(q);
    if (!g_.rank) {
      invert(c);
      for (int a = 0; a < q; ++a) out[a] = inverse_[static_cast<std::size_t>(a) * q + a];
      return;
    }
    half_.resize(g_.rank);
    for (int a = 0; a < q; ++a) {
      const double* loading = g_.loadings.data() + static_cast<std::ptrdiff_t>(missing[a]) * g_.rank;
      std::copy_n(loading, g_.rank, half_.begin());
      cholesky_of_factors_.half_solve(half_.data());
      out[a] = g_.noise[missing[a]] + dot(half_.data(), half_.data(), g_.rank);
    }
  }

 private:
  // Under a memory the hidden part is P_hh^-1 ((P rho)_h - P_ho x_o), at which the energy has its minimum.
  void see_by_precisions() {
    const int d = g_.d, q = static_cast<int>(missing.size());
    conditional_.resize(static_cast<std::size_t>(g_.m) * q);
    half_.resize(q);
    for (int c = 0; c < g_.n_covariances; ++c) {
      const double* precision = p_.precision(c);
      kernels().dots_double(precision, d, values_.data(), d, image_.data());
      for (int a = 0; a < q; ++a) {
        const double* line = precision + static_cast<std::ptrdiff_t>(missing[a]) * d;
        for (int b = 0; b <= a; ++b) gathered_[static_cast<std::size_t>(a) * q + b] = line[missing[b]];
      }
      if (!cholesky_[c].factor(gathered_, q)) throw std::invalid_argument("a precision must be positive definite");
      const double square = dot(values_.data(), image_.data(), d);
      const double constant = 0.5 * (p_.log_determinants[c] - cholesky_[c].log_determinant());
      const int first = g_.n_covariances == 1 ? 0 : c, last = g_.n_covariances == 1 ? g_.m : c + 1;
      for (int m = first; m < last; ++m) {
        const double* pull = p_.pulls.data() + static_cast<std::ptrdiff_t>(m) * d;
        double* hidden = conditional_.data() + static_cast<std::ptrdiff_t>(m) * q;
        for (int a = 0; a < q; ++a) hidden[a] = pull[missing[a]] - image_[missing[a]];
        std::copy_n(hidden, q, half_.begin());
        cholesky_[c].half_solve(half_.data());
        const double energy = square - 2.0 * dot(values_.data(), pull, d) + p_.constants[m] - dot(half_.data(), half_.data(), q);
        memberships[m] = p_.log_parts[m] + constant - 0.5 * std::max(energy, 0.0);
        cholesky_[c].solve(hidden);
      }
    }
  }

  // The same for loadings W and noise N: factors z = B^-1 W_o' N_o^-1 (x - rho)_o with B = 1 + W_o' N_o^-1 W_o.
  void see_by_factors() {
    const int r = g_.rank, q = static_cast<int>(missing.size());
    conditional_.resize(static_cast<std::size_t>(g_.m) * q);
    half_.resize(r);
    std::fill(square_.begin(), square_.end(), 0.0);
    for (int a = 0; a < r; ++a) square_[static_cast<std::size_t>(a) * r + a] = 1.0;
    double logs = 0.0;
    for (const int j : observed) {
      const double *loading = g_.loadings.data() + static_cast<std::ptrdiff_t>(j) * r,
                   *scaled = p_.scaled.data() + static_cast<std::ptrdiff_t>(j) * r;
      for (int a = 0; a < r; ++a) add_scaled(scaled[a], loading, a + 1, square_.data() + static_cast<std::ptrdiff_t>(a) * r);
      logs += p_.log_noise[j];
    }
    if (!cholesky_of_factors_.factor(square_, r)) throw std::invalid_argument("loadings and noise must be finite");
    const double constant = -0.5 * (logs + cholesky_of_factors_.log_determinant());
    for (int m = 0; m < g_.m; ++m) {
      const double* mean = g_.means.data() + static_cast<std::ptrdiff_t>(m) * g_.d;
      double* z = factors_.data() + static_cast<std::ptrdiff_t>(m) * r;
      double energy = 0.0;
      std::fill(z, z + r, 0.0);
      for (const int j : observed) {
        const double apart = values_[j] - mean[j];
        energy += apart * apart / g_.noise[j];
        add_scaled(apart, p_.scaled.data() + static_cast<std::ptrdiff_t>(j) * r, r, z);
      }
      std::copy_n(z, r, half_.begin());
      cholesky_of_factors_.half_solve(half_.data());
      energy -= dot(half_.data(), half_.data(), r);
      memberships[m] = p_.log_parts[m] + constant - 0.5 * std::max(energy, 0.0);
      cholesky_of_factors_.solve(z);
      double* hidden = conditional_.data() + static_cast<std::ptrdiff_t>(m) * q;
      for (int a = 0; a < q; ++a)
        hidden[a] = mean[missing[a]] + dot(g_.loadings.data() + static_cast<std::ptrdiff_t>(missing[a]) * r, z, r);
    }
  }

  const Prepared& p_;
  const GaussianMemories& g_;
  std::vector<double> values_, conditional_, image_, half_, gathered_, inverse_, factors_, square_;
  std::vector<Cholesky> cholesky_;  // of each precision at the missing values
  Cholesky cholesky_of_factors_;
};

// Reads rows with NaN where values are missing.
class Reader {
 public:
  explicit Reader(const Dataset& data)
      : data_(data),
        nothing_(data.features, std::numeric_limits<float>::quiet_NaN()),
        marks_(data.features),
        row_(data.features) {}
  const float* operator()(std::int64_t which) {
    data_.load(&which, 1, nothing_.data(), row_.data(), data_.features, marks_.data());
    return row_.data();
  }

 private:
  const Dataset& data_;
  std::vector<float> nothing_;
  std::vector<std::uint8_t> marks_;
  std::vector<float> row_;
};

class SumState {
 public:
  SumState(const Dataset& data, const Prepared& prepared)
      : g_(prepared.given), reader_(data), posterior_(prepared), filled_(g_.d) {
    const std::size_t m = g_.m, d = g_.d, r = g_.rank;
    found.sizes.assign(m, 0.0);
    found.sums.assign(m * d, 0.0);
    if (r) {
      found.factor_squares.assign(d * r * r, 0.0);
      found.factor_values.assign(d * r, 0.0);
      found.value_squares.assign(d, 0.0);
      found.column_weights.assign(d, 0.0);
      outer_.resize(r * r);
    } else {
      found.squares.assign(g_.n_covariances * d * d, 0.0);
    }
  }

  GaussianSums found;

  void take(std::int64_t row, double weight) {
    posterior_.see(reader_(row));
    found.weight += weight;
    found.likelihood += weight * posterior_.likelihood;
    g_.rank ? add_factors(weight) : add_squares(weight);
  }

  void add(const SumState& other, Slice) {
    found.weight += other.found.weight;
    found.likelihood += other.found.likelihood;
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(found.sizes, other.found.sizes);
    add(found.sums, other.found.sums);
    add(found.squares, other.found.squares);
    add(found.factor_squares, other.found.factor_squares);
    add(found.factor_values, other.found.factor_values);
    add(found.value_squares, other.found.value_squares);
    add(found.column_weights, other.found.column_weights);
  }

 private:
  void fill(int m) {
    std::copy_n(posterior_.values(), g_.d, filled_.begin());
    const double* hidden = posterior_.conditional(m);
    for (std::size_t a = 0; a < posterior_.missing.size(); ++a) filled_[posterior_.missing[a]] = hidden[a];
  }

  void add_squares(double weight) {
    const int d = g_.d, q = static_cast<int>(posterior_.missing.size());
    for (int c = 0; c < g_.n_covariances; ++c) {
      double* squares = found.squares.data() + static_cast<std::ptrdiff_t>(c) * d * d;
      double inside = 0.0;
      for (int m = 0; m < g_.m; ++m) {
        const double part = weight * posterior_.memberships[m];
        if ((g_.n_covariances > 1 && m != c) || !(part > 0.0)) continue;
        inside += part;
        fill(m);
        found.sizes[m] += part;
        add_scaled(part, filled_.data(), d, found.sums.data() + static_cast<std::ptrdiff_t>(m) * d);
        kernels().add_outer_double(part, filled_.data(), d, squares);
      }
      if (!(inside > 0.0) || !q) continue;
      const std::vector<double>& inverse = posterior_.invert(c);
      for (int a = 0; a < q; ++a)
        for (int b = 0; b <= a; ++b)
          squares[static_cast<std::ptrdiff_t>(posterior_.missing[a]) * d + posterior_.missing[b]] +=
              inside * inverse[static_cast<std::size_t>(a) * q + b];
    }
  }

  void add_factors(double weight) {
    const int d = g_.d, r = g_.rank;
    const std::vector<double>& inverse = posterior_.invert_factors();
    for (int a = 0; a < r; ++a)
      for (int b = 0; b <= a; ++b) outer_[static_cast<std::size_t>(a) * r + b] = inverse[static_cast<std::size_t>(a) * r + b];
    for (int m = 0; m < g_.m; ++m) {
      const double membership = posterior_.memberships[m], part = weight * membership;
      if (!(part > 0.0)) continue;
      fill(m);
      found.sizes[m] += part;
      add_scaled(part, filled_.data(), d, found.sums.data() + static_cast<std::ptrdiff_t>(m) * d);
      const double *z = posterior_.factors(m), *mean = g_.means.data() + static_cast<std::ptrdiff_t>(m) * d;
      for (int a = 0; a < r; ++a) add_scaled(membership * z[a], z, a + 1, outer_.data() + static_cast<std::ptrdiff_t>(a) * r);
      for (const int j : posterior_.observed) {
        const double apart = filled_[j] - mean[j];
        add_scaled(part * apart, z, r, found.factor_values.data() + static_cast<std::ptrdiff_t>(j) * r);
        found.value_squares[j] += part * apart * apart;
      }
    }
    for (const int j : posterior_.observed) {
      found.column_weights[j] += weight;
      double* squares = found.factor_squares.data() + static_cast<std::ptrdiff_t>(j) * r * r;
      for (int a = 0; a < r; ++a)
        add_scaled(weight, outer_.data() + static_cast<std::ptrdiff_t>(a) * r, a + 1, squares + static_cast<std::ptrdiff_t>(a) * r);
    }
  }

  const GaussianMemories& g_;
  Reader reader_;
  RowPosterior posterior_;
  std::vector<double> filled_, outer_;
};

// Squares are summed in the lower triangle.
void mirror(std::vector<double>& squares, int n) {
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(n) * n;
  for (std::ptrdiff_t at = 0; at < static_cast<std::ptrdiff_t>(squares.size()); at += size)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) squares[at + static_cast<std::ptrdiff_t>(j) * n + i] = squares[at + static_cast<std::ptrdiff_t>(i) * n + j];
}

}  // namespace

void check(const GaussianMemories& g) {
  const std::size_t m = g.m, d = g.d, c = g.n_covariances, r = g.rank;
  const bool fits = m > 0 && d > 0 && g.parts.size() == m && g.means.size() == m * d &&
                    (r ? c == 1 && g.loadings.size() == d * r && g.noise.size() == d && g.precisions.empty()
                       : (c == 1 || c == m) && g.precisions.size() == c * d * d);
  if (!fits) throw std::invalid_argument("parts, means and covariances must fit each other");
  for (const std::vector<double>* values : {&g.parts, &g.means, &g.precisions, &g.loadings, &g.noise})
    for (const double value : *values)
      if (!std::isfinite(value)) throw std::invalid_argument("parts, means and covariances must be finite");
  for (const double value : g.noise)
    if (!(value > 0.0)) throw std::invalid_argument("noise must be above 0");
  double total = 0.0;
  for (const double part : g.parts) {
    if (part < 0.0) throw std::invalid_argument("parts must be at least 0");
    total += part;
  }
  if (!(total > 0.0)) throw std::invalid_argument("parts must have a positive sum");
  Prepared{g};
}

GaussianSums gaussian_sums(const Dataset& data, const TrainingRows& rows, const GaussianMemories& memories, Team& team,
                           const Control& control) {
  const Prepared prepared(memories);
  const auto make = [&] { return SumState(data, prepared); };
  const SumState empty = make();
  const auto numbers = static_cast<std::int64_t>(empty.found.sums.size() + empty.found.squares.size() +
                                                 empty.found.factor_squares.size());
  const std::int64_t most = std::clamp<std::int64_t>(kPartNumbers / numbers, 2, kMaxParts);
  const int parts = static_cast<int>(std::clamp<std::int64_t>(rows.size, 1, most));
  SumState all = parallel_reduce(team, parts, make, [&](SumState& state, int part, int) {
    const std::int64_t last = rows.size * (part + 1) / parts;
    for (std::int64_t i = rows.size * part / parts; i < last && !control.stopped(); ++i) {
      const double weight = rows.weights ? rows.weights[i] : 1.0;
      if (weight > 0.0) state.take(rows.rows ? rows.rows[i] : i, weight);
    }
  });
  mirror(all.found.squares, memories.d);
  mirror(all.found.factor_squares, memories.rank);
  return std::move(all.found);
}

Completions complete(const Dataset& data, const std::int64_t* which, std::int64_t n, const GaussianMemories& memories,
                     bool with_variances, Team& team, const Control& control) {
  const Prepared prepared(memories);
  const int parts = static_cast<int>(std::clamp<std::int64_t>(n, 1, 4 * team.size()));
  const auto begin = [&](int part) { return n * part / parts; };
  Completions out;
  out.starts.assign(static_cast<std::size_t>(n) + 1, 0);
  team.run(parts, [&](int part, int) {
    Reader read(data);
    for (std::int64_t i = begin(part); i < begin(part + 1) && !control.stopped(); ++i) {
      const float* x = read(which ? which[i] : i);
      out.starts[i + 1] = std::count_if(x, x + data.features, [](float value) { return std::isnan(value); });
    }
  });
  for (std::int64_t i = 0; i < n; ++i) out.starts[i + 1] += out.starts[i];
  out.means.resize(static_cast<std::size_t>(out.starts[n]));
  if (with_variances) out.variances.resize(out.means.size());
  team.run(parts, [&](int part, int) {
    Reader read(data);
    RowPosterior posterior(prepared);
    std::vector<double> inside;
    for (std::int64_t i = begin(part); i < begin(part + 1) && !control.stopped(); ++i) {
      if (out.starts[i + 1] == out.starts[i]) continue;
      posterior.see(read(which ? which[i] : i));
      const int q = static_cast<int>(posterior.missing.size());
      double *means = out.means.data() + out.starts[i], *variances = with_variances ? out.variances.data() + out.starts[i] : nullptr;
      for (int m = 0; m < memories.m; ++m) add_scaled(posterior.memberships[m], posterior.conditional(m), q, means);
      for (int c = 0; c < memories.n_covariances; ++c) {
        double share = 0.0;
        for (int m = 0; m < memories.m; ++m) {
          const double part_of = posterior.memberships[m];
          if ((memories.n_covariances > 1 && m != c) || !(part_of > 0.0)) continue;
          share += part_of;
          const double* hidden = posterior.conditional(m);
          for (int a = 0; a < q && with_variances; ++a) variances[a] += part_of * (hidden[a] - means[a]) * (hidden[a] - means[a]);
        }
        if (!(share > 0.0) || !with_variances) continue;
        posterior.variances(c, inside);
        add_scaled(share, inside.data(), q, variances);
      }
    }
  });
  return out;
}

void draw(const Dataset& data, const std::int64_t* which, std::int64_t n, const GaussianMemories& memories,
          const double* chances, const std::int64_t* starts, double* normals, const double* factors, Team& team,
          const Control& control) {
  const Prepared prepared(memories);
  const int parts = static_cast<int>(std::clamp<std::int64_t>(n, 1, 4 * team.size()));
  team.run(parts, [&](int part, int) {
    Reader read(data);
    RowPosterior posterior(prepared);
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts && !control.stopped(); ++i) {
      if (starts[i + 1] == starts[i]) continue;
      posterior.see(read(which ? which[i] : i));
      if (starts[i + 1] - starts[i] != static_cast<std::int64_t>(posterior.missing.size()))
        throw std::invalid_argument("there must be a number for each missing value");
      int chosen = 0;
      double left = chances[i];
      for (int m = 0; m < memories.m; ++m) {
        if (posterior.memberships[m] > 0.0) chosen = m;  // the last that has some, if rounding leaves a rest
        if ((left -= posterior.memberships[m]) < 0.0) break;
      }
      posterior.draw(chosen, normals + starts[i], factors + i * memories.rank);
    }
  });
}

}  // namespace amclust
