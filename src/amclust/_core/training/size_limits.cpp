#include "training/size_limits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace amclust {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr int kNone = -1;
// Weights are sums of floats: less than this part of all is nothing.
constexpr double kNothingOf = 1e-9;

// A row on offer, at what it costs to take it.
struct Offer {
  float cost;
  std::int32_t row;
  // The cheapest is on top of a heap, of equals the first row.
  bool operator<(const Offer& other) const { return cost > other.cost || (cost == other.cost && row > other.row); }
};

class Exchange {
 public:
  Exchange(const UndecidedRows& rows, std::vector<std::int32_t> labels, std::vector<double> prices,
           std::vector<double> sizes, double reach, SizeLimits limits, const Control& control)
      : rows_(rows),
        k_(rows.k),
        limits_(limits),
        control_(control),
        labels_(std::move(labels)),
        prices_(std::move(prices)),
        sizes_(std::move(sizes)),
        granted_(k_),
        surplus_(k_ + 1),
        offers_(static_cast<std::size_t>(k_) * k_),
        best_(static_cast<std::size_t>(k_) * k_, kFar),
        beyond_(static_cast<std::size_t>(k_) * k_, kFar),
        frozen_(rows.weights ? rows.n : 0) {
    prices_.push_back(0.0);
    double total = std::accumulate(sizes_.begin(), sizes_.end(), 0.0);
    least_counted_ = rows.weights ? kNothingOf * total : 0.5;
    for (int a = 0; a < k_; ++a) {
      granted_[a] = prices_[a] > 0.0   ? limits_.least
                    : prices_[a] < 0.0 ? limits_.most
                                       : std::clamp(sizes_[a], limits_.least, limits_.most);
      surplus_[a] = sizes_[a] - granted_[a];
      total -= granted_[a];
    }
    surplus_[k_] = -total;
    for (int a = 0; a < k_; ++a)
      for (int b = 0; b < k_; ++b)
        if (a != b) beyond(a, b) = reach + prices_[b] - prices_[a];
    fill_offers();
  }

  LimitedLabels run() {
    LimitedLabels out;
    out.complete = follow_paths();
    if (out.complete && rows_.weights) out.complete = exchange_rows();
    prices_.pop_back();
    // Clusters that no limit binds have the same price, up to rounding.
    for (int a = 0; a < k_; ++a)
      if (out.complete && sizes_[a] > limits_.least && sizes_[a] < limits_.most && !rows_.weights) prices_[a] = 0.0;
    out.labels = std::move(labels_);
    out.prices = std::move(prices_);
    out.sizes = std::move(sizes_);
    return out;
  }

 private:
  std::vector<Offer>& offers(int a, int b) { return offers_[static_cast<std::size_t>(a) * k_ + b]; }
  double& best(int a, int b) { return best_[static_cast<std::size_t>(a) * k_ + b]; }
  double& beyond(int a, int b) { return beyond_[static_cast<std::size_t>(a) * k_ + b]; }
  double weight(std::int64_t row) const { return rows_.weights ? rows_.weights[row] : 1.0; }
  const float* costs(std::int64_t row) const { return rows_.costs + row * k_; }
  bool is_frozen(std::int64_t row) const { return !frozen_.empty() && frozen_[row]; }

  void fill_offers() {
    for (std::int64_t i = 0; i < rows_.n && !control_.stopped(); ++i) {
      const float* cost = costs(i);
      const int a = labels_[i];
      for (int b = 0; b < k_; ++b)
        if (a != b && cost[b] - cost[a] <= beyond(a, b))
          offers(a, b).push_back({cost[b] - cost[a], static_cast<std::int32_t>(i)});
    }
    for (int a = 0; a < k_ && !control_.stopped(); ++a)
      for (int b = 0; b < k_; ++b)
        if (a != b) {
          std::make_heap(offers(a, b).begin(), offers(a, b).end());
          refresh(a, b);
        }
  }

  // Rows that have left are taken off the top; what rows that are decided would cost is known to be more than that.
  void refresh(int a, int b) {
    std::vector<Offer>& heap = offers(a, b);
    while (!heap.empty() && (labels_[heap.front().row] != a || is_frozen(heap.front().row))) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    const double known = heap.empty() ? kFar : heap.front().cost;
    best(a, b) = std::min(known, beyond(a, b));
  }
  bool is_known(int a, int b) { return !offers(a, b).empty() && offers(a, b).front().cost <= beyond(a, b); }

