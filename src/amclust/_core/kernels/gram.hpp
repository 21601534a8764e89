// The recursion in k coefficients. The state never leaves the span of its start and the memories,
//
//     v_t = c_t v_0 + a_t R        (on the coordinates that move),
//
// so its products with the memories need only the memories' inner products G = R R^T over the moving coordinates:
// k^2 operations a step instead of 2 k d. One lane is one row. G is either shared by all rows (every coordinate moves)
// or each lane's own (only its hidden coordinates move). On the sphere the state is normalised after every step, but
// only where all coordinates move: visible coordinates stay as they are.
#pragma once

#include "energies/registry.hpp"
#include "kernels/blocks.hpp"
#include "kernels/kernels.hpp"
#include "kernels/softmax.hpp"

namespace {

using amclust::Network;

struct SharedGram {
  const float* g;
  int k;
  Vec at(int m, int n) const { return splat(row_of(g, m, k)[n]); }
};

struct LaneGram {
  const Vec* g;
  int k;
  Vec at(int m, int n) const { return row_of(g, m, k)[n]; }
};

template <int N, class Gram>
inline void gram_rows(const Gram& gram, const Vec* a, int k, int m, Vec* out) {
  Vec acc[N] = {};
  for (int n = 0; n < k; ++n)
    for (int i = 0; i < N; ++i) acc[i] += gram.at(n, m + i) * a[n];  // symmetric: row n read in order
  for (int i = 0; i < N; ++i) out[m + i] = acc[i];
}

template <class Gram>
inline void gram_times(const Gram& gram, const Vec* a, int k, Vec* out) {
  for_blocks<8, 4>(k, [&](auto size, int m) { gram_rows<size>(gram, a, k, m, out); });
}

// What the forward pass leaves for the backward pass. Arrays over steps have n_steps + 1 entries of k.
struct GramHistory {
  Vec *p, *a, *left, *ga;
  Vec *c, *norm;  // n_steps + 1 entries
  Vec *z, *u;     // k entries

