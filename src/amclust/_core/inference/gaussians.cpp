#include "inference/gaussians.hpp"

#include "buffer.hpp"
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
  explicit Block(int d) : rows(d) {}

  RowsTogether rows;
  std::array<std::int64_t, RowsTogether::kRows> at{};  // which of the rows that were asked for
};

// Reads rows with NaN where values are missing, in blocks of those that lack about as many.
class Reader {
 public:
  explicit Reader(const Dataset& data)
      : data_(data),
        nothing_(data.features, std::numeric_limits<float>::quiet_NaN()),
        marks_(static_cast<std::size_t>(kReadRows) * data.features),
        rows_(marks_.size()),
        block_(data.features) {}

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
      for (; next < n; next += block_.rows.count) {
        const int count = std::min(RowsTogether::kRows, n - next);
        std::array<const float*, RowsTogether::kRows> values{};
        for (int r = 0; r < count; ++r) {
          values[r] = rows_.data() + static_cast<std::ptrdiff_t>(order[next + r]) * d;
          block_.at[r] = first + order[next + r];
        }
        block_.rows.set(values.data(), count, d);
        visit(block_);
      }
    }
  }

 private:
  const Dataset& data_;
  std::vector<float> nothing_;
  std::vector<std::uint8_t> marks_;
  std::vector<float> rows_;
  Block block_;
};