  void move(std::int32_t row, int to) {
    const int from = labels_[row];
    labels_[row] = to;
    sizes_[from] -= weight(row);
    sizes_[to] += weight(row);
    leave(from, row);
    const float* cost = costs(row);
    for (int b = 0; b < k_; ++b) {
      if (b == to || !(cost[b] - cost[to] <= beyond(to, b))) continue;
      std::vector<Offer>& heap = offers(to, b);
      heap.push_back({cost[b] - cost[to], row});
      std::push_heap(heap.begin(), heap.end());
      refresh(to, b);
    }
  }
  void leave(int from, std::int32_t row) {
    for (int b = 0; b < k_; ++b)
      if (b != from && !offers(from, b).empty() && offers(from, b).front().row == row) refresh(from, b);
  }

  // --- shortest paths --------------------------------------------------------------------------------------------

  // False where they would need rows that are decided.
  bool follow_paths() {
    while (!control_.stopped() && find_path()) {
      std::vector<int> path{end_};
      while (before_[path.back()] != kNone) path.push_back(before_[path.back()]);
      std::reverse(path.begin(), path.end());
      for (std::size_t i = 0; i + 1 < path.size(); ++i)
        if (path[i] < k_ && path[i + 1] < k_ && !is_known(path[i], path[i + 1])) return false;
      const std::vector<double> carried = amounts(path);
      if (!rows_.weights || helps(path, carried)) {
        raise_prices();
        pass_on(path, carried);
      } else if (violation() <= least_counted_) {
        break;  // rows are too heavy for what is left, which the limits allow
      } else {
        freeze_heaviest(path);
      }
    }
    return true;
  }

  // From any cluster with too many rows to the nearest with too few; the pool (number k) takes what a cluster may keep
  // between its limits, and gives what it may do without.
  bool find_path() {
    const int nodes = k_ + 1;
    distance_.assign(nodes, kFar);
    before_.assign(nodes, kNone);
    for (int a = 0; a < nodes; ++a)
      if (surplus_[a] > least_counted_) distance_[a] = 0.0;
    open_ = distance_;
    for (;;) {
      int at = kNone;
      double least = kFar;
      for (int a = 0; a < nodes; ++a)
        if (open_[a] < least) {
          least = open_[a];
          at = a;
        }
      if (at == kNone) return false;
      open_[at] = kFar;
      if (surplus_[at] < -least_counted_) {
        end_ = at;
        return true;
      }
      // Those that are done are as near at least, so that nothing changes about them.
      const double here = least + prices_[at];
      const auto pass = [&](int b, double cost) {
        const double found = std::max(least, here + cost - prices_[b]);
        if (!(found < distance_[b])) return;
        distance_[b] = open_[b] = found;
        before_[b] = at;
      };
      if (at == k_) {
        for (int b = 0; b < k_; ++b)
          if (granted_[b] > limits_.least) pass(b, 0.0);
        continue;
      }
      const double* cost = best_.data() + static_cast<std::size_t>(at) * k_;
      for (int b = 0; b < k_; ++b) pass(b, cost[b]);
      if (granted_[at] < limits_.most) pass(k_, 0.0);
    }
  }

  void raise_prices() {
    for (int a = 0; a <= k_; ++a) prices_[a] += std::min(distance_[a], distance_[end_]);
    const double pool = prices_[k_];
    for (double& price : prices_) price -= pool;
  }

  // How much goes along each step of a path: the weight of a row, and to and from the pool that of the row before or
  // after, within the limits.
  std::vector<double> amounts(const std::vector<int>& path) {
    const std::size_t steps = path.size() - 1;
    const double everything = std::min(surplus_[path.front()], -surplus_[path.back()]);
    std::vector<double> out(steps, -1.0);
    for (std::size_t i = 0; i < steps; ++i)
      if (path[i] < k_ && path[i + 1] < k_) out[i] = weight(offers(path[i], path[i + 1]).front().row);
    const auto spread = [&](std::size_t i, std::size_t from) {
      if (out[i] < 0.0 && from < steps) out[i] = out[from];
    };
    for (std::size_t i = 1; i < steps; ++i) spread(i, i - 1);
    for (std::size_t i = steps; i-- > 0;) spread(i, i + 1);
    for (std::size_t i = 0; i < steps; ++i) {
      if (out[i] < 0.0) out[i] = everything;
      if (path[i + 1] == k_) out[i] = std::min(out[i], limits_.most - granted_[path[i]]);
      if (path[i] == k_) out[i] = std::min(out[i], granted_[path[i + 1]] - limits_.least);
    }
    if (steps == 2 && path[1] == k_) out[0] = out[1] = std::min(out[0], out[1]);
    return out;
  }

