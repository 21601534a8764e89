// Memories with covariances against their definition: densities of what is observed, regressions on it.
#include "blobs.hpp"
#include "check.hpp"
#include "inference/gaussians.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace {

using amclust::Completions;
using amclust::Control;
using amclust::GaussianMemories;
using amclust::GaussianSums;
using amclust::Team;
using Matrix = std::vector<double>;  // [n][n], or [rows][columns]

constexpr double kLogTwoPi = 1.8378770664093453;

// The inverse by Gauss and Jordan, with pivots; the determinant goes to `determinant`.
Matrix inverse(Matrix a, int n, double& determinant) {
  Matrix out(static_cast<std::size_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) out[i * n + i] = 1.0;
  determinant = 1.0;
  for (int c = 0; c < n; ++c) {
    int best = c;
    for (int i = c; i < n; ++i)
      if (std::abs(a[i * n + c]) > std::abs(a[best * n + c])) best = i;
    if (best != c) determinant = -determinant;
    for (int j = 0; j < n; ++j) {
      std::swap(a[best * n + j], a[c * n + j]);
      std::swap(out[best * n + j], out[c * n + j]);
    }
    const double pivot = a[c * n + c];
    determinant *= pivot;
    for (int j = 0; j < n; ++j) {
      a[c * n + j] /= pivot;
      out[c * n + j] /= pivot;
    }
    for (int i = 0; i < n; ++i) {
      const double factor = a[i * n + c];
      if (i == c || factor == 0.0) continue;
      for (int j = 0; j < n; ++j) {
        a[i * n + j] -= factor * a[c * n + j];
        out[i * n + j] -= factor * out[c * n + j];
      }
    }
  }
  return out;
}

// Memories, and the covariance of each as a plain matrix.
struct Model {
  GaussianMemories memories;
  std::vector<Matrix> covariances;  // [m][d][d]
};

GaussianMemories placed(tests::Source& source, int m, int d) {
  GaussianMemories out;
  out.m = m;
  out.d = d;
  double total = 0.0;
  for (int i = 0; i < m; ++i) {
    out.parts.push_back(source.uniform(0.2, 1.0));
    total += out.parts.back();
  }
  for (double& part : out.parts) part /= total;
  for (int i = 0; i < m * d; ++i) out.means.push_back(source.normal());
  return out;
}

Model with_precisions(tests::Source& source, int m, int d, bool own) {
  Model out{placed(source, m, d), {}};
  out.memories.n_covariances = own ? m : 1;
  for (int c = 0; c < out.memories.n_covariances; ++c) {
    Matrix a(static_cast<std::size_t>(d) * d), covariance(a.size(), 0.0);
    for (double& value : a) value = source.normal() / std::sqrt(d);
    for (int i = 0; i < d; ++i)
      for (int j = 0; j < d; ++j) {
        for (int l = 0; l < d; ++l) covariance[i * d + j] += a[i * d + l] * a[j * d + l];
        covariance[i * d + j] += i == j ? 0.2 : 0.0;
      }
    double ignored = 0.0;
    const Matrix precision = inverse(covariance, d, ignored);
    out.memories.precisions.insert(out.memories.precisions.end(), precision.begin(), precision.end());
    out.covariances.push_back(covariance);
  }
  if (!own) out.covariances.assign(m, out.covariances[0]);
  return out;
}

Model with_factors(tests::Source& source, int m, int d, int rank) {
  Model out{placed(source, m, d), {}};
  out.memories.rank = rank;
  for (int i = 0; i < d * rank; ++i) out.memories.loadings.push_back(source.normal());
  for (int j = 0; j < d; ++j) out.memories.noise.push_back(source.uniform(0.1, 0.6));
  Matrix covariance(static_cast<std::size_t>(d) * d, 0.0);
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < d; ++j) {
      for (int r = 0; r < rank; ++r)
        covariance[i * d + j] += out.memories.loadings[i * rank + r] * out.memories.loadings[j * rank + r];
      covariance[i * d + j] += i == j ? out.memories.noise[j] : 0.0;
    }
  out.covariances.assign(m, covariance);
  return out;
}

// What a row's missing values are under one memory, by S_ho S_oo^-1, and the density of what is there.
struct Conditional {
  double log_density = 0.0;
  std::vector<double> filled;  // [d]
  Matrix covariance;           // [d][d], zero where something is observed
  Matrix inverse_observed;     // [observed][observed]
};