// out[missing] += factor * what a row's missing values are likely to be
void add_means(const Posterior& posterior, int n_memories, int row, double factor, double* out) {
  const int q = static_cast<int>(posterior.rows().missing[row].size());
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
      : g_(memories),
        reader_(data),
        ld_(padded(memories.d, kLaneRows)),
        filled_(static_cast<std::size_t>(Posterior::kRows) * ld_) {
    const std::size_t m = g_.m, d = g_.d, r = g_.rank;
    found_.sizes.assign(m, 0.0);
    found_.sums.assign(m * d, 0.0);
    if (r) {
      by_factors_ = std::make_unique<FactorPosterior>(memories);
      triangle_ = static_cast<int>(r * (r + 1) / 2);
      squares_.assign(d * triangle_, 0.0);
      found_.factor_values.assign(d * r, 0.0);
      found_.value_squares.assign(d, 0.0);
      found_.column_weights.assign(d, 0.0);
      outer_.resize(static_cast<std::size_t>(Posterior::kRows) * triangle_);
    } else {
      by_precisions_ = std::make_unique<PrecisionPosterior>(memories);
      squares_.assign(g_.n_covariances * d * ld_, 0.0);
    }
  }

  // Once all is added.
  GaussianSums finish() {
    const int d = g_.d, r = g_.rank;
    if (r) {
      found_.factor_squares.resize(static_cast<std::size_t>(d) * r * r);
      const double* from = squares_.data();
      for (int j = 0; j < d; ++j)
        for (int a = 0; a < r; ++a)
          for (int b = 0; b <= a; ++b)
            mirror(*from++, a, b, r, found_.factor_squares.data() + static_cast<std::ptrdiff_t>(j) * r * r);
    } else {
      found_.squares.resize(static_cast<std::size_t>(g_.n_covariances) * d * d);
      for (int c = 0; c < g_.n_covariances; ++c)
        for (int i = 0; i < d; ++i)
          for (int j = 0; j <= i; ++j)
            mirror(squares_[static_cast<std::size_t>(c * d + i) * ld_ + j], i, j, d,
                   found_.squares.data() + static_cast<std::ptrdiff_t>(c) * d * d);
    }
    return std::move(found_);
  }

  void take(const TrainingRows& rows, std::int64_t first, std::int64_t last, const Control& control) {
    reader_.read(rows.rows, first, last, false, control, [&](const Block& block) {
      Posterior& posterior = g_.rank ? static_cast<Posterior&>(*by_factors_) : *by_precisions_;
      posterior.see(block.rows);
      for (int r = 0; r < block.rows.count; ++r) {
        weights_[r] = rows.weights ? rows.weights[block.at[r]] : 1.0;
        found_.weight += weights_[r];
        found_.likelihood += weights_[r] * posterior.likelihood(r);
      }
      g_.rank ? add_factors(block.rows.count) : add_squares();
    });
  }

  void add(const SumState& other, Slice) {
    found_.weight += other.found_.weight;
    found_.likelihood += other.found_.likelihood;
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(found_.sizes, other.found_.sizes);
    add(found_.sums, other.found_.sums);
    add(squares_, other.squares_);
    add(found_.factor_values, other.found_.factor_values);
    add(found_.value_squares, other.found_.value_squares);
    add(found_.column_weights, other.found_.column_weights);
  }

 private:
  // Line a of a triangle without gaps.
  static double* line(double* triangle, int a) { return triangle + a * (a + 1) / 2; }
  static void mirror(double value, int i, int j, int n, double* out) {
    out[static_cast<std::ptrdiff_t>(i) * n + j] = out[static_cast<std::ptrdiff_t>(j) * n + i] = value;
  }

  void add_squares() {
    PrecisionPosterior& posterior = *by_precisions_;
    const int d = g_.d;
    for (int c = 0; c < g_.n_covariances; ++c) {
      double* squares = squares_.data() + static_cast<std::ptrdiff_t>(c) * d * ld_;
      std::array<double, Posterior::kRows> inside{};
      bool asked = false;
      for (int r = 0; r < posterior.rows().count; ++r) {
        inside[r] = weights_[r] * posterior.share(c, r);
        asked = asked || (inside[r] > 0.0 && !posterior.rows().missing[r].empty());
      }
      if (asked) posterior.add_covariances(c, inside.data(), squares, ld_);
      for (int m = g_.n_covariances == 1 ? 0 : c; m < (g_.n_covariances == 1 ? g_.m : c + 1); ++m) {
        std::array<double, Posterior::kRows> parts;
        int count = 0;
        for (int r = 0; r < posterior.rows().count; ++r) {
          const double part = weights_[r] * posterior.membership(m, r);
          if (!(part > 0.0)) continue;
          parts[count] = part;
          posterior.fill(m, r, filled_.data() + static_cast<std::ptrdiff_t>(count++) * ld_);
          found_.sizes[m] += part;
        }
        kernels().add_rows_double(filled_.data(), ld_, parts.data(), count, d,
                                  found_.sums.data() + static_cast<std::ptrdiff_t>(m) * d);
        kernels().add_outers_double(filled_.data(), ld_, parts.data(), count, d, squares);
      }
    }
  }

  void add_factors(int count) {
    FactorPosterior& posterior = *by_factors_;
    const int d = g_.d, r = g_.rank;
    for (int row = 0; row < count; ++row) {
      double* outer = outer_.data() + static_cast<std::ptrdiff_t>(row) * triangle_;
      const double* inverse = posterior.invert(row);
      for (int a = 0; a < r; ++a) std::copy_n(inverse + static_cast<std::ptrdiff_t>(a) * r, a + 1, line(outer, a));
      for (int m = 0; m < g_.m; ++m) {
        const double membership = posterior.membership(m, row), part = weights_[row] * membership;
        if (!(part > 0.0)) continue;
        posterior.fill(m, row, filled_.data());
        found_.sizes[m] += part;
        add_scaled(part, filled_.data(), d, found_.sums.data() + static_cast<std::ptrdiff_t>(m) * d);
        const double *z = posterior.factors(m, row), *mean = g_.means.data() + static_cast<std::ptrdiff_t>(m) * d;
        for (int a = 0; a < r; ++a) add_scaled(membership * z[a], z, a + 1, line(outer, a));
        for (const int j : posterior.observed(row)) {
          const double apart = filled_[j] - mean[j];
          add_scaled(part * apart, z, r, found_.factor_values.data() + static_cast<std::ptrdiff_t>(j) * r);
          found_.value_squares[j] += part * apart * apart;
        }
      }
      for (const int j : posterior.observed(row)) found_.column_weights[j] += weights_[row];
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
      kernels().add_rows_double(outer_.data(), triangle_, factors.data(), count, triangle_,
                                squares_.data() + static_cast<std::ptrdiff_t>(j) * triangle_);
    }
  }

  const GaussianMemories& g_;
  Reader reader_;
  std::unique_ptr<PrecisionPosterior> by_precisions_;
  std::unique_ptr<FactorPosterior> by_factors_;
  int ld_ = 0, triangle_ = 0;
  std::array<double, Posterior::kRows> weights_{};
  // Squares in lower triangles, of covariances in lines of ld_ numbers, of factors without gaps.
  std::vector<double> squares_, filled_, outer_;
  GaussianSums found_;
};

