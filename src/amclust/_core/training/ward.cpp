#include "training/ward.hpp"

#include "kernels/kernels.hpp"
#include "team.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace amclust {
namespace {

struct Merger {
  float cost;  // by how much it raises the scatter
  int a, b;    // a row of each side
};

// The nearest of n rows to row i, and itself, ascending.
std::vector<int> neighbourhood(const float* squares, int n, int i, int neighbours) {
  std::vector<int> nearest;
  for (int b = 0; b < n; ++b) {
    const bool full = static_cast<int>(nearest.size()) == neighbours;
    if (b == i || (full && !(squares[b] < squares[nearest.back()]))) continue;
    if (full) nearest.pop_back();
    nearest.insert(
        std::upper_bound(nearest.begin(), nearest.end(), b, [&](int x, int y) { return squares[x] < squares[y]; }), b);
  }
  nearest.push_back(i);
  std::sort(nearest.begin(), nearest.end());
  return nearest;
}

// Every row becomes the mean of itself and its nearest rows: what that makes of the squared distances. Of two means it
// is the mean over pairs of the rows they are of, less half of the same inside of each.
void smooth(Matrix& squares, int neighbours) {
  const int n = squares.rows();
  const float part = 1.0f / static_cast<float>(neighbours + 1);
  std::vector<std::vector<int>> near(n);
  for (int i = 0; i < n; ++i) {
    check_interrupt();
    near[i] = neighbourhood(squares.row(i), n, i, neighbours);
  }
  Matrix halfway(n, static_cast<int>(squares.stride()));  // means to single rows
  for (int i = 0; i < n; ++i) {
    check_interrupt();
    float* to = halfway.row(i);
    for (const int b : near[i])
      for (int j = 0; j < n; ++j) to[j] += part * squares(b, j);
  }
  std::vector<float> inside(n, 0.0f);
  for (int i = 0; i < n; ++i)
    for (const int b : near[i]) inside[i] += 0.5f * part * halfway(i, b);
  for (int i = 0; i < n; ++i) {
    check_interrupt();
    for (int j = 0; j < i; ++j) {
      float mean = 0.0f;
      for (const int b : near[j]) mean += halfway(i, b);
      squares(i, j) = squares(j, i) = std::max(0.0f, part * mean - inside[i] - inside[j]);
    }
  }
}

// The least of n values, n a multiple of the lanes.
float lowest_of(const float* values, int n) {
  constexpr int kLanes = 4;
  float lanes[kLanes] = {values[0], values[0], values[0], values[0]};
  for (int i = 0; i < n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] = values[i + l] < lanes[l] ? values[i + l] : lanes[l];
  return std::min(std::min(lanes[0], lanes[1]), std::min(lanes[2], lanes[3]));
}

// All n - 1 mergers by the nearest-neighbour chain, cheapest first; squared distances in, of which costs are made.
std::vector<Merger> mergers_of(Matrix& costs, const std::vector<double>& weights) {
  // No merger costs as much as one that cannot be, however far apart rows are.
  constexpr float kNone = std::numeric_limits<float>::infinity(), kMost = std::numeric_limits<float>::max();
  const int n = costs.rows(), width = static_cast<int>(costs.stride());
  std::vector<double> size = weights;
  for (int i = 0; i < n; ++i) {
    // The same both ways to the last bit: the chain would not end otherwise.
    for (int j = 0; j < i; ++j) costs(i, j) = costs(j, i) = std::min(merge_cost(costs(i, j), size[i], size[j]), kMost);
    std::fill(costs.row(i) + n, costs.row(i) + width, kNone);
    costs(i, i) = kNone;
  }

  std::vector<int> living(n), chain;
  std::iota(living.begin(), living.end(), 0);
  std::vector<Merger> out;
  out.reserve(n - 1);
  while (living.size() > 1) {
    check_interrupt();
    if (chain.empty()) chain.push_back(living.front());
    for (;;) {
      const float* cost = costs.row(chain.back());
      const float lowest = lowest_of(cost, width);
      // The one before in the chain wins a tie, so that the chain ends.
      if (chain.size() > 1 && cost[chain[chain.size() - 2]] == lowest) break;
      chain.push_back(static_cast<int>(std::find(cost, cost + n, lowest) - cost));
    }
    const int a = chain.back(), b = chain[chain.size() - 2];
    chain.resize(chain.size() - 2);
    const double together = size[a] + size[b], cost = costs(a, b);
    out.push_back({static_cast<float>(cost), a, b});
    living.erase(std::lower_bound(living.begin(), living.end(), a));
    costs(b, a) = kNone;
    for (int c : living) {
      if (c == b) continue;
      const double raised = ((size[a] + size[c]) * costs(a, c) + (size[b] + size[c]) * costs(b, c) - size[c] * cost) /
                            (together + size[c]);
      costs(b, c) = costs(c, b) = static_cast<float>(std::min<double>(std::max(raised, cost), kMost));
      costs(c, a) = kNone;
    }
    size[b] = together;
  }
  std::stable_sort(out.begin(), out.end(), [](const Merger& x, const Merger& y) { return x.cost < y.cost; });
  return out;
}

}  // namespace

