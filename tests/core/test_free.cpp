// Rows whose coordinates all move: the coefficients of every table against a recursion on the coordinates, and their
// adjoint against finite differences of a recursion on coefficients, both plain and in double.
#include "check.hpp"
#include "tables.hpp"

namespace {

using amclust::Buffer;
using amclust::EnergyKind;
using amclust::FreeAdjoint;
using amclust::FreeTile;
using amclust::Kernels;
using amclust::Network;
using amclust::padded;
using tests::kCosine;
using tests::kEuclidean;
using tests::Source;

struct Problem {
  int k, d, lanes, n_steps;
  EnergyKind metric;
  double beta, step_size;
  std::vector<double> memories, bias;     // [k][d], [k]
  std::vector<std::vector<double>> rows;  // [lanes][d]
  double factor() const { return metric == kEuclidean ? 2.0 * beta : beta; }
};

double dot(const double* a, const double* b, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void softmax(std::vector<double>& z) {
  double top = z[0], total = 0.0;
  for (const double value : z) top = std::max(top, value);
  for (double& value : z) total += value = std::exp(value - top);
  for (double& value : z) value /= total;
}

Problem make(Source& source, const Kernels& kernel, EnergyKind metric, int k, int d, int n_steps) {
  Problem p{k, d, kernel.lanes, n_steps, metric, 0.0, 0.3f, {}, {}, {}};
  const bool cosine = metric == kCosine;
  p.beta = static_cast<float>(cosine ? 2.0 : 1.5 / d);
  const auto row = [&] {
    std::vector<double> out(d);
    for (double& value : out) value = source.normal();
    const double length = std::sqrt(dot(out.data(), out.data(), d));
    for (double& value : out) value = static_cast<float>(cosine ? value / length : value);
    return out;
  };
  for (int m = 0; m < k; ++m) {
    const std::vector<double> memory = row();
    p.memories.insert(p.memories.end(), memory.begin(), memory.end());
    p.bias.push_back(
        static_cast<float>(0.4 * source.normal() - (cosine ? 0.0 : p.beta * dot(memory.data(), memory.data(), d))));
  }
  for (int l = 0; l < p.lanes; ++l) p.rows.push_back(row());
  return p;
}

// All states of one row, the start first.
std::vector<std::vector<double>> states(const Problem& p, std::vector<double> v) {
  std::vector<std::vector<double>> out{v};
  for (int t = 0; t < p.n_steps; ++t) {
    std::vector<double> z(p.k);
    for (int m = 0; m < p.k; ++m)
      z[m] = p.bias[m] + p.factor() * dot(v.data(), p.memories.data() + static_cast<std::ptrdiff_t>(m) * p.d, p.d);
    softmax(z);
    std::vector<double> pull(p.d, 0.0);
    for (int m = 0; m < p.k; ++m)
      for (int j = 0; j < p.d; ++j) pull[j] += z[m] * p.memories[static_cast<std::size_t>(m) * p.d + j];
    for (int j = 0; j < p.d; ++j) v[j] += p.step_size * (p.metric == kEuclidean ? pull[j] - v[j] : pull[j]);
    if (p.metric == kCosine) {
      const double length = std::sqrt(dot(v.data(), v.data(), p.d));
      for (double& value : v) value /= length;
    }
    out.push_back(v);
  }
  return out;
}

// One row in coefficients: state = scale * row + coef R, given what it needs of row and memories.
struct Coefficients {
  std::vector<double> products, gram, bias;  // [k], [k][k], [k]
  double norm;

  // sum of coef * coef_adjoint + scale * scale_adjoint
  double value(const Problem& p, const std::vector<double>& coef_adjoint, double scale_adjoint) const {
    const int k = p.k;
    std::vector<double> a(k, 0.0), ga(k, 0.0), z(k);
    double c = 1.0;
    for (int t = 0; t < p.n_steps; ++t) {
      for (int m = 0; m < k; ++m) z[m] = bias[m] + p.factor() * (c * products[m] + ga[m]);
      softmax(z);
      const bool euclidean = p.metric == kEuclidean;
      for (int m = 0; m < k; ++m) a[m] = (euclidean ? 1.0 - p.step_size : 1.0) * a[m] + p.step_size * z[m];
      if (euclidean) c *= 1.0 - p.step_size;
      for (int m = 0; m < k; ++m) ga[m] = dot(gram.data() + static_cast<std::ptrdiff_t>(m) * k, a.data(), k);
      if (euclidean) continue;
      double square = c * c * norm;
      for (int m = 0; m < k; ++m) square += a[m] * (2.0 * c * products[m] + ga[m]);
      const double inverse = 1.0 / std::sqrt(square);
      c *= inverse;
      for (double& x : a) x *= inverse;
      for (double& x : ga) x *= inverse;
    }
    return dot(a.data(), coef_adjoint.data(), k) + c * scale_adjoint;
  }
};

void check_setting(const Kernels& kernel, EnergyKind metric, int k, int n_steps) {
  check::describe(kernel.name, metric == kCosine ? ": cosine" : ": euclidean", " k=", k, " steps=", n_steps);
  Source source(static_cast<std::uint64_t>(k * 100 + n_steps));
  const int d = 9, lanes = kernel.lanes, kp = padded(k, lanes), used = lanes - 1;
  const Problem p = make(source, kernel, metric, k, d, n_steps);
  Buffer memories(static_cast<std::size_t>(d + 1) * kp), bias(kp), gram(static_cast<std::size_t>(k) * k);
  std::vector<double> exact_gram(gram.size());
  for (int m = 0; m < kp; ++m) bias[m] = m < k ? static_cast<float>(p.bias[m]) : -1e30f;
  for (int m = 0; m < k; ++m) {
    const double* memory = p.memories.data() + static_cast<std::ptrdiff_t>(m) * d;
    for (int j = 0; j < d; ++j) memories[static_cast<std::size_t>(j) * kp + m] = static_cast<float>(memory[j]);
    for (int o = 0; o < k; ++o) {
      const std::size_t at = static_cast<std::size_t>(m) * k + o;
      exact_gram[at] = dot(memory, p.memories.data() + static_cast<std::ptrdiff_t>(o) * d, d);
      gram[at] = static_cast<float>(exact_gram[at]);
    }
  }
  const Network net{memories.data(),
                    bias.data(),
                    gram.data(),
                    k,
                    kp,
                    d,
                    metric,
                    static_cast<float>(p.beta),
                    static_cast<float>(p.step_size),
                    n_steps};
  Buffer products(static_cast<std::size_t>(lanes) * kp), norm(lanes), coef(products.size()), scale(lanes);
  Buffer history(kernel.free_scratch(net)), trajectory_coef((n_steps + 1) * products.size());
  Buffer trajectory_scale(static_cast<std::size_t>(n_steps + 1) * lanes);
  std::vector<std::int32_t> winner(lanes, -1);
  for (int l = 0; l < lanes; ++l) {
    norm[l] = static_cast<float>(dot(p.rows[l].data(), p.rows[l].data(), d));
    for (int m = 0; m < k; ++m)
      products[static_cast<std::size_t>(l) * kp + m] =
          static_cast<float>(dot(p.rows[l].data(), p.memories.data() + static_cast<std::ptrdiff_t>(m) * d, d));
  }
  FreeTile tile{
      products.data(),         norm.data(),  coef.data(), scale.data(), history.data(), trajectory_coef.data(),
      trajectory_scale.data(), winner.data()};
  kernel.free_forward(net, tile);

  for (int l = 0; l < lanes; ++l) {
    const auto expected = states(p, p.rows[l]);
    const auto state = [&](const float* a, float c, int j) {
      double sum = c * p.rows[l][j];
      for (int m = 0; m < k; ++m) sum += a[m] * p.memories[static_cast<std::size_t>(m) * d + j];
      return sum;
    };
    for (int j = 0; j < d; ++j) {
      CHECK_NEAR(state(coef.data() + static_cast<std::ptrdiff_t>(l) * kp, scale[l], j), expected[n_steps][j], 2e-5);
      for (int t = 0; t <= n_steps; ++t) {
        const std::size_t at = static_cast<std::size_t>(t) * lanes + l;
        CHECK_NEAR(state(trajectory_coef.data() + at * kp, trajectory_scale[at], j), expected[t][j], 2e-5);
      }
    }
    const auto distance = [&](int m) {
      double sum = 0.0;
      for (int j = 0; j < d; ++j)
        sum += std::pow(expected[n_steps][j] - p.memories[static_cast<std::size_t>(m) * d + j], 2);
      return sum;
    };
    double nearest = distance(0);
    for (int m = 1; m < k; ++m) nearest = std::min(nearest, distance(m));
    CHECK(winner[l] >= 0 && winner[l] < k);
    CHECK_NEAR(distance(winner[l]), nearest, 1e-4);
  }

  // The adjoint; the last lane is not used.
  Buffer coef_adjoint(products.size()), scale_adjoint(lanes), products_gradient(products.size());
  Buffer gram_gradient(gram.size()), bias_gradient(kp);
  for (int l = 0; l < lanes; ++l) {
    scale_adjoint[l] = source.normal();
    for (int m = 0; m < k; ++m) coef_adjoint[static_cast<std::size_t>(l) * kp + m] = source.normal();
  }
  const FreeAdjoint adjoint{coef_adjoint.data(),  scale_adjoint.data(), products_gradient.data(),
                            gram_gradient.data(), bias_gradient.data(), used};
  kernel.free_backward(net, tile, adjoint);
  std::vector<Coefficients> lane(used);
  std::vector<std::vector<double>> weights(used);
  for (int l = 0; l < used; ++l) {
    const float* product = products.data() + static_cast<std::ptrdiff_t>(l) * kp;
    const float* weight = coef_adjoint.data() + static_cast<std::ptrdiff_t>(l) * kp;
    lane[l] = {std::vector<double>(product, product + k), exact_gram, p.bias, norm[l]};
    weights[l].assign(weight, weight + k);
  }
  constexpr double h = 1e-5;
  const auto slope = [&](int l, auto&& change) {
    Coefficients high = lane[l], low = lane[l];
    change(high, h);
    change(low, -h);
    return (high.value(p, weights[l], scale_adjoint[l]) - low.value(p, weights[l], scale_adjoint[l])) / (2.0 * h);
  };
  for (int trial = 0; trial < 6; ++trial) {
    const int m = source.below(k), o = source.below(k), l = source.below(used);
    CHECK_NEAR(products_gradient[static_cast<std::size_t>(l) * kp + m],
               slope(l, [m](Coefficients& c, double step) { c.products[m] += step; }), 1e-3);
    double by_gram = 0.0, by_bias = 0.0;
    for (int i = 0; i < used; ++i) {
      by_bias += slope(i, [m](Coefficients& c, double step) { c.bias[m] += step; });
      by_gram += slope(i, [&](Coefficients& c, double step) {
        c.gram[static_cast<std::size_t>(m) * k + o] += step;
        c.gram[static_cast<std::size_t>(o) * k + m] += step;  // on the diagonal twice: S = dG + dG^T
      });
    }
    CHECK_NEAR(bias_gradient[m], by_bias, 1e-3 * (1.0 + std::abs(by_bias)));
    CHECK_NEAR(gram_gradient[static_cast<std::size_t>(m) * k + o], by_gram, 1e-3 * (1.0 + std::abs(by_gram)));
  }
}

}  // namespace

int main() {
  for (const Kernels* kernel : tests::tables())
    for (const EnergyKind metric : tests::energies())
      for (const int k : tests::kMemoryCounts)
        for (const int n_steps : {1, 2, 6}) check_setting(*kernel, metric, k, n_steps);
  return check::finish();
}
