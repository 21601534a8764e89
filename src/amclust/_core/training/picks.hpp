// Rows to begin with. `Distances` has compute(picks), after which at(row, pick) is the squared distance of a row to one
// of these.
#pragma once

#include "random.hpp"
#include "team.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace amclust {

// Index at which the running sum of weight * value passes the target; null: the values are 1.
inline int pick_by_mass(const std::vector<double>& weights, const float* values, double target) {
  int last = 0;
  for (int i = 0; i < static_cast<int>(weights.size()); ++i) {
    const double mass = weights[i] * (values ? values[i] : 1.0);
    if (mass <= 0.0) continue;
    last = i;
    if ((target -= mass) < 0.0) break;
  }
  return last;
}

inline double total_mass(const std::vector<double>& weights, const float* values) {
  double sum = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * (values ? values[i] : 1.0);
  return sum;
}

// How many rows greedy k-means++ tries for each of k.
inline int plus_plus_trials(int k) { return 2 + static_cast<int>(std::log(static_cast<double>(k))); }

// Greedy k-means++, as in scikit-learn; fewer than k where there are no k distinct rows.
template <class Distances>
std::vector<int> plus_plus_picks(Distances& distances, const std::vector<double>& weights, int k, Random& random) {
  const int trials = plus_plus_trials(k), n = static_cast<int>(weights.size());
  std::vector<int> picks{pick_by_mass(weights, nullptr, random.uniform() * total_mass(weights, nullptr))};
  std::vector<float> nearest(n);
  std::vector<double> potentials(trials);
  std::vector<int> candidates(trials);
  distances.compute(picks);
  for (int i = 0; i < n; ++i) nearest[i] = distances.at(i, 0);
  while (static_cast<int>(picks.size()) < k) {
    check_interrupt();
    const double potential = total_mass(weights, nearest.data());
    if (!(potential > 0.0)) break;
    for (int& candidate : candidates) candidate = pick_by_mass(weights, nearest.data(), random.uniform() * potential);
    distances.compute(candidates);
    std::fill(potentials.begin(), potentials.end(), 0.0);
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < trials; ++c) potentials[c] += weights[i] * std::min(nearest[i], distances.at(i, c));
    const int winner = static_cast<int>(std::min_element(potentials.begin(), potentials.end()) - potentials.begin());
    for (int i = 0; i < n; ++i) nearest[i] = std::min(nearest[i], distances.at(i, winner));
    picks.push_back(candidates[winner]);
  }
  return picks;
}

// Distinct rows at random; fewer than k likewise.
template <class Distances>
std::vector<int> distinct_picks(Distances& distances, std::vector<double> weights, int k, Random& random) {
  std::vector<int> picks;
  while (static_cast<int>(picks.size()) < k) {
    check_interrupt();
    const double left = total_mass(weights, nullptr);
    if (!(left > 0.0)) break;
    picks.push_back(pick_by_mass(weights, nullptr, random.uniform() * left));
    distances.compute({picks.back()});
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (distances.at(static_cast<int>(i), 0) <= 0.0f) weights[i] = 0.0;
  }
  return picks;
}

}  // namespace amclust
