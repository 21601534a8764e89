#include "inference/gaussians.hpp"

#include "inference/posteriors.hpp"
#include "kernels/kernels.hpp"
#include "random.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>

namespace amclust {
namespace {

constexpr int kMaxParts = 16;                   // that sums are made of, whatever the threads
constexpr std::int64_t kPartNumbers = 1 << 23;  // numbers that their states hold together, about
// Rows that are read at a time, so that those go together that lack about as many values.
constexpr int kReadRows = 64;
constexpr double kTwoPi = 6.283185307179586;

void add_scaled(double factor, const double* x, int n, double* out) { kernels().add_scaled_double(factor, x, n, out); }

// Some rows as posteriors see them.
struct Block {
  int count = 0;
  std::array<const float*, Posterior::kRows> values{};
  std::array<std::int64_t, Posterior::kRows> at{};  // which of the rows that were asked for
  std::array<int, Posterior::kRows> n_missing{};
};

// Reads rows with NaN where values are missing, in blocks of those that lack about as many.
class Reader {
 public:
  explicit Reader(const Dataset& data)
      : data_(data),
        nothing_(data.features, std::numeric_limits<float>::quiet_NaN()),
        marks_(static_cast<std::size_t>(kReadRows) * data.features),
        rows_(marks_.size()) {}

  // visit(block) for the rows first ... last - 1 of those listed (of all where `which` is null); only for those that
  // lack values if `incomplete`.
  template <class Visit>
  void read(const std::int64_t* which, std::int64_t first, std::int64_t last, bool incomplete, const Control& control,
            Visit&& visit) {
    const int d = data_.features;
    std::array<std::int64_t, kReadRows> numbers;
    std::array<int, kReadRows> lacks, order;
    for (; first < last && !control.stopped(); first += kReadRows) {
      const int n = static_cast<int>(std::min<std::int64_t>(kReadRows, last - first));
      for (int i = 0; i < n; ++i) numbers[i] = which ? which[first + i] : first + i;
      data_.load(numbers.data(), n, nothing_.data(), rows_.data(), d, marks_.data());
      for (int i = 0; i < n; ++i) {
        const std::uint8_t* marks = marks_.data() + static_cast<std::ptrdiff_t>(i) * d;
        lacks[i] = std::accumulate(marks, marks + d, 0);
      }
      std::iota(order.begin(), order.begin() + n, 0);
      std::stable_sort(order.begin(), order.begin() + n, [&](int a, int b) { return lacks[a] < lacks[b]; });
      int next = 0;
      while (incomplete && next < n && !lacks[order[next]]) ++next;
      for (Block block; next < n; next += block.count) {
        block.count = std::min(Posterior::kRows, n - next);
        for (int r = 0; r < block.count; ++r) {
          const int i = order[next + r];
          block.values[r] = rows_.data() + static_cast<std::ptrdiff_t>(i) * d;
          block.at[r] = first + i;
          block.n_missing[r] = lacks[i];
        }
        visit(block);
      }
    }
  }

 private:
  const Dataset& data_;
  std::vector<float> nothing_;
  std::vector<std::uint8_t> marks_;
  std::vector<float> rows_;
};

// out[missing] += factor * what a row's missing values are likely to be
void add_means(const Posterior& posterior, int n_memories, int row, double factor, double* out) {
  const int q = static_cast<int>(posterior.missing(row).size());
  for (int m = 0; m < n_memories; ++m) {
    const double part = factor * posterior.membership(m, row);
    if (!(part > 0.0)) continue;
    const double* hidden = posterior.conditional(m, row);
    for (int a = 0; a < q; ++a) out[a] += part * hidden[a * Posterior::kRows];
  }
}

class SumState {
 public:
  SumState(const Dataset& data, const GaussianMemories& memories)
      : g_(memories), reader_(data), filled_(static_cast<std::size_t>(Posterior::kRows) * memories.d) {
    const std::size_t m = g_.m, d = g_.d, r = g_.rank;
    found.sizes.assign(m, 0.0);
    found.sums.assign(m * d, 0.0);
    if (r) {
      by_factors_ = std::make_unique<FactorPosterior>(memories);
      found.factor_squares.assign(d * r * r, 0.0);
      found.factor_values.assign(d * r, 0.0);
      found.value_squares.assign(d, 0.0);
      found.column_weights.assign(d, 0.0);
      outer_.resize(Posterior::kRows * r * r);
    } else {
      by_precisions_ = std::make_unique<PrecisionPosterior>(memories);
      found.squares.assign(g_.n_covariances * d * d, 0.0);
    }
  }

