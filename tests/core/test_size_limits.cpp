// Labels within size limits against all labels that there are.
#include "check.hpp"
#include "tables.hpp"
#include "training/size_limits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace amclust;

struct Table {
  int n, k;
  std::vector<float> costs;

  Table(int n_, int k_, std::uint64_t seed) : n(n_), k(k_), costs(static_cast<std::size_t>(n) * k) {
    tests::Source source(seed);
    for (float& cost : costs) cost = static_cast<float>(source.uniform(0.0, 2.0));
    if (seed % 3 == 0)  // ties
      for (float& cost : costs) cost = std::round(2.0f * cost);
    for (int i = 0; i < n; ++i) costs[static_cast<std::size_t>(i) * k] *= 0.3f;
  }
  double cost(const std::vector<std::int32_t>& labels) const {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += costs[static_cast<std::size_t>(i) * k + labels[i]];
    return sum;
  }
  std::vector<double> sizes(const std::vector<std::int32_t>& labels, const double* weights = nullptr) const {
    std::vector<double> out(k, 0.0);
    for (int i = 0; i < n; ++i) out[labels[i]] += weights ? weights[i] : 1.0;
    return out;
  }
};

bool within(const std::vector<double>& sizes, const SizeLimits& limits) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](double size) { return size >= limits.least - 1e-9 && size <= limits.most + 1e-9; });
}

double cheapest_of_all(const Table& table, const SizeLimits& limits) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::int32_t> labels(table.n, 0);
  for (;;) {
    if (within(table.sizes(labels), limits)) least = std::min(least, table.cost(labels));
    int at = 0;
    while (at < table.n && ++labels[at] == table.k) labels[at++] = 0;
    if (at == table.n) return least;
  }
}

LimitedLabels find(const Table& table, const SizeLimits& limits, std::vector<double> prices, const double* weights) {
  std::vector<std::int32_t> labels(table.n);
  std::vector<float> margins(table.n), own(table.n);
  LimitedLabels out;
  Monitor monitor;
  supervise(monitor, [&](Control& control) {
    Team team(2);
    find_cheapest(table.costs.data(), table.n, table.k, prices.data(), team, labels.data(), margins.data(), own.data());
    for (int i = 0; i < table.n; ++i) CHECK(own[i] == table.costs[static_cast<std::size_t>(i) * table.k + labels[i]]);
    const UndecidedRows rows{table.costs.data(), weights, table.n, table.k};
    const std::vector<double> sizes = table.sizes(labels, weights);
    out = limit_sizes(rows, labels, prices, sizes, std::numeric_limits<double>::infinity(), limits, control);
  });
  return out;
}

void test_nothing_is_cheaper() {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const int n = 3 + static_cast<int>(seed % 6), k = 1 + static_cast<int>(seed % 4);
    const Table table(n, k, seed);
    const SizeLimits limits{std::floor(static_cast<double>(n) / k) - static_cast<double>(seed % 2),
                            std::ceil(static_cast<double>(n) / k) + static_cast<double>(seed % 3)};
    std::vector<double> prices(k, 0.0);
    if (seed % 2) prices[k - 1] = 0.7;
    check::describe("seed ", seed, ", n ", n, ", k ", k);
    const LimitedLabels found = find(table, limits, prices, nullptr);
    CHECK(found.complete);
    CHECK(within(table.sizes(found.labels), limits));
    CHECK(table.sizes(found.labels) == found.sizes);
    CHECK_NEAR(table.cost(found.labels), cheapest_of_all(table, limits), 1e-5);
  }
}

void test_rows_with_weights() {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Table table(60, 4, seed);
    tests::Source source(seed + 100);
    std::vector<double> weights(table.n);
    double total = 0.0;
    for (double& weight : weights) total += weight = source.uniform(0.1, 2.0);
    const SizeLimits limits{0.97 * total / 4, 1.03 * total / 4};
    check::describe("seed ", seed);
    const LimitedLabels found = find(table, limits, std::vector<double>(4, 0.0), weights.data());
    CHECK(found.complete);
    CHECK(within(table.sizes(found.labels, weights.data()), limits));
  }
}

}  // namespace

int main() {
  test_nothing_is_cheaper();
  test_rows_with_weights();
  return check::finish();
}
