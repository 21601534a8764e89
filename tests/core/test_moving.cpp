// Rows of which some coordinates move: states, losses and gradients of every table against a plain recursion in double
// and its finite differences.
#include "check.hpp"
#include "tables.hpp"

namespace {

using amclust::Buffer;
using amclust::Kernels;
using amclust::MovingTile;
using amclust::Network;
using amclust::padded;
using tests::kEuclidean;
using tests::Source;

struct Setting {
  int k, q, n_steps;
};

// The tile and the network in double; lane l moves moving[l].
struct Problem {
  int k, d, lanes, used, n_steps;
  double beta = 0.4, step_size = 0.3;
  std::vector<double> memories;            // [k][d]
  std::vector<double> bias;                // [k]
  std::vector<std::vector<double>> start;  // [lanes][d]
  std::vector<std::vector<int>> moving;
  std::vector<std::vector<double>> target, weight;  // as `moving`
};

struct Outcome {
  double loss = 0.0;
  std::vector<std::vector<double>> state;
  std::vector<double> row_loss;
};

Outcome recursion(const Problem& p) {
  Outcome out;
  for (int l = 0; l < p.used; ++l) {
    std::vector<double> v = p.start[l], z(p.k), pull(p.d);
    for (int t = 0; t < p.n_steps; ++t) {
      double top = -1e300, total = 0.0;
      for (int m = 0; m < p.k; ++m) {
        const double* r = p.memories.data() + static_cast<std::ptrdiff_t>(m) * p.d;
        z[m] = p.bias[m];
        for (int j = 0; j < p.d; ++j) z[m] += 2.0 * p.beta * v[j] * r[j];
        top = std::max(top, z[m]);
      }
      for (double& value : z) total += value = std::exp(value - top);
      for (const int j : p.moving[l]) {
        pull[j] = 0.0;
        for (int m = 0; m < p.k; ++m) pull[j] += z[m] / total * p.memories[static_cast<std::size_t>(m) * p.d + j];
      }
      for (const int j : p.moving[l]) v[j] += p.step_size * (pull[j] - v[j]);
    }
    double loss = 0.0;
    for (std::size_t i = 0; i < p.moving[l].size(); ++i)
      loss += p.weight[l][i] * std::pow(v[p.moving[l][i]] - p.target[l][i], 2);
    out.row_loss.push_back(loss);
    out.loss += loss;
    out.state.push_back(v);
  }
  return out;
}

double difference(Problem& p, double& parameter) {
  constexpr double h = 1e-4;
  const double before = parameter;
  parameter = before + h;
  const double high = recursion(p).loss;
  parameter = before - h;
  const double low = recursion(p).loss;
  parameter = before;
  return (high - low) / (2.0 * h);
}

Problem make(Source& source, const Kernels& kernel, const Setting& setting) {
  Problem p{};
  p.k = setting.k;
  p.d = setting.q + 5;
  p.lanes = kernel.lanes;
  p.used = kernel.lanes - 1;  // a tile that is not full
  p.n_steps = setting.n_steps;
  p.beta = 2.0 / p.d;
  p.step_size = 0.3;
  p.memories.resize(static_cast<std::size_t>(p.k) * p.d);
  for (double& value : p.memories) value = source.normal();
  for (int m = 0; m < p.k; ++m) {
    double square = 0.0;
    for (int j = 0; j < p.d; ++j) square += std::pow(p.memories[static_cast<std::size_t>(m) * p.d + j], 2);
    p.bias.push_back(static_cast<float>(0.3 * source.normal() - p.beta * square));
  }
  for (int l = 0; l < p.lanes; ++l) {
    std::vector<double> row(p.d);
    for (double& value : row) value = source.normal();
    p.start.push_back(row);
    std::vector<int> features(p.d), chosen;
    for (int j = 0; j < p.d; ++j) features[j] = j;
    // The first lane moves all q, others fewer; one nothing at all.
    const int count = l == 0 ? setting.q : l == 1 ? 0 : 1 + source.below(setting.q);
    std::vector<double> target, weight;
    for (int i = 0; i < count; ++i) {
      std::swap(features[i], features[i + source.below(p.d - i)]);
      chosen.push_back(features[i]);
      target.push_back(source.normal());
      weight.push_back(source.below(4) == 0 ? 0.0 : static_cast<float>(source.uniform(0.1, 1.0)));  // 0: missing
    }
    p.moving.push_back(chosen);
    p.target.push_back(target);
    p.weight.push_back(weight);
  }
  return p;
}

void check_setting(const Kernels& kernel, const Setting& setting) {
  check::describe(kernel.name, ": k=", setting.k, " q=", setting.q, " steps=", setting.n_steps);
  Source source(static_cast<std::uint64_t>(setting.k * 1000 + setting.q));
  Problem p = make(source, kernel, setting);
  const int kp = padded(p.k, kernel.lanes), q = setting.q, lanes = kernel.lanes;
  Buffer memories(static_cast<std::size_t>(p.d + 1) * kp), bias(kp);
  for (int m = 0; m < kp; ++m) bias[m] = m < p.k ? static_cast<float>(p.bias[m]) : -1e30f;
  for (int m = 0; m < p.k; ++m)
    for (int j = 0; j < p.d; ++j)
      memories[static_cast<std::size_t>(j) * kp + m] =
          static_cast<float>(p.memories[static_cast<std::size_t>(m) * p.d + j]);
  const Network net{memories.data(),
                    bias.data(),
                    nullptr,
                    p.k,
                    kp,
                    p.d,
                    kEuclidean,
                    static_cast<float>(p.beta),
                    static_cast<float>(p.step_size),
                    p.n_steps};
  p.beta = static_cast<float>(p.beta);
  p.step_size = static_cast<float>(p.step_size);

  std::vector<std::int32_t> feature(static_cast<std::size_t>(q) * lanes, p.d), winner(lanes, -1);
  Buffer start(feature.size()), target(feature.size()), weight(feature.size()), state(feature.size());
  Buffer products(static_cast<std::size_t>(lanes) * kp), loss(lanes);
  for (int l = 0; l < p.used; ++l) {
    for (std::size_t i = 0; i < p.moving[l].size(); ++i) {
      const std::size_t o = i * lanes + l;
      feature[o] = p.moving[l][i];
      start[o] = static_cast<float>(p.start[l][p.moving[l][i]]);
      target[o] = static_cast<float>(p.target[l][i]);
      weight[o] = static_cast<float>(p.weight[l][i]);
    }
    for (int m = 0; m < p.k; ++m) {
      double sum = 0.0;
      for (int j = 0; j < p.d; ++j) sum += p.start[l][j] * p.memories[static_cast<std::size_t>(m) * p.d + j];
      products[static_cast<std::size_t>(l) * kp + m] = static_cast<float>(sum);
    }
  }
  Buffer products_before, gradient(memories.size()), bias_gradient(kp);
  products_before.copy_from(products);
  Buffer scratch(kernel.moving_scratch(net, q));
  MovingTile tile{};
  tile.feature = feature.data();
  tile.start = start.data();
  tile.target = target.data();
  tile.loss_weight = weight.data();
  tile.n_moving = q;
  tile.products = products.data();
  tile.state = state.data();
  tile.loss = loss.data();
  tile.winner = winner.data();
  tile.scratch = scratch.data();
  tile.lanes_used = p.used;

  // Forward only, then with the gradient: the same states.
  kernel.moving(net, tile);
  const Outcome expected = recursion(p);
  Buffer forward;
  forward.copy_from(state);
  for (int l = 0; l < p.used; ++l) {
    for (std::size_t i = 0; i < p.moving[l].size(); ++i)
      CHECK_NEAR(state[i * lanes + l], expected.state[l][p.moving[l][i]], 2e-4);
    CHECK_NEAR(loss[l], expected.row_loss[l], 1e-3 * (1.0 + expected.row_loss[l]));
    CHECK(winner[l] >= 0 && winner[l] < p.k);
  }
  products.copy_from(products_before);
  tile.gradient = gradient.data();
  tile.bias_gradient = bias_gradient.data();
  kernel.moving(net, tile);
  for (std::size_t i = 0; i < state.size(); ++i) CHECK_EQUAL(state[i], forward[i]);

  // By a coordinate of a memory: directly, and through the products of the rows' start.
  double largest = 1e-3;
  std::vector<double> found(p.memories.size());
  for (int m = 0; m < p.k; ++m)
    for (int j = 0; j < p.d; ++j) {
      double sum = gradient[static_cast<std::size_t>(j) * kp + m];
      for (int l = 0; l < p.used; ++l) sum += products[static_cast<std::size_t>(l) * kp + m] * p.start[l][j];
      found[static_cast<std::size_t>(m) * p.d + j] = sum;
      largest = std::max(largest, std::abs(sum));
    }
  const bool large = static_cast<double>(p.k) * q * p.n_steps > 20000;  // the plain recursion takes its time
  for (int trial = 0; trial < (large ? 3 : 24); ++trial) {
    const std::size_t at = static_cast<std::size_t>(source.below(static_cast<int>(found.size())));
    CHECK_NEAR(found[at], difference(p, p.memories[at]), 2e-3 * largest);
    const int m = source.below(p.k);
    CHECK_NEAR(bias_gradient[m], difference(p, p.bias[m]), 2e-3 * largest);
  }
  for (int m = 0; m < kp; ++m)
    for (int j = 0; j < p.d && m >= p.k; ++j) CHECK_EQUAL(gradient[static_cast<std::size_t>(j) * kp + m], 0.0f);
}

}  // namespace

int main() {
  for (const Kernels* kernel : tests::tables()) {
    for (const int k : tests::kMemoryCounts)
      // On coordinates where few move in few steps, on k coefficients where many do (use_gram in kernels/moving.cpp).
      for (const auto& [q, n_steps] : {std::pair{1, 1}, {1, 3}, {3, 2}, {7, 1}, {5, 9}, {20, 12}})
        check_setting(*kernel, {k, q, n_steps});
    check_setting(*kernel, {70, 60, 60});
  }
  return check::finish();
}