Conditional direct(const float* x, const double* mean, const Matrix& covariance, int d) {
  std::vector<int> seen;
  for (int j = 0; j < d; ++j)
    if (!std::isnan(x[j])) seen.push_back(j);
  const int s = static_cast<int>(seen.size());
  Matrix observed(static_cast<std::size_t>(s) * s);
  for (int a = 0; a < s; ++a)
    for (int b = 0; b < s; ++b) observed[a * s + b] = covariance[seen[a] * d + seen[b]];
  double determinant = 1.0;
  Conditional out;
  out.inverse_observed = inverse(observed, s, determinant);
  const Matrix& inverted = out.inverse_observed;
  out.log_density = -0.5 * (s * kLogTwoPi + std::log(determinant));
  for (int a = 0; a < s; ++a)
    for (int b = 0; b < s; ++b)
      out.log_density -= 0.5 * (x[seen[a]] - mean[seen[a]]) * inverted[a * s + b] * (x[seen[b]] - mean[seen[b]]);
  out.covariance.assign(static_cast<std::size_t>(d) * d, 0.0);
  for (int h = 0; h < d; ++h) {
    out.filled.push_back(std::isnan(x[h]) ? mean[h] : x[h]);
    if (!std::isnan(x[h])) continue;
    for (int a = 0; a < s; ++a)
      for (int b = 0; b < s; ++b)
        out.filled[h] += covariance[h * d + seen[a]] * inverted[a * s + b] * (x[seen[b]] - mean[seen[b]]);
    for (int g = 0; g < d; ++g) {
      if (!std::isnan(x[g])) continue;
      double& left = out.covariance[h * d + g];
      left = covariance[h * d + g];
      for (int a = 0; a < s; ++a)
        for (int b = 0; b < s; ++b)
          left -= covariance[h * d + seen[a]] * inverted[a * s + b] * covariance[seen[b] * d + g];
    }
  }
  return out;
}

// A row under all memories.
struct Mixed {
  std::vector<Conditional> under;  // [m]
  std::vector<double> memberships;
  double likelihood = 0.0;
};

Mixed mixed(const float* x, const Model& model) {
  const GaussianMemories& g = model.memories;
  Mixed out;
  double total = 0.0;
  for (int m = 0; m < g.m; ++m) {
    out.under.push_back(direct(x, g.means.data() + static_cast<std::ptrdiff_t>(m) * g.d, model.covariances[m], g.d));
    out.memberships.push_back(g.parts[m] * std::exp(out.under[m].log_density));
    total += out.memberships[m];
  }
  for (double& one : out.memberships) one /= total;
  out.likelihood = std::log(total);
  return out;
}

tests::Rows rows_with_gaps(int n, int d, std::uint64_t seed) {
  tests::Rows rows{n, d, std::vector<float>(static_cast<std::size_t>(n) * d)};
  tests::Source source(seed);
  source.fill(rows.values.data(), rows.values.size());
  for (float& value : rows.values)
    if (source.uniform(0.0, 1.0) < 0.35) value = std::nanf("");
  for (int j = 0; j < d; ++j) {
    rows.values[j] = 0.1f * static_cast<float>(j);  // the first row has everything,
    rows.values[d + j] = std::nanf("");             // the second nothing
  }
  return rows;
}

Completions completed(const tests::Rows& rows, const GaussianMemories& memories, int threads,
                      const std::vector<std::int64_t>& which = {}) {
  Completions out;
  amclust::Dataset data = rows.dataset();
  data.has_missing = true;
  amclust::Monitor monitor;
  amclust::supervise(monitor, [&](Control& control) {
    Team team(threads);
    const auto n = which.empty() ? data.rows : static_cast<std::int64_t>(which.size());
    out = amclust::complete(data, which.empty() ? nullptr : which.data(), n, memories, true, team, control);
  });
  return out;
}

GaussianSums summed(const tests::Rows& rows, const GaussianMemories& memories, int threads,
                    const std::vector<float>& weights = {}, const std::vector<std::int64_t>& which = {}) {
  GaussianSums out;
  amclust::Dataset data = rows.dataset();
  data.has_missing = true;
  amclust::Monitor monitor;
  amclust::supervise(monitor, [&](Control& control) {
    Team team(threads);
    const auto n = which.empty() ? data.rows : static_cast<std::int64_t>(which.size());
    out = amclust::gaussian_sums(
        data, {which.empty() ? nullptr : which.data(), weights.empty() ? nullptr : weights.data(), n}, memories, team,
        control);
  });
  return out;
}

std::vector<Model> models(int d) {
  tests::Source source(static_cast<std::uint64_t>(d));
  return {with_precisions(source, 1, d, false), with_precisions(source, 3, d, false),
          with_precisions(source, 3, d, true),  with_factors(source, 1, d, 1),
          with_factors(source, 4, d, d > 2 ? 3 : 1)};
}

