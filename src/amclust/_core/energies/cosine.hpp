// Directions: everything lies on the unit sphere, and E(x) = -1/beta log sum_m w_m exp(beta x.rho_m).
#pragma once

#include "energies/energy.hpp"

namespace amclust {
namespace {

struct Cosine {
  static constexpr const char* name = "cosine";
  static constexpr bool on_sphere = true;
  static constexpr bool distance_by_difference = false;

  static constexpr float logit_factor(float beta) { return beta; }
  static constexpr float bias(float log_weight, float, float) { return log_weight; }
  static constexpr float energy(float log_total, float beta, float) { return 0.0f - log_total / beta; }  // never -0
  static constexpr float attraction(float x, float memory) { return x * memory; }
  static constexpr float distance(float product) { return 1.0f - product; }
  template <class Value>
  static constexpr Value closeness(Value product, float) {
    return product;
  }
};

}  // namespace
}  // namespace amclust