  GaussianSums found;

  void take(const TrainingRows& rows, std::int64_t first, std::int64_t last, const Control& control) {
    reader_.read(rows.rows, first, last, false, control, [&](const Block& block) {
      Posterior& posterior = g_.rank ? static_cast<Posterior&>(*by_factors_) : *by_precisions_;
      posterior.see(block.values.data(), block.count);
      for (int r = 0; r < block.count; ++r) {
        weights_[r] = rows.weights ? rows.weights[block.at[r]] : 1.0;
        found.weight += weights_[r];
        found.likelihood += weights_[r] * posterior.likelihood(r);
      }
      g_.rank ? add_factors(block.count) : add_squares();
    });
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
  void add_squares() {
    PrecisionPosterior& posterior = *by_precisions_;
    const int d = g_.d;
    for (int c = 0; c < g_.n_covariances; ++c) {
      double* squares = found.squares.data() + static_cast<std::ptrdiff_t>(c) * d * d;
      bool turned = false;
      for (int r = 0; r < posterior.count(); ++r) {
        const double inside = weights_[r] * posterior.share(c, r);
        if (!(inside > 0.0) || posterior.missing(r).empty()) continue;
        if (!turned) posterior.turn_to(c);
        turned = true;
        posterior.add_covariance(r, inside, squares);
      }
      for (int m = g_.n_covariances == 1 ? 0 : c; m < (g_.n_covariances == 1 ? g_.m : c + 1); ++m) {
        std::array<double, Posterior::kRows> parts;
        int count = 0;
        for (int r = 0; r < posterior.count(); ++r) {
          const double part = weights_[r] * posterior.membership(m, r);
          if (!(part > 0.0)) continue;
          parts[count] = part;
          posterior.fill(m, r, filled_.data() + static_cast<std::ptrdiff_t>(count++) * d);
          found.sizes[m] += part;
        }
        kernels().add_rows_double(filled_.data(), d, parts.data(), count, d,
                                  found.sums.data() + static_cast<std::ptrdiff_t>(m) * d);
        kernels().add_outers_double(filled_.data(), d, parts.data(), count, d, squares);
      }
    }
  }

  void add_factors(int count) {
    FactorPosterior& posterior = *by_factors_;
    const int d = g_.d, r = g_.rank, square = r * r;
    for (int row = 0; row < count; ++row) {
      double* outer = outer_.data() + static_cast<std::ptrdiff_t>(row) * square;
      std::copy_n(posterior.invert(row), square, outer);
      for (int m = 0; m < g_.m; ++m) {
        const double membership = posterior.membership(m, row), part = weights_[row] * membership;
        if (!(part > 0.0)) continue;
        posterior.fill(m, row, filled_.data());
        found.sizes[m] += part;
        add_scaled(part, filled_.data(), d, found.sums.data() + static_cast<std::ptrdiff_t>(m) * d);
        const double *z = posterior.factors(m, row), *mean = g_.means.data() + static_cast<std::ptrdiff_t>(m) * d;
        for (int a = 0; a < r; ++a) add_scaled(membership * z[a], z, a + 1, outer + static_cast<std::ptrdiff_t>(a) * r);
        for (const int j : posterior.observed(row)) {
          const double apart = filled_[j] - mean[j];
          add_scaled(part * apart, z, r, found.factor_values.data() + static_cast<std::ptrdiff_t>(j) * r);
          found.value_squares[j] += part * apart * apart;
        }
      }
      for (const int j : posterior.observed(row)) found.column_weights[j] += weights_[row];
    }
    // Of every column by the rows that have it.
    std::array<std::size_t, Posterior::kRows> next{};
    for (int j = 0; j < d; ++j) {
      std::array<double, Posterior::kRows> factors{};
      for (int row = 0; row < count; ++row) {
        const std::vector<int>& observed = posterior.observed(row);
        if (next[row] == observed.size() || observed[next[row]] != j) continue;
        ++next[row];
        factors[row] = weights_[row];
      }
      double* squares = found.factor_squares.data() + static_cast<std::ptrdiff_t>(j) * square;
      for (int a = 0; a < r; ++a)
        kernels().add_rows_double(outer_.data() + static_cast<std::ptrdiff_t>(a) * r, square, factors.data(), count,
                                  a + 1, squares + static_cast<std::ptrdiff_t>(a) * r);
    }
  }

  const GaussianMemories& g_;
  Reader reader_;
  std::unique_ptr<PrecisionPosterior> by_precisions_;
  std::unique_ptr<FactorPosterior> by_factors_;
  std::array<double, Posterior::kRows> weights_{};
  std::vector<double> filled_, outer_;
};

// Squares are summed in the lower triangle.
void mirror(std::vector<double>& squares, int n) {
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(n) * n;
  for (std::ptrdiff_t at = 0; at < static_cast<std::ptrdiff_t>(squares.size()); at += size)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j)
        squares[at + static_cast<std::ptrdiff_t>(j) * n + i] = squares[at + static_cast<std::ptrdiff_t>(i) * n + j];
}

// The parts that some rows are cut into, and their edges; nothing that is said of a row depends on them.
struct Parts {
  Parts(std::int64_t rows, const Team& team)
      : size(rows), count(static_cast<int>(std::clamp<std::int64_t>(rows, 1, 4 * team.size()))) {}
  std::int64_t begin(int part) const { return size * part / count; }