void describe(const Model& model) {
  check::describe("d ", model.memories.d, " m ", model.memories.m, " covariances ", model.memories.n_covariances,
                  " rank ", model.memories.rank);
}

void completions_are_regressions() {
  for (const int d : {1, 2, 5, 9}) {
    const tests::Rows rows = rows_with_gaps(40, d, 7);
    for (const Model& model : models(d)) {
      describe(model);
      const Completions found = completed(rows, model.memories, 1);
      CHECK_EQUAL(found.starts.size(), std::size_t(rows.n + 1));
      std::int64_t at = 0;
      for (int i = 0; i < rows.n; ++i) {
        CHECK_EQUAL(found.starts[i], at);
        const float* x = rows.values.data() + static_cast<std::ptrdiff_t>(i) * d;
        const Mixed expected = mixed(x, model);
        for (int j = 0; j < d; ++j) {
          if (!std::isnan(x[j])) continue;
          double mean = 0.0, variance = 0.0;
          for (int m = 0; m < model.memories.m; ++m) mean += expected.memberships[m] * expected.under[m].filled[j];
          for (int m = 0; m < model.memories.m; ++m) {
            const double apart = expected.under[m].filled[j] - mean;
            variance += expected.memberships[m] * (expected.under[m].covariance[j * d + j] + apart * apart);
          }
          CHECK_NEAR(found.means[at], mean, 1e-6);
          CHECK_NEAR(found.variances[at], variance, 1e-6 * (1.0 + variance));
          ++at;
        }
      }
      CHECK_EQUAL(found.starts[rows.n], at);
      CHECK_EQUAL(found.means.size(), static_cast<std::size_t>(at));
      CHECK_EQUAL(found.variances.size(), static_cast<std::size_t>(at));
    }
  }
}

void likelihood_is_that_of_the_observed_part() {
  for (const int d : {1, 3, 6}) {
    const tests::Rows rows = rows_with_gaps(25, d, 3);
    for (const Model& model : models(d)) {
      describe(model);
      for (std::int64_t i = 0; i < rows.n; ++i) {
        const Mixed expected = mixed(rows.values.data() + i * d, model);
        const GaussianSums alone = summed(rows, model.memories, 1, {}, {i});
        CHECK_NEAR(alone.likelihood, expected.likelihood, 1e-6 * (1.0 + std::abs(expected.likelihood)));
        for (int m = 0; m < model.memories.m; ++m) CHECK_NEAR(alone.sizes[m], expected.memberships[m], 1e-6);
      }
      // Nothing is seen of the second row: it is as likely as can be, and says nothing.
      const GaussianSums nothing = summed(rows, model.memories, 1, {}, {1});
      CHECK_NEAR(nothing.likelihood, 0.0, 1e-9);
      for (int m = 0; m < model.memories.m; ++m) CHECK_NEAR(nothing.sizes[m], model.memories.parts[m], 1e-9);
    }
  }
}