// The parts that some rows are cut into, and their edges; nothing that is said of a row depends on them.
struct Parts {
  Parts(std::int64_t rows, const Team& team)
      : size(rows), count(static_cast<int>(std::clamp<std::int64_t>(rows, 1, 4 * team.size()))) {}
  std::int64_t begin(int part) const { return size * part / count; }

  std::int64_t size;
  int count;
};

// Puts the missing values of a row where they go.
void put(const Gaps& gaps, std::int64_t row, const std::vector<int>& missing, const double* found) {
  if (gaps.starts[row + 1] - gaps.starts[row] != static_cast<std::int64_t>(missing.size()))
    throw std::invalid_argument("there must be a place for each missing value");
  float* out = gaps.values + gaps.starts[row];
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
  return all.finish();
}

Completions complete(const Dataset& data, const std::int64_t* which, std::int64_t n, const GaussianMemories& memories,
                     bool with_variances, Team& team, const Control& control) {
  const Parts parts(n, team);
  Completions out;
  out.starts.assign(static_cast<std::size_t>(n) + 1, 0);
  team.run(parts.count, [&](int part, int) {
    Reader(data).read(which, parts.begin(part), parts.begin(part + 1), true, control, [&](const Block& block) {
      for (int r = 0; r < block.rows.count; ++r)
        out.starts[block.at[r] + 1] = static_cast<int>(block.rows.missing[r].size());
    });
  });
  for (std::int64_t i = 0; i < n; ++i) out.starts[i + 1] += out.starts[i];
  out.means.resize(static_cast<std::size_t>(out.starts[n]));
  if (with_variances) out.variances.resize(out.means.size());
  team.run(parts.count, [&](int part, int) {
    const std::unique_ptr<Posterior> posterior = make_posterior(memories);
    Reader(data).read(which, parts.begin(part), parts.begin(part + 1), true, control, [&](const Block& block) {
      posterior->see(block.rows);
      for (int r = 0; r < block.rows.count; ++r)
        add_means(*posterior, memories.m, r, 1.0, out.means.data() + out.starts[block.at[r]]);
      if (!with_variances) return;
      for (int m = 0; m < memories.m; ++m)
        for (int r = 0; r < block.rows.count; ++r) {
          const double part_of = posterior->membership(m, r);
          if (!(part_of > 0.0)) continue;
          const double *hidden = posterior->conditional(m, r), *means = out.means.data() + out.starts[block.at[r]];
          double* variances = out.variances.data() + out.starts[block.at[r]];
          for (int a = 0; a < static_cast<int>(block.rows.missing[r].size()); ++a) {
            const double apart = hidden[a * Posterior::kRows] - means[a];
            variances[a] += part_of * apart * apart;
          }
        }
      for (int c = 0; c < memories.n_covariances; ++c) {
        bool turned = false;
        for (int r = 0; r < block.rows.count; ++r) {
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
        posteriors[i]->see(block.rows);
        for (int r = 0; r < block.rows.count; ++r)
          add_means(*posteriors[i], mixtures[i]->m, r, share,
                    means.data() + static_cast<std::ptrdiff_t>(r) * data.features);
      }
      for (int r = 0; r < block.rows.count; ++r) {
        const std::int64_t row = which ? which[block.at[r]] : block.at[r];
        put(gaps, row, block.rows.missing[r], means.data() + static_cast<std::ptrdiff_t>(r) * data.features);
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
      posterior->see(block.rows);
      for (int r = 0; r < block.rows.count; ++r) {
        const std::uint64_t at = static_cast<std::uint64_t>(block.at[r]);
        Random random(seed, Purpose::draw, static_cast<std::uint32_t>(at >> 32), static_cast<std::uint32_t>(at));
        int chosen = 0;
        double left = random.uniform();
        for (int m = 0; m < memories.m; ++m) {
          const double membership = posterior->membership(m, r);
          if (membership > 0.0) chosen = m;  // the last that has some, if rounding leaves a rest
          if ((left -= membership) < 0.0) break;
        }
        draw_normals(random, static_cast<int>(block.rows.missing[r].size()), normals.data());
        draw_normals(random, memories.rank, factors.data());
        posterior->draw(chosen, r, normals.data(), factors.data());
        const std::int64_t row = which ? which[block.at[r]] : block.at[r];
        put(gaps, row, block.rows.missing[r], normals.data());
      }
    });
  });
}

}  // namespace amclust