  std::int64_t size;
  int count;
};

// Where the values of a row go, of which so many are missing.
float* place(const Gaps& gaps, std::int64_t row, int n_missing) {
  if (gaps.starts[row + 1] - gaps.starts[row] != n_missing)
    throw std::invalid_argument("there must be a place for each missing value");
  return gaps.values + gaps.starts[row];
}

void put(const Gaps& gaps, const std::vector<int>& missing, const double* found, float* out) {
  for (std::size_t a = 0; a < missing.size(); ++a)
    out[a] = static_cast<float>(std::clamp(found[a], gaps.low[missing[a]], gaps.high[missing[a]]));
}

// Two numbers at a time, of a normal distribution.
void draw_normals(Random& random, int n, double* out) {
  for (int i = 0; i < n; i += 2) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform())), angle = kTwoPi * random.uniform();
    out[i] = radius * std::cos(angle);
    if (i + 1 < n) out[i + 1] = radius * std::sin(angle);
  }
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
  make_posterior(g);
}

GaussianSums gaussian_sums(const Dataset& data, const TrainingRows& rows, const GaussianMemories& memories, Team& team,
                           const Control& control) {
  const auto make = [&] { return SumState(data, memories); };
  const std::int64_t d = memories.d, r = memories.rank;
  const std::int64_t numbers = memories.m * d + (r ? d * r * r : memories.n_covariances * d * d);
  const std::int64_t most = std::clamp<std::int64_t>(kPartNumbers / numbers, 2, kMaxParts);
  const int parts = static_cast<int>(std::clamp<std::int64_t>(rows.size / kReadRows, 1, most));
  SumState all = parallel_reduce(team, parts, make, [&](SumState& state, int part, int) {
    state.take(rows, rows.size * part / parts, rows.size * (part + 1) / parts, control);
  });
  mirror(all.found.squares, memories.d);
  mirror(all.found.factor_squares, memories.rank);
  return std::move(all.found);
}