void sums_are_expectations() {
  const int d = 5;
  const tests::Rows rows = rows_with_gaps(30, d, 11);
  std::vector<float> weights;
  for (int i = 0; i < rows.n; ++i) weights.push_back(0.5f * static_cast<float>(i % 4));
  for (const Model& model : models(d)) {
    describe(model);
    const GaussianMemories& g = model.memories;
    const int r = g.rank;
    GaussianSums expected;
    expected.sizes.assign(g.m, 0.0);
    expected.sums.assign(g.means.size(), 0.0);
    expected.squares.assign(r ? 0 : g.precisions.size(), 0.0);
    expected.factor_squares.assign(static_cast<std::size_t>(d) * r * r, 0.0);
    expected.factor_values.assign(static_cast<std::size_t>(d) * r, 0.0);
    expected.value_squares.assign(r ? d : 0, 0.0);
    expected.column_weights.assign(r ? d : 0, 0.0);
    for (int i = 0; i < rows.n; ++i) {
      const float* x = rows.values.data() + static_cast<std::ptrdiff_t>(i) * d;
      const Mixed row = mixed(x, model);
      expected.weight += weights[i];
      expected.likelihood += weights[i] * row.likelihood;
      for (int m = 0; m < g.m; ++m) {
        const double part = weights[i] * row.memberships[m];
        const Conditional& under = row.under[m];
        expected.sizes[m] += part;
        for (int a = 0; a < d; ++a) {
          expected.sums[m * d + a] += part * under.filled[a];
          if (r) continue;
          double* squares = expected.squares.data() + (g.n_covariances > 1 ? m * d * d : 0);
          for (int b = 0; b < d; ++b)
            squares[a * d + b] += part * (under.filled[a] * under.filled[b] + under.covariance[a * d + b]);
        }
        if (!r) continue;
        // Factors z = W_o' S_oo^-1 (x - rho)_o, with the covariance 1 - W_o' S_oo^-1 W_o.
        std::vector<int> seen;
        for (int j = 0; j < d; ++j)
          if (!std::isnan(x[j])) seen.push_back(j);
        const int s = static_cast<int>(seen.size());
        std::vector<double> z(r, 0.0);
        Matrix second(static_cast<std::size_t>(r) * r, 0.0);
        for (int p = 0; p < r; ++p) {
          for (int a = 0; a < s; ++a)
            for (int b = 0; b < s; ++b) {
              const double across = g.loadings[seen[a] * r + p] * under.inverse_observed[a * s + b];
              z[p] += across * (x[seen[b]] - g.means[m * d + seen[b]]);
              for (int q = 0; q < r; ++q) second[p * r + q] -= across * g.loadings[seen[b] * r + q];
            }
          second[p * r + p] += 1.0;
        }
        for (int p = 0; p < r; ++p)
          for (int q = 0; q < r; ++q) second[p * r + q] += z[p] * z[q];
        for (const int j : seen) {
          const double apart = x[j] - g.means[m * d + j];
          expected.column_weights[j] += part;
          expected.value_squares[j] += part * apart * apart;
          for (int p = 0; p < r; ++p) {
            expected.factor_values[j * r + p] += part * apart * z[p];
            for (int q = 0; q < r; ++q) expected.factor_squares[(j * r + p) * r + q] += part * second[p * r + q];
          }
        }
      }
    }
    const GaussianSums found = summed(rows, g, 1, weights);
    const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
      CHECK_EQUAL(a.size(), b.size());
      for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) CHECK_NEAR(a[i], b[i], 1e-6 * (1.0 + std::abs(b[i])));
    };
    CHECK_NEAR(found.weight, expected.weight, 1e-9);
    CHECK_NEAR(found.likelihood, expected.likelihood, 1e-6 * (1.0 + std::abs(expected.likelihood)));
    near(found.sizes, expected.sizes);
    near(found.sums, expected.sums);
    near(found.squares, expected.squares);
    near(found.factor_squares, expected.factor_squares);
    near(found.factor_values, expected.factor_values);
    near(found.value_squares, expected.value_squares);
    near(found.column_weights, expected.column_weights);
  }
}

bool same(const GaussianSums& a, const GaussianSums& b) {
  return a.weight == b.weight && a.likelihood == b.likelihood && a.sizes == b.sizes && a.sums == b.sums &&
         a.squares == b.squares && a.factor_squares == b.factor_squares && a.factor_values == b.factor_values &&
         a.value_squares == b.value_squares && a.column_weights == b.column_weights;
}

void threads_and_neighbours_change_no_bit() {
  for (const int n : {2, 3, 17, 501}) {
    const tests::Rows rows = rows_with_gaps(n, 6, 5);
    for (const Model& model : models(6)) {
      describe(model);
      CHECK(same(summed(rows, model.memories, 1), summed(rows, model.memories, 4)));
      const Completions one = completed(rows, model.memories, 1), four = completed(rows, model.memories, 4);
      CHECK(one.starts == four.starts && one.means == four.means && one.variances == four.variances);
      for (std::int64_t i = 0; i < n; i += 1 + n / 7) {
        const Completions alone = completed(rows, model.memories, 1, {i});
        const std::int64_t first = one.starts[i];
        CHECK_EQUAL(alone.starts[1], one.starts[i + 1] - first);
        CHECK(std::equal(alone.means.begin(), alone.means.end(), one.means.begin() + first));
        CHECK(std::equal(alone.variances.begin(), alone.variances.end(), one.variances.begin() + first));
      }
    }
  }
}

void rows_with_everything_or_nothing() {
  const int d = 4;
  for (const Model& model : models(d)) {
    describe(model);
    const GaussianMemories& g = model.memories;
    tests::Rows rows{3, d, std::vector<float>(3 * d, 0.5f)};
    const Completions complete = completed(rows, g, 2);
    CHECK(complete.means.empty() && complete.variances.empty());
    CHECK(complete.starts == std::vector<std::int64_t>(4, 0));
    rows.values.assign(rows.values.size(), std::nanf(""));
    const Completions empty = completed(rows, g, 2);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < d; ++j) {  // what is known before anything is seen
        double mean = 0.0, variance = 0.0;
        for (int m = 0; m < g.m; ++m) mean += g.parts[m] * g.means[m * d + j];
        for (int m = 0; m < g.m; ++m) {
          const double apart = g.means[m * d + j] - mean;
          variance += g.parts[m] * (model.covariances[m][j * d + j] + apart * apart);
        }
        CHECK_NEAR(empty.means[i * d + j], mean, 1e-9);
        CHECK_NEAR(empty.variances[i * d + j], variance, 1e-8);
      }
    const Completions none = completed(tests::Rows{0, d, {}}, g, 2);
    CHECK(none.starts == std::vector<std::int64_t>(1, 0) && none.means.empty());
    CHECK_EQUAL(summed(tests::Rows{0, d, {}}, g, 2).weight, 0.0);
  }
}

