// The soft silhouette of a block: value and gradients of every table against plain double and finite differences.
#include "check.hpp"
#include "tables.hpp"

#include <limits>

namespace {

using amclust::Buffer;
using amclust::Kernels;
using amclust::padded;
using tests::Source;

// What the block takes, in double; the distances stand for products, norms and mean squares.
struct Problem {
  int n, k;
  std::vector<double> memberships, square;  // [n][k]
  std::vector<double> weight, size;         // [n], [k]
  double floor;

  double row(int i) const {
    double sum = 0.0;
    for (int m = 0; m < k; ++m) {
      if (size[m] < floor) continue;
      const double p = memberships[static_cast<std::size_t>(i) * k + m], own = std::min(weight[i], 1.0) * p;
      const double inside = std::sqrt(square[static_cast<std::size_t>(i) * k + m] * size[m] / (size[m] - own));
      double outside = std::numeric_limits<double>::infinity();
      for (int o = 0; o < k; ++o)
        if (o != m && size[o] >= floor)
          outside = std::min(outside, std::sqrt(square[static_cast<std::size_t>(i) * k + o]));
      sum += p * (1.0 - own / size[m]) * (outside - inside) / std::max(outside, inside);
    }
    return sum;
  }
  double value() const {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += weight[i] * row(i);
    return sum;
  }
  double slope(double& parameter) {
    constexpr double h = 1e-6;
    const double before = parameter;
    parameter = before + h;
    const double high = value();
    parameter = before - h;
    const double low = value();
    parameter = before;
    return (high - low) / (2.0 * h);
  }
};

void check_setting(const Kernels& kernel, int n, int k, bool empty_cluster) {
  check::describe(kernel.name, ": n=", n, " k=", k, empty_cluster ? ", one empty" : "");
  Source source(static_cast<std::uint64_t>(n * 100 + k));
  const int kp = padded(k, kernel.lanes), room = padded(n, kernel.lanes);
  Problem p{n, k, std::vector<double>(static_cast<std::size_t>(n) * k), {}, {}, std::vector<double>(k), 1e-3};
  p.square.resize(p.memberships.size());
  Buffer memberships(static_cast<std::size_t>(room) * kp), products(memberships.size()), norm(room), weight(room);
  Buffer size(kp), mean_square(kp), distance_gradient(memberships.size()), direct_gradient(memberships.size());
  Buffer size_gradient(kp), row_value(room), scratch(std::size_t{4} * k * kernel.lanes);
  for (int m = 0; m < k; ++m) {
    size[m] = static_cast<float>(empty_cluster && m == k - 1 ? 1e-5 : source.uniform(3.0, 9.0));
    mean_square[m] = static_cast<float>(source.uniform(4.0, 6.0));
    p.size[m] = size[m];
  }
  for (int i = 0; i < n; ++i) {
    norm[i] = static_cast<float>(source.uniform(4.0, 9.0));
    weight[i] = static_cast<float>(i % 3 == 0 ? 1.0 : source.uniform(0.2, 2.0));
    p.weight.push_back(weight[i]);
    double total = 0.0;
    for (int m = 0; m < k; ++m) total += p.memberships[static_cast<std::size_t>(i) * k + m] = source.uniform(0.05, 1.0);
    for (int m = 0; m < k; ++m) {
      const std::size_t at = static_cast<std::size_t>(i) * k + m, padded_at = static_cast<std::size_t>(i) * kp + m;
      memberships[padded_at] = static_cast<float>(p.memberships[at] / total);
      products[padded_at] = static_cast<float>(source.uniform(-1.5, 2.0));
      p.memberships[at] = memberships[padded_at];
      p.square[at] = static_cast<double>(norm[i]) - 2.0 * products[padded_at] + mean_square[m];
    }
  }
  amclust::SilhouetteBlock block{};
  block.n = n;
  block.k = k;
  block.kp = kp;
  block.memberships = memberships.data();
  block.products = products.data();
  block.norm = norm.data();
  block.weight = weight.data();
  block.size = size.data();
  block.size_floor = 1e-3f;
  block.mean_square = mean_square.data();
  block.distance_gradient = distance_gradient.data();
  block.direct_gradient = direct_gradient.data();
  block.size_gradient = size_gradient.data();
  block.row_value = row_value.data();
  block.scratch = scratch.data();
  kernel.silhouette(block);

  CHECK_NEAR(block.loss, p.value(), 1e-5 * n);
  for (int i = 0; i < n; ++i) CHECK_NEAR(row_value[i], p.row(i), 1e-5);
  for (int trial = 0; trial < 20; ++trial) {
    const int i = source.below(n), m = source.below(k);
    const std::size_t at = static_cast<std::size_t>(i) * k + m, padded_at = static_cast<std::size_t>(i) * kp + m;
    CHECK_NEAR(distance_gradient[padded_at], p.slope(p.square[at]), 1e-4);
    CHECK_NEAR(direct_gradient[padded_at], p.slope(p.memberships[at]), 1e-4);
  }
  for (int m = 0; m < k; ++m)
    if (p.size[m] > p.floor) CHECK_NEAR(size_gradient[m], p.slope(p.size[m]), 1e-4);
  for (int i = 0; i < n; ++i)
    for (int m = k; m < kp; ++m) CHECK_EQUAL(distance_gradient[static_cast<std::size_t>(i) * kp + m], 0.0f);
}

}  // namespace

int main() {
  for (const Kernels* kernel : tests::tables())
    for (const int k : {2, 3, 7, 8, 10, 16, 17, 70})
      for (const int n : {1, 5, 16, 19}) {
        check_setting(*kernel, n, k, false);
        if (k > 2) check_setting(*kernel, n, k, true);
      }
  return check::finish();
}
