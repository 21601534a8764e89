#include "training/ward.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace amclust {
namespace {

struct Merger {
  float cost;  // by how much it raises the scatter
  int a, b;    // a row of each side
};

// Squared distances between all rows, [n][n padded].
Matrix distances_between(MatrixView<const float> rows, int d) {
  const int n = rows.rows, width = padded(n, kernels().lanes);
  Matrix columns(d, width), out(n, width);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < d; ++j) columns(j, i) = rows(i, j);
  kernels().distances(rows.data, static_cast<int>(rows.stride), n, d, columns.data(), width, out.data());
  return out;
}

// Every row becomes the mean of itself and its nearest rows.
Matrix smooth(MatrixView<const float> rows, int d, int neighbours) {
  const int n = rows.rows;
  const Matrix distances = distances_between(rows, d);
  Matrix out(n, static_cast<int>(rows.stride));
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) {
    const float* far = distances.row(i);
    std::iota(order.begin(), order.end(), 0);
    const auto nearer = [&](int a, int b) {
      if (a == i || b == i) return a == i && b != i;
      return far[a] != far[b] ? far[a] < far[b] : a < b;
    };
    std::nth_element(order.begin(), order.begin() + neighbours, order.end(), nearer);
    std::sort(order.begin(), order.begin() + neighbours + 1);
    float* mean = out.row(i);
    for (int c = 0; c <= neighbours; ++c) {
      const float* x = rows.row(order[c]);
      for (int j = 0; j < d; ++j) mean[j] += x[j];
    }
    for (int j = 0; j < d; ++j) mean[j] /= static_cast<float>(neighbours + 1);
  }
  return out;
}

// All n - 1 mergers by the nearest-neighbour chain, cheapest first.
std::vector<Merger> mergers_of(MatrixView<const float> rows, int d, const std::vector<double>& weights) {
  const int n = rows.rows;
  Matrix costs = distances_between(rows, d);
  std::vector<double> size = weights;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) costs(i, j) *= static_cast<float>(size[i] * size[j] / (size[i] + size[j]));

  std::vector<int> living(n), chain;
  std::iota(living.begin(), living.end(), 0);
  std::vector<Merger> out;
  out.reserve(n - 1);
  while (living.size() > 1) {
    if (chain.empty()) chain.push_back(living.front());
    for (;;) {
      const int a = chain.back();
      const float* cost = costs.row(a);
      // The one before in the chain wins a tie, so that the chain ends.
      int best = chain.size() > 1 ? chain[chain.size() - 2] : -1;
      float lowest = best >= 0 ? cost[best] : std::numeric_limits<float>::infinity();
      for (int b : living)
        if (b != a && (best < 0 || cost[b] < lowest)) {
          best = b;
          lowest = cost[b];
        }
      if (chain.size() > 1 && best == chain[chain.size() - 2]) break;
      chain.push_back(best);
    }
    const int a = chain.back(), b = chain[chain.size() - 2];
    chain.resize(chain.size() - 2);
    const double together = size[a] + size[b], cost = costs(a, b);
    out.push_back({static_cast<float>(cost), a, b});
    living.erase(std::lower_bound(living.begin(), living.end(), a));
    for (int c : living) {
      if (c == b) continue;
      const double raised = ((size[a] + size[c]) * costs(a, c) + (size[b] + size[c]) * costs(b, c) - size[c] * cost) /
                            (together + size[c]);
      costs(b, c) = costs(c, b) = static_cast<float>(std::max(raised, cost));
    }
    size[b] = together;
  }
  std::stable_sort(out.begin(), out.end(), [](const Merger& x, const Merger& y) { return x.cost < y.cost; });
  return out;
}

}  // namespace

std::vector<int> cut_ward_tree(MatrixView<const float> rows, int d, const std::vector<double>& weights, int neighbours,
                               int k) {
  const int n = rows.rows;
  if (n < k) return {};
  Matrix smoothed;
  if (neighbours > 0) {
    smoothed = smooth(rows, d, neighbours);
    rows = smoothed.view();
  }
  const std::vector<Merger> mergers = mergers_of(rows, d, weights);
  if (k > 1 && !(mergers[n - k].cost > 0.0f)) return {};

  std::vector<int> parent(n);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (int m = 0; m < n - k; ++m) parent[root(mergers[m].a)] = root(mergers[m].b);
  std::vector<int> number(n, -1), labels(n);
  int found = 0;
  for (int i = 0; i < n; ++i) {
    int& own = number[root(i)];
    if (own < 0) own = found++;
    labels[i] = own;
  }
  return labels;
}

}  // namespace amclust