  static std::size_t size(int k, int n_steps) {
    return static_cast<std::size_t>(k) * (4 * (n_steps + 1) + 2) + 2 * (n_steps + 1);
  }
  GramHistory(Vec* memory, int k, int n_steps) {
    const std::size_t block = static_cast<std::size_t>(k) * (n_steps + 1);
    p = memory;
    a = p + block;
    left = a + block;
    ga = left + block;
    c = ga + block;
    norm = c + n_steps + 1;
    z = norm + n_steps + 1;
    u = z + k;
  }
};

// d(logit) / d(product of state and memory)
inline float logit_factor(const Network& net) {
  return amclust::with_energy(net.energy, [&](auto energy) { return energy.logit_factor(net.beta); });
}

// products: start state times memories, all coordinates; moved: the same over the moving coordinates only. Sphere: all
// move, and the state is normalised.
template <bool Sphere, class Gram>
inline void gram_forward(const Network& net, const Gram& gram, const Vec* products, const Vec* moved, Vec norm0,
                         GramHistory& h) {
  const int k = net.k;
  const Vec alpha = splat(net.step_size), f = splat(logit_factor(net));
  for (int m = 0; m < k; ++m) h.a[m] = h.ga[m] = Vec{};
  h.c[0] = splat(1.0f);
  for (int t = 0; t < net.n_steps; ++t) {
    const Vec* a = row_of(h.a, t, k);
    const Vec* ga = row_of(h.ga, t, k);
    Vec* next = row_of(h.a, t + 1, k);
    Vec* gnext = row_of(h.ga, t + 1, k);
    Vec* p = row_of(h.p, t, k);
    const Vec c = h.c[t];
    Vec total;
    if constexpr (!Sphere) {
      for (int m = 0; m < k; ++m) p[m] = splat(net.bias[m]) + f * (products[m] + (c - 1.0f) * moved[m] + ga[m]);
      softmax_lanes(p, k, total);
      for (int m = 0; m < k; ++m) next[m] = (1.0f - alpha) * a[m] + alpha * p[m];
      h.c[t + 1] = (1.0f - alpha) * c;
      gram_times(gram, next, k, gnext);
    } else {
      for (int m = 0; m < k; ++m) p[m] = splat(net.bias[m]) + f * (c * products[m] + ga[m]);
      softmax_lanes(p, k, total);
      for (int m = 0; m < k; ++m) next[m] = a[m] + alpha * p[m];
      gram_times(gram, next, k, gnext);
      Vec square = c * c * norm0;
      for (int m = 0; m < k; ++m) square += next[m] * (2.0f * c * moved[m] + gnext[m]);
      const Vec norm = vsqrt(vmax(square, splat(1e-30f)));
      const Vec inverse = 1.0f / norm;
      for (int m = 0; m < k; ++m) next[m] *= inverse;
      for (int m = 0; m < k; ++m) gnext[m] *= inverse;
      h.c[t + 1] = c * inverse;
      h.norm[t] = norm;
    }
  }
}

// The memory nearest to the final state, where all coordinates moved.
template <class Energy>
inline IVec gram_winner(const Network& net, const Vec* products, const float* square_norms, GramHistory& h) {
  const Vec* ga = row_of(h.ga, net.n_steps, net.k);
  const Vec c = h.c[net.n_steps];
  for (int m = 0; m < net.k; ++m) h.z[m] = Energy::closeness(c * products[m] + ga[m], square_norms[m]);
  return argmax_lanes(h.z, net.k);
}

// Adjoint of gram_forward. In: adjoints of the final coefficients (a_bar, overwritten) and of the final scale.
// Out: gradients of the bias, of `products` and of `moved` (all set); h.left, such that the gradient of G,
// symmetrised, is S = sum_t left_t a_t^T + a_t left_t^T over t = 1 ... n_steps.
template <bool Sphere, class Gram>
inline void gram_backward(const Network& net, const Gram& gram, const Vec* products, const Vec* moved, Vec norm0,
                          Vec* a_bar, Vec c_bar, GramHistory& h, Vec* bias_bar, Vec* products_bar, Vec* moved_bar) {
  const int k = net.k;
  const Vec alpha = splat(net.step_size), f = splat(logit_factor(net));
  for (int m = 0; m < k; ++m) bias_bar[m] = products_bar[m] = moved_bar[m] = Vec{};
  Vec* last = row_of(h.left, net.n_steps, k);
  for (int m = 0; m < k; ++m) last[m] = Vec{};
  for (int t = net.n_steps - 1; t >= 0; --t) {
    const Vec* p = row_of(h.p, t, k);
    const Vec* next = row_of(h.a, t + 1, k);
    const Vec* gnext = row_of(h.ga, t + 1, k);
    Vec* left = row_of(h.left, t, k);
    const Vec c = h.c[t];
    if constexpr (!Sphere) {
      for (int m = 0; m < k; ++m) h.z[m] = alpha * a_bar[m];
      softmax_adjoint_lanes(p, h.z, k, h.u);
      for (int m = 0; m < k; ++m) {
        bias_bar[m] += h.u[m];
        h.u[m] *= f;
        products_bar[m] += h.u[m];
        moved_bar[m] += (c - 1.0f) * h.u[m];
        left[m] = h.u[m];
      }
      if (t == 0) break;
      gram_times(gram, h.u, k, h.z);
      for (int m = 0; m < k; ++m) a_bar[m] = (1.0f - alpha) * a_bar[m] + h.z[m];
    } else {
      // Through the normalisation: next = a' / norm, c_next = c / norm, norm^2 = c^2 |v0|^2 + 2 c a'.moved + a' G a'.
      const Vec norm = h.norm[t], inverse = 1.0f / norm;
      Vec dot = c_bar * c * inverse, mix = {};
      for (int m = 0; m < k; ++m) dot += a_bar[m] * next[m];
      for (int m = 0; m < k; ++m) mix += next[m] * moved[m];
      const Vec square_bar = -0.5f * dot * inverse * inverse;
      Vec* pair = row_of(h.left, t + 1, k);
      c_bar = c_bar * inverse + square_bar * 2.0f * (c * norm0 + norm * mix);
      for (int m = 0; m < k; ++m) {
        moved_bar[m] += square_bar * 2.0f * c * norm * next[m];
        pair[m] += square_bar * norm * norm * next[m];
        a_bar[m] = a_bar[m] * inverse + square_bar * 2.0f * (c * moved[m] + norm * gnext[m]);
      }
      for (int m = 0; m < k; ++m) h.z[m] = alpha * a_bar[m];
      softmax_adjoint_lanes(p, h.z, k, h.u);
      for (int m = 0; m < k; ++m) {
        bias_bar[m] += h.u[m];
        h.u[m] *= f;
        products_bar[m] += c * h.u[m];
        c_bar += h.u[m] * products[m];
        left[m] = h.u[m];
      }
      if (t == 0) break;
      gram_times(gram, h.u, k, h.z);
      for (int m = 0; m < k; ++m) a_bar[m] += h.z[m];
    }
  }
}

// S[m][n] = sum over t = 1 ... n_steps of left_t[m] a_t[n] + a_t[m] left_t[n], into `out` [k][k].
template <int MU, int NU>
inline void gram_gradient_block(const GramHistory& h, int k, int n_steps, int m, int n, Vec* out) {
  Vec acc[MU][NU] = {};
  for (int t = 1; t <= n_steps; ++t) {
    const Vec* a = row_of(h.a, t, k);
    const Vec* left = row_of(h.left, t, k);
    for (int i = 0; i < MU; ++i)
      for (int j = 0; j < NU; ++j) {
        acc[i][j] += left[m + i] * a[n + j];
        acc[i][j] += a[m + i] * left[n + j];
      }
  }
  for (int i = 0; i < MU; ++i)
    for (int j = 0; j < NU; ++j) {
      row_of(out, m + i, k)[n + j] = acc[i][j];
      row_of(out, n + j, k)[m + i] = acc[i][j];
    }
}

inline void gram_gradient(const GramHistory& h, int k, int n_steps, Vec* out) {
  for_blocks<2, 1>(k, [&](auto rows, int m) {
    for_blocks<4, 1>(k, [&](auto columns, int n) { gram_gradient_block<rows, columns>(h, k, n_steps, m, n, out); }, m);
  });
}

}  // namespace