Completions complete(const Dataset& data, const std::int64_t* which, std::int64_t n, const GaussianMemories& memories,
                     bool with_variances, Team& team, const Control& control) {
  const Parts parts(n, team);
  Completions out;
  out.starts.assign(static_cast<std::size_t>(n) + 1, 0);
  team.run(parts.count, [&](int part, int) {
    Reader(data).read(which, parts.begin(part), parts.begin(part + 1), true, control, [&](const Block& block) {
      for (int r = 0; r < block.count; ++r) out.starts[block.at[r] + 1] = block.n_missing[r];
    });
  });
  for (std::int64_t i = 0; i < n; ++i) out.starts[i + 1] += out.starts[i];
  out.means.resize(static_cast<std::size_t>(out.starts[n]));
  if (with_variances) out.variances.resize(out.means.size());
  team.run(parts.count, [&](int part, int) {
    const std::unique_ptr<Posterior> posterior = make_posterior(memories);
    Reader(data).read(which, parts.begin(part), parts.begin(part + 1), true, control, [&](const Block& block) {
      posterior->see(block.values.data(), block.count);
      for (int r = 0; r < block.count; ++r)
        add_means(*posterior, memories.m, r, 1.0, out.means.data() + out.starts[block.at[r]]);
      if (!with_variances) return;
      for (int m = 0; m < memories.m; ++m)
        for (int r = 0; r < block.count; ++r) {
          const double part_of = posterior->membership(m, r);
          if (!(part_of > 0.0)) continue;
          const double *hidden = posterior->conditional(m, r), *means = out.means.data() + out.starts[block.at[r]];
          double* variances = out.variances.data() + out.starts[block.at[r]];
          for (int a = 0; a < block.n_missing[r]; ++a) {
            const double apart = hidden[a * Posterior::kRows] - means[a];
            variances[a] += part_of * apart * apart;
          }
        }
      for (int c = 0; c < memories.n_covariances; ++c) {
        bool turned = false;
        for (int r = 0; r < block.count; ++r) {
          const double share = posterior->share(c, r);
          if (!(share > 0.0)) continue;
          if (!turned) posterior->turn_to(c);
          turned = true;
          posterior->add_variances(r, share, out.variances.data() + out.starts[block.at[r]]);
        }
      }
    });
  });
  return out;
}

void fill(const Dataset& data, const std::int64_t* which, std::int64_t n,
          const std::vector<const GaussianMemories*>& mixtures, const Gaps& gaps, Team& team, const Control& control) {
  const Parts parts(n, team);
  const double share = 1.0 / static_cast<double>(mixtures.size());
  team.run(parts.count, [&](int part, int) {
    std::vector<std::unique_ptr<Posterior>> posteriors;
    for (const GaussianMemories* memories : mixtures) posteriors.push_back(make_posterior(*memories));
    std::vector<double> means(static_cast<std::size_t>(Posterior::kRows) * data.features);
    Reader(data).read(which, parts.begin(part), parts.begin(part + 1), true, control, [&](const Block& block) {
      std::fill(means.begin(), means.end(), 0.0);
      for (std::size_t i = 0; i < mixtures.size(); ++i) {
        posteriors[i]->see(block.values.data(), block.count);
        for (int r = 0; r < block.count; ++r)
          add_means(*posteriors[i], mixtures[i]->m, r, share,
                    means.data() + static_cast<std::ptrdiff_t>(r) * data.features);
      }
      for (int r = 0; r < block.count; ++r) {
        const std::int64_t row = which ? which[block.at[r]] : block.at[r];
        put(gaps, posteriors[0]->missing(r), means.data() + static_cast<std::ptrdiff_t>(r) * data.features,
            place(gaps, row, block.n_missing[r]));
      }
    });
  });
}

void draw(const Dataset& data, const std::int64_t* which, std::int64_t n, const GaussianMemories& memories,
          std::uint64_t seed, const Gaps& gaps, Team& team, const Control& control) {
  const Parts parts(n, team);
  team.run(parts.count, [&](int part, int) {
    const std::unique_ptr<Posterior> posterior = make_posterior(memories);
    std::vector<double> normals(data.features + 1), factors(memories.rank + 1);
    Reader(data).read(which, parts.begin(part), parts.begin(part + 1), true, control, [&](const Block& block) {
      posterior->see(block.values.data(), block.count);
      for (int r = 0; r < block.count; ++r) {
        const std::uint64_t at = static_cast<std::uint64_t>(block.at[r]);
        Random random(seed, Purpose::draw, static_cast<std::uint32_t>(at >> 32), static_cast<std::uint32_t>(at));
        int chosen = 0;
        double left = random.uniform();
        for (int m = 0; m < memories.m; ++m) {
          const double membership = posterior->membership(m, r);
          if (membership > 0.0) chosen = m;  // the last that has some, if rounding leaves a rest
          if ((left -= membership) < 0.0) break;
        }
        draw_normals(random, block.n_missing[r], normals.data());
        draw_normals(random, memories.rank, factors.data());
        posterior->draw(chosen, r, normals.data(), factors.data());
        const std::int64_t row = which ? which[block.at[r]] : block.at[r];
        put(gaps, posterior->missing(r), normals.data(), place(gaps, row, block.n_missing[r]));
      }
    });
  });
}

}  // namespace amclust