void a_memory_without_a_part_has_no_rows() {
  tests::Source source(2);
  Model model = with_precisions(source, 2, 3, true);
  model.memories.parts = {1.0, 0.0};
  const tests::Rows rows = rows_with_gaps(20, 3, 1);
  const GaussianSums found = summed(rows, model.memories, 1);
  CHECK_NEAR(found.sizes[0], 20.0, 1e-9);
  CHECK_EQUAL(found.sizes[1], 0.0);
  CHECK(std::isfinite(found.likelihood));
}

// Far away the density is below what a double holds, its logarithm is not.
void rows_far_away_are_completed() {
  for (const Model& model : models(3)) {
    describe(model);
    const tests::Rows rows{1, 3, {1e6f, std::nanf(""), -1e6f}};
    const GaussianSums found = summed(rows, model.memories, 1);
    CHECK(std::isfinite(found.likelihood));
    CHECK_NEAR(std::accumulate(found.sizes.begin(), found.sizes.end(), 0.0), 1.0, 1e-9);
    const Completions completion = completed(rows, model.memories, 1);
    CHECK(std::isfinite(completion.means[0]) && completion.variances[0] > 0.0);
  }
}

void what_does_not_fit_is_refused() {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  const auto refused = [](GaussianMemories memories, auto change) {
    change(memories);
    CHECK_THROWS(std::invalid_argument, amclust::check(memories));
  };
  tests::Source source(9);
  for (const Model& model : models(3)) {
    describe(model);
    const GaussianMemories& good = model.memories;
    amclust::check(good);
    refused(good, [](GaussianMemories& g) { g.m = 0; });
    refused(good, [](GaussianMemories& g) { g.d = 0; });
    refused(good, [](GaussianMemories& g) { ++g.m; });
    refused(good, [](GaussianMemories& g) { ++g.d; });
    refused(good, [](GaussianMemories& g) { g.n_covariances += 1 + g.m; });
    refused(good, [](GaussianMemories& g) { ++g.rank; });
    refused(good, [](GaussianMemories& g) { g.parts.pop_back(); });
    refused(good, [](GaussianMemories& g) { g.means.push_back(0.0); });
    refused(good, [](GaussianMemories& g) { g.parts[0] = -0.1; });
    refused(good, [](GaussianMemories& g) { g.parts.assign(g.m, 0.0); });
    refused(good, [&](GaussianMemories& g) { g.parts[0] = nan; });
    refused(good, [&](GaussianMemories& g) { g.means.back() = infinite; });
    if (good.rank) {
      refused(good, [](GaussianMemories& g) { g.noise[0] = 0.0; });
      refused(good, [](GaussianMemories& g) { g.noise[1] = -1.0; });
      refused(good, [&](GaussianMemories& g) { g.noise[2] = nan; });
      refused(good, [&](GaussianMemories& g) { g.loadings[0] = nan; });
      refused(good, [](GaussianMemories& g) { g.loadings.pop_back(); });
      refused(good, [](GaussianMemories& g) { g.noise.push_back(1.0); });
      refused(good, [](GaussianMemories& g) { g.precisions.assign(9, 1.0); });
    } else {
      refused(good, [](GaussianMemories& g) { g.precisions.pop_back(); });
      refused(good, [&](GaussianMemories& g) { g.precisions[1] = nan; });
      refused(good, [](GaussianMemories& g) { g.precisions.assign(g.precisions.size(), 0.0); });
      refused(good, [](GaussianMemories& g) { g.precisions.back() = -1.0; });
      refused(good, [](GaussianMemories& g) { g.precisions.assign(g.precisions.size(), 1.0); });  // singular
    }
  }
}

}  // namespace

int main() {
  completions_are_regressions();
  likelihood_is_that_of_the_observed_part();
  sums_are_expectations();
  threads_and_neighbours_change_no_bit();
  rows_with_everything_or_nothing();
  a_memory_without_a_part_has_no_rows();
  rows_far_away_are_completed();
  what_does_not_fit_is_refused();
  return check::finish();
}