MergeCosts::MergeCosts(int max_k, int d)
    : max_k_(max_k),
      d_(d),
      centres_(static_cast<std::size_t>(max_k) * d),
      sizes_(max_k),
      costs_(static_cast<std::size_t>(max_k) * max_k),
      partner_(max_k, -1) {}

void MergeCosts::find_partner(int m, int k) {
  const float* cost = row(m);
  int best = m == 0 ? 1 : 0;
  for (int b = best + 1; b < k; ++b)
    if (b != m && cost[b] < cost[best]) best = b;
  partner_[m] = best;
}

std::pair<int, int> MergeCosts::cheapest(const float* centres, int ld, int k, const std::vector<double>& sizes) {
  std::vector<int> stale;
  std::vector<char> is_stale(max_k_, 0);
  for (int m = 0; m < k; ++m) {
    const float* centre = centres + static_cast<std::ptrdiff_t>(m) * ld;
    float* before = centres_.data() + static_cast<std::ptrdiff_t>(m) * d_;
    if (m < known_ && sizes[m] == sizes_[m] && std::equal(centre, centre + d_, before)) continue;
    std::copy_n(centre, d_, before);
    sizes_[m] = sizes[m];
    is_stale[m] = 1;
    stale.push_back(m);
  }
  std::fill(is_stale.begin() + k, is_stale.end(), 1);  // those that are gone
  known_ = k;

  const int count = static_cast<int>(stale.size()), width = padded(count, kernels().lanes);
  Buffer columns(static_cast<std::size_t>(d_) * width), squares(static_cast<std::size_t>(k) * width);
  for (int c = 0; c < count; ++c)
    for (int j = 0; j < d_; ++j)
      columns[static_cast<std::size_t>(j) * width + c] = centres[static_cast<std::ptrdiff_t>(stale[c]) * ld + j];
  kernels().distances(centres, ld, k, d_, columns.data(), width, squares.data());
  for (int m = 0; m < k; ++m)
    for (int c = 0; c < count; ++c)
      row(m)[stale[c]] = row(stale[c])[m] =
          merge_cost(squares[static_cast<std::size_t>(m) * width + c], sizes[m], sizes[stale[c]]);

  int best = 0;
  for (int m = 0; m < k; ++m) {
    const float* cost = row(m);
    if (is_stale[m] || is_stale[partner_[m]]) {
      find_partner(m, k);
    } else {
      for (const int b : stale)
        if (cost[b] < cost[partner_[m]] || (cost[b] == cost[partner_[m]] && b < partner_[m])) partner_[m] = b;
    }
    if (cost[partner_[m]] < row(best)[partner_[best]]) best = m;
  }
  return {best, partner_[best]};
}

Matrix squares_between(MatrixView<const float> rows, int d) {
  constexpr int kTile = 64;  // a multiple of every lane count
  const int n = rows.rows;
  Matrix columns(d, kTile), tile(kTile, kTile), out(n, padded(n, kernels().lanes));
  for (int first = 0; first < n; first += kTile) {
    const int count = std::min(kTile, n - first);
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < d; ++j) columns(j, i) = rows(first + i, j);
    // Those of every two tiles once, written twice.
    for (int other = 0; other <= first; other += kTile) {
      const int others = std::min(kTile, n - other);
      kernels().distances(rows.row(other), static_cast<int>(rows.stride), others, d, columns.data(), kTile,
                          tile.data());
      for (int b = 0; b < others; ++b) {
        std::copy_n(tile.row(b), count, out.row(other + b) + first);
        for (int a = 0; a < count; ++a) out(first + a, other + b) = tile(b, a);
      }
    }
  }
  return out;
}

std::vector<int> cut_ward_tree(Matrix squares, const std::vector<double>& weights, int neighbours, int k) {
  const int n = squares.rows();
  if (n < k) return {};
  if (neighbours > 0) smooth(squares, neighbours);
  const std::vector<Merger> mergers = mergers_of(squares, weights);
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