  void pass_on(const std::vector<int>& path, const std::vector<double>& amounts) {
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      const int a = path[i], b = path[i + 1];
      if (b == k_)
        granted_[a] += amounts[i];
      else if (a == k_)
        granted_[b] -= amounts[i];
      else
        move(offers(a, b).front().row, b);
      surplus_[a] -= amounts[i];
      surplus_[b] += amounts[i];
    }
  }

  // Whether surpluses get less by passing on so much.
  bool helps(const std::vector<int>& path, const std::vector<double>& amounts) const {
    double gained = 0.0;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const double arrives = i > 0 ? amounts[i - 1] : 0.0, goes = i + 1 < path.size() ? amounts[i] : 0.0;
      gained += std::abs(surplus_[path[i]]) - std::abs(surplus_[path[i]] + arrives - goes);
    }
    return gained > least_counted_;
  }

  // The heaviest row of a path stays where it is.
  void freeze_heaviest(const std::vector<int>& path) {
    std::int32_t heaviest = kNone;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      if (path[i] == k_ || path[i + 1] == k_) continue;
      const std::int32_t row = offers(path[i], path[i + 1]).front().row;
      if (heaviest == kNone || weight(row) > weight(heaviest)) heaviest = row;
    }
    if (heaviest == kNone) {  // the pool alone: what is left is too little for it
      surplus_[path.front()] = 0.0;
      return;
    }
    frozen_[heaviest] = 1;
    leave(labels_[heaviest], heaviest);
  }

  // --- rows that are too heavy -----------------------------------------------------------------------------------

  double outside(double size) const { return std::max({0.0, size - limits_.most, limits_.least - size}); }
  double violation() const {
    double sum = 0.0;
    for (const double size : sizes_) sum += outside(size);
    return sum;
  }

  struct Swap {
    std::int32_t row = kNone, back = kNone;  // back: a row that comes in exchange; none: a mere move
    int other = kNone;
    double change = 0.0, cost = kFar;  // of the violation, and for each unit of it that goes
  };

  // Moves single rows, or exchanges two, as long as sizes are outside of the limits and that brings them nearer. An
  // exchange that hands on what is too much may follow, but to no cluster twice. False where rows that are decided may
  // be needed.
  bool exchange_rows() {
    std::vector<char> passed(k_, 0);
    while (!control_.stopped()) {
      int worst = kNone;
      for (int a = 0; a < k_; ++a)
        if (outside(sizes_[a]) > least_counted_ && !passed[a] &&
            (worst == kNone || outside(sizes_[a]) > outside(sizes_[worst])))
          worst = a;
      if (worst == kNone) break;
      const Swap swap = find_swap(worst, passed);
      passed[worst] = 1;
      if (swap.row == kNone) continue;
      const int from = labels_[swap.row], to = from == worst ? swap.other : worst;
      if (swap.change < -least_counted_) std::fill(passed.begin(), passed.end(), 0);
      put(swap.row, to);
      if (swap.back != kNone) put(swap.back, from);
    }
    return violation() <= least_counted_ || beyond_everything();
  }
  // Whether all rows are here.
  bool beyond_everything() {
    for (int a = 0; a < k_; ++a)
      for (int b = 0; b < k_; ++b)
        if (a != b && beyond(a, b) < kFar) return false;
    return true;
  }
  void put(std::int32_t row, int to) {
    sizes_[labels_[row]] -= weight(row);
    sizes_[to] += weight(row);
    labels_[row] = to;
  }

  // What brings a cluster nearer to its limits for the least cost.
  Swap find_swap(int worst, const std::vector<char>& passed) const {
    std::vector<std::vector<std::int32_t>> members(k_);
    for (std::int64_t i = 0; i < rows_.n; ++i) members[labels_[i]].push_back(static_cast<std::int32_t>(i));
    for (auto& some : members)
      std::stable_sort(some.begin(), some.end(), [&](int a, int b) { return weight(a) < weight(b); });
    const double wanted = sizes_[worst] > limits_.most ? sizes_[worst] - limits_.most : sizes_[worst] - limits_.least;
    Swap found;
    for (int b = 0; b < k_; ++b) {
      if (b == worst || passed[b]) continue;
      // The heavier row goes from the cluster with too much.
      const int from = wanted > 0.0 ? worst : b, to = wanted > 0.0 ? b : worst;
      const double amount = std::abs(wanted);
      for (const std::int32_t row : members[from]) {
        consider(found, row, kNone, from, to, b);
        // Partners near the ideal weight, and the cheapest choice among a few around it.
        const auto middle = std::lower_bound(members[to].begin(), members[to].end(), weight(row) - amount,
                                             [&](std::int32_t other, double value) { return weight(other) < value; });
        const auto first = middle - std::min<std::ptrdiff_t>(kPartners, middle - members[to].begin());
        const auto last = middle + std::min<std::ptrdiff_t>(kPartners, members[to].end() - middle);
        for (auto other = first; other != last; ++other) consider(found, row, *other, from, to, b);
      }
    }
    return found;
  }
  void consider(Swap& found, std::int32_t row, std::int32_t back, int from, int to, int other) const {
    const double moved = weight(row) - (back == kNone ? 0.0 : weight(back));
    if (!(moved > 0.0)) return;
    const double change =
        outside(sizes_[from] - moved) + outside(sizes_[to] + moved) - outside(sizes_[from]) - outside(sizes_[to]);
    if (change > least_counted_) return;
    const bool gains = change < -least_counted_, gained = found.change < -least_counted_;
    if (gained && !gains) return;
    double cost = weight(row) * (static_cast<double>(costs(row)[to]) - costs(row)[from]);
    if (back != kNone) cost += weight(back) * (static_cast<double>(costs(back)[from]) - costs(back)[to]);
    if (gains) cost = cost > 0.0 ? cost / -change : cost;
    if (found.row != kNone && gains == gained && !(cost < found.cost)) return;
    found = {row, back, other, change, cost};
  }
  static constexpr std::ptrdiff_t kPartners = 4;

  const UndecidedRows& rows_;
  int k_;
  SizeLimits limits_;
  const Control& control_;
  std::vector<std::int32_t> labels_;
  std::vector<double> prices_;   // [k + 1]; that of the pool is 0
  std::vector<double> sizes_;    // [k]
  std::vector<double> granted_;  // [k], within the limits
  std::vector<double> surplus_;  // [k + 1], beyond what is granted; of the pool what is granted beyond what there is
  std::vector<std::vector<Offer>> offers_;  // [k][k], from a cluster to another
  std::vector<double> best_, beyond_;       // [k][k], the cheapest offer, and what no decided row goes below
  std::vector<char> frozen_;                // rows that are too heavy to be of use
  double least_counted_;
  std::vector<double> distance_, open_;  // [k + 1], of the nodes of a path; open: not yet passed
  std::vector<int> before_;
  int end_ = kNone;
};

}  // namespace

void find_cheapest(const float* costs, std::int64_t n, int k, const double* prices, Team& team, std::int32_t* labels,
                   float* margins, float* own) {
  const int parts = 4 * team.size();
  team.run(parts, [&](int part, int) {
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
      const float* cost = costs + i * k;
      double first = kFar, second = kFar;
      int which = 0;
      for (int m = 0; m < k; ++m) {
        const double value = cost[m] - prices[m];
        if (value < first) {
          second = first;
          first = value;
          which = m;
        } else if (value < second) {
          second = value;
        }
      }
      labels[i] = which;
      margins[i] = std::nextafter(static_cast<float>(second - first), 0.0f);
      own[i] = cost[which];
    }
  });
}

LimitedLabels limit_sizes(const UndecidedRows& rows, std::vector<std::int32_t> labels, std::vector<double> prices,
                          std::vector<double> sizes, double reach, SizeLimits limits, const Control& control) {
  return Exchange(rows, std::move(labels), std::move(prices), std::move(sizes), reach, limits, control).run();
}

}  // namespace amclust
