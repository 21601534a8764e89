// Softmax of W rows at once: one vector per memory, one lane per row. The row maximum is always subtracted, so a point
// far from every memory still gets finite numbers.
#pragma once

#include "kernels/simd.hpp"

namespace {

// Logits to memberships in place; returns the row maximum and, in `total`, the sum of exp(logit - maximum).
inline Vec softmax_lanes(Vec* z, int k, Vec& total) {
  Vec top = z[0];
  for (int m = 1; m < k; ++m) top = vmax(top, z[m]);
  total = Vec{};
  for (int m = 0; m < k; ++m) {
    z[m] = vexp(z[m] - top);
    total += z[m];
  }
  const Vec inverse = splat(1.0f) / total;
  for (int m = 0; m < k; ++m) z[m] *= inverse;
  return top;
}

// u = p * (g - sum p g)
inline void softmax_adjoint_lanes(const Vec* p, const Vec* g, int k, Vec* u) {
  Vec mean = {};
  for (int m = 0; m < k; ++m) mean += p[m] * g[m];
  for (int m = 0; m < k; ++m) u[m] = p[m] * (g[m] - mean);
}

// First index of the largest value, lane by lane.
inline IVec argmax_lanes(const Vec* z, int k) {
  Vec best = z[0];
  IVec index = {};
  for (int m = 1; m < k; ++m) {
    const IVec better = z[m] > best;
    best = select(better, z[m], best);
    index = (better & (IVec{} + m)) | (~better & index);
  }
  return index;
}

}  // namespace
