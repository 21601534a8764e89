// Squared distances: E(x) = -1/beta log sum_m w_m exp(-beta |x - rho_m|^2).
#pragma once

#include "energies/energy.hpp"

namespace amclust {
namespace {

struct Euclidean {
  static constexpr const char* name = "euclidean";
  static constexpr bool on_sphere = false;
  static constexpr bool distance_by_difference = true;

  static constexpr float logit_factor(float beta) { return 2.0f * beta; }
  static constexpr float bias(float log_weight, float beta, float memory_square) {
    return log_weight - beta * memory_square;
  }
  static constexpr float bias_slope(float beta) { return 2.0f * beta; }
  static constexpr float energy(float log_total, float beta, float row_square) { return row_square - log_total / beta; }
  static constexpr float attraction(float x, float memory) { return -((x - memory) * (x - memory)); }
  template <class Value>
  static constexpr Value closeness(Value product, float memory_square) {
    return 2.0f * product - memory_square;
  }
};

}  // namespace
}  // namespace amclust
