// Rows of which only some coordinates move: the completion objective and the filling of missing values.
//
// Every lane has its own moving features. Their memories are gathered once, Rh[n_moving][k] vectors, and the recursion
// runs either on the coordinates (6 k q T multiplications forward and back) or on k coefficients (gram.hpp: about
// 1.5 k^2 q + 3 k^2 T). Both give the same gradient; the cheaper one is taken.
#include "kernels/entry.hpp"
#include "kernels/gram.hpp"

namespace {

using amclust::MovingTile;

bool use_gram(const Network& net, int q) {
  const double k = net.k, t = net.n_steps;
  return (1.5 * q + 3.0 * t) * k < 6.0 * q * t;
}

// Vectors from one coordinate's memories to the next one's: k, padded so that blocks of W (or, last, of four) fit.
int stride_of(int k) {
  const int rest = k % W;
  if (W == 8 && rest > 0 && rest <= 4) return k - rest + 4;
  return (k + W - 1) / W * W;
}

struct Scratch {
  Vec *rh, *moved, *products, *a_bar, *bias_bar, *products_bar, *moved_bar, *g, *gram, *out, *history;

  Scratch(float* memory, int k, int q) {
    Vec* at = reinterpret_cast<Vec*>(memory);
    auto take = [&at](std::size_t count) {
      Vec* here = at;
      at += count;
      return here;
    };
    const int stride = stride_of(k);
    rh = take(static_cast<std::size_t>(q) * stride);
    moved = take(k);
    products = take(k);
    a_bar = take(k);
    bias_bar = take(k);
    products_bar = take(k);
    moved_bar = take(k);
    g = take(q);
    gram = take(static_cast<std::size_t>(k) * k);
    out = take(3 * static_cast<std::size_t>(stride));  // gradients of three coordinates, zero in the padding
    for (int i = 0; i < 3 * stride; ++i) out[i] = Vec{};
    history = at;
  }
};

std::size_t moving_scratch(const Network& net, int q) {
  const std::size_t k = net.k, t = net.n_steps, stride = stride_of(net.k);
  const std::size_t coordinates = 2 * t * k + 2 * (t + 1) * q + k;
  const std::size_t coefficients = GramHistory::size(net.k, net.n_steps) + k * k;
  const std::size_t common = q * stride + 6 * k + q + k * k + 3 * stride;
  return (common + (coordinates > coefficients ? coordinates : coefficients)) * W;
}

// rh[j][m] lane l = memory m at the j-th moving feature of row l
void gather(const Network& net, const MovingTile& tile, Vec* rh) {
  const float* rows[W];
  const int stride = stride_of(net.k);
  for (int j = 0; j < tile.n_moving; ++j, rh += stride) {
    const std::int32_t* feature = row_of(tile.feature, j, W);
    for (int l = 0; l < W; ++l) rows[l] = row_of(net.memories, feature[l], net.kp);
    int m = 0;
    for (; m + W <= stride; m += W) {
      load_transposed(rows, rh + m);
      for (int l = 0; l < W; ++l) rows[l] += W;
    }
#if AMCLUST_LANES == 8 && defined(__AVX__)
    if (m < stride) load_transposed_four(rows, rh + m);
#endif
  }
}

// gradient[feature[l]][m] += values[m][l] for one moving coordinate; values are zero in the padding.
void scatter(const Network& net, const MovingTile& tile, int j, const Vec* values) {
  float* rows[W];
  Vec block[W];
  const int stride = stride_of(net.k);
  const std::int32_t* feature = row_of(tile.feature, j, W);
  for (int l = 0; l < W; ++l) rows[l] = row_of(tile.gradient, feature[l], net.kp);
  int m = 0;
  for (; m + W <= stride; m += W) {
    for (int i = 0; i < W; ++i) block[i] = values[m + i];
    add_transposed(rows, block);
    for (int l = 0; l < W; ++l) rows[l] += W;
  }
#if AMCLUST_LANES == 8 && defined(__AVX__)
  if (m < stride) add_transposed_four(rows, values + m);
#endif
}

// out[m] = sum_j rh[j][m] v[j]
template <int N>
inline void project_block(const Vec* rh, int q, int stride, const float* v, Vec* out) {
  Vec acc[N] = {};
  for (int j = 0; j < q; ++j) {
    const Vec x = load(row_of(v, j, W));
    for (int i = 0; i < N; ++i) acc[i] += row_of(rh, j, stride)[i] * x;
  }
  for (int i = 0; i < N; ++i) out[i] = acc[i];
}

inline void project(const Vec* rh, int q, int k, const float* v, Vec* out) {
  const int stride = stride_of(k);
  for_blocks<8, 4>(k, [&](auto size, int m) { project_block<size>(rh + m, q, stride, v, out + m); });
}

inline float* at(Vec* v) { return reinterpret_cast<float*>(v); }
inline const float* at(const Vec* v) { return reinterpret_cast<const float*>(v); }

// out[j] = keep * v[j] + sum_m coef[m] rh[j][m]
template <int N>
inline void combine_block(const Vec* rh, int stride, int k, const Vec* coef, Vec keep, const float* v, float* out) {
  Vec acc[N];
  for (int i = 0; i < N; ++i) acc[i] = keep * load(v + i * W);
  for (int m = 0; m < k; ++m)
    for (int i = 0; i < N; ++i) acc[i] += coef[m] * row_of(rh, i, stride)[m];
  for (int i = 0; i < N; ++i) store(out + i * W, acc[i]);
}

inline void combine(const Vec* rh, int q, int k, const Vec* coef, Vec keep, const float* v, float* out) {
  const int stride = stride_of(k);
  for_blocks<6, 2>(q, [&](auto size, int j) {
    combine_block<size>(row_of(rh, j, stride), stride, k, coef, keep, row_of(v, j, W), row_of(out, j, W));
  });
}

// Loss of the final state and its gradient g = dL/dv.
void compare(const MovingTile& tile, Vec* g) {
  Vec loss = {};
  for (int j = 0; j < tile.n_moving; ++j) {
    const Vec weight = load(row_of(tile.loss_weight, j, W));
    const Vec residual = load(row_of(tile.state, j, W)) - load(row_of(tile.target, j, W));
    loss += weight * residual * residual;
    g[j] = 2.0f * weight * residual;
  }
  store(tile.loss, loss);
}

void finish(const Network& net, const MovingTile& tile, const Vec* bias_bar, Vec* products_bar) {
  lanes_to_rows(products_bar, net.k, tile.products, net.kp);
  for (int m = 0; m < net.k; ++m)
    for (int l = 0; l < tile.lanes_used; ++l) tile.bias_gradient[m] += bias_bar[m][l];
}

template <int MU, int NU>
inline void gram_block(const Vec* rh, int q, int k, int m, int n, Vec* out) {
  Vec acc[MU][NU] = {};
  const int stride = stride_of(k);
  for (int j = 0; j < q; ++j) {
    const Vec* r = row_of(rh, j, stride);
    for (int i = 0; i < MU; ++i)
      for (int o = 0; o < NU; ++o) acc[i][o] += r[m + i] * r[n + o];
  }
  for (int i = 0; i < MU; ++i)
    for (int o = 0; o < NU; ++o) {
      row_of(out, m + i, k)[n + o] = acc[i][o];
      row_of(out, n + o, k)[m + i] = acc[i][o];
    }
}

void gram_of(const Vec* rh, int q, int k, Vec* out) {
  for_blocks<3>(k, [&](auto rows, int m) {
    for_blocks<4>(k, [&](auto columns, int n) { gram_block<rows, columns>(rh, q, k, m, n, out); }, m);
  });
}

// out[j][m] = moved_bar[m] v0_j + coef[m] g_j + sum_n S[m][n] rh[j][n], for J coordinates and M memories.
template <int J, int M>
inline void coordinate_gradient(const Vec* rh, const Vec* s, const Vec* moved_bar, const Vec* coef, const float* start,
                                const Vec* g, int k, int m, Vec* out) {
  Vec acc[J][M];
  const int stride = stride_of(k);
  for (int j = 0; j < J; ++j)
    for (int i = 0; i < M; ++i) acc[j][i] = moved_bar[m + i] * load(start + j * W) + coef[m + i] * g[j];
  for (int n = 0; n < k; ++n) {
    const Vec* row = row_of(s, n, k) + m;  // symmetric
    for (int j = 0; j < J; ++j) {
      const Vec r = row_of(rh, j, stride)[n];
      for (int i = 0; i < M; ++i) acc[j][i] += row[i] * r;
    }
  }
  for (int j = 0; j < J; ++j)
    for (int i = 0; i < M; ++i) row_of(out, j, stride)[m + i] = acc[j][i];
}

template <int J>
inline void coordinate_gradients(const Vec* rh, const Vec* s, const Vec* moved_bar, const Vec* coef, const float* start,
                                 const Vec* g, int k, Vec* out) {
  for_blocks<4>(k,
                [&](auto size, int m) { coordinate_gradient<J, size>(rh, s, moved_bar, coef, start, g, k, m, out); });
}

void by_coefficients(const Network& net, const MovingTile& tile, Scratch& s) {
  const int k = net.k, q = tile.n_moving;
  GramHistory h(s.history, k, net.n_steps);
  Vec* gram_bar = s.history + GramHistory::size(k, net.n_steps);
  project(s.rh, q, k, tile.start, s.moved);
  gram_of(s.rh, q, k, s.gram);
  const LaneGram gram{s.gram, k};
  gram_forward<false>(net, gram, s.products, s.moved, Vec{}, h);

  const Vec* a = row_of(h.a, net.n_steps, k);
  combine(s.rh, q, k, a, h.c[net.n_steps], tile.start, tile.state);
  const IVec winner = argmax_lanes(row_of(h.p, net.n_steps - 1, k), k);
  for (int l = 0; l < W; ++l) tile.winner[l] = winner[l];
  compare(tile, s.g);
  if (!tile.gradient) return;

  project(s.rh, q, k, at(s.g), s.a_bar);
  gram_backward<false>(net, gram, s.products, s.moved, Vec{}, s.a_bar, Vec{}, h, s.bias_bar, s.products_bar,
                       s.moved_bar);
  gram_gradient(h, k, net.n_steps, gram_bar);
  const int stride = stride_of(k);
  for_blocks<3, 1>(q, [&](auto size, int j) {
    coordinate_gradients<size>(row_of(s.rh, j, stride), gram_bar, s.moved_bar, a, row_of(tile.start, j, W), s.g + j, k,
                               s.out);
    for (int i = 0; i < size; ++i) scatter(net, tile, j + i, row_of(s.out, i, stride));
  });
  finish(net, tile, s.bias_bar, s.products_bar);
}

// Gradient of N memories at J coordinates, from all steps. `products` takes the start of every coordinate, the logits
// see only the visible ones: the first term takes the others back.
template <int J, int N>
inline void step_gradient(const Vec* p, const Vec* u, const Vec* pull, const Vec* v, const Vec* products_bar, int k,
                          int q, int steps, Vec* out) {
  Vec acc[J][N];
  for (int j = 0; j < J; ++j)
    for (int i = 0; i < N; ++i) acc[j][i] = -products_bar[i] * v[j];
  for (int t = 0; t < steps; ++t, p += k, u += k, pull += q, v += q) {
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < J; ++j) acc[j][i] += p[i] * pull[j];
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < J; ++j) acc[j][i] += u[i] * v[j];
  }
  const int stride = stride_of(k);
  for (int j = 0; j < J; ++j)
    for (int i = 0; i < N; ++i) row_of(out, j, stride)[i] = acc[j][i];
}

template <int J>
inline void step_gradients(const Vec* p, const Vec* u, const Vec* pull, const Vec* v, const Vec* products_bar, int k,
                           int q, int steps, Vec* out) {
  for_blocks<4>(k, [&](auto size, int m) {
    step_gradient<J, size>(p + m, u + m, pull, v, products_bar + m, k, q, steps, out + m);
  });
}

// The state is kept coordinate by coordinate.
void by_coordinates(const Network& net, const MovingTile& tile, Scratch& s) {
  const int k = net.k, q = tile.n_moving, steps = net.n_steps;
  const Vec f = splat(logit_factor(net)), alpha = splat(net.step_size);
  Vec* p = s.history;                   // [steps][k]
  Vec* u = row_of(p, steps, k);         // [steps][k]
  Vec* v = row_of(u, steps, k);         // [steps + 1][q]
  Vec* pull = row_of(v, steps + 1, q);  // [steps][q]: alpha dL/dv after each step
  Vec* z = row_of(pull, steps + 1, q);

  // The logits' part that never moves: bias and visible coordinates.
  project(s.rh, q, k, tile.start, s.moved);
  Vec* base = s.a_bar;
  for (int m = 0; m < k; ++m) base[m] = splat(net.bias[m]) + f * (s.products[m] - s.moved[m]);
  for (int j = 0; j < q; ++j) v[j] = load(row_of(tile.start, j, W));
  Vec total;
  for (int t = 0; t < steps; ++t) {
    Vec* pt = row_of(p, t, k);
    const Vec* vt = row_of(v, t, q);
    Vec* next = row_of(v, t + 1, q);
    project(s.rh, q, k, at(vt), pt);
    for (int m = 0; m < k; ++m) pt[m] = base[m] + f * pt[m];
    softmax_lanes(pt, k, total);
    for (int m = 0; m < k; ++m) z[m] = alpha * pt[m];
    combine(s.rh, q, k, z, 1.0f - alpha, at(vt), at(next));
  }
  for (int j = 0; j < q; ++j) store(row_of(tile.state, j, W), row_of(v, steps, q)[j]);
  const IVec winner = argmax_lanes(row_of(p, steps - 1, k), k);
  for (int l = 0; l < W; ++l) tile.winner[l] = winner[l];
  compare(tile, s.g);
  if (!tile.gradient) return;

  for (int m = 0; m < k; ++m) s.bias_bar[m] = Vec{};
  for (int t = steps - 1; t >= 0; --t) {
    const Vec* pt = row_of(p, t, k);
    Vec* ut = row_of(u, t, k);
    Vec* ht = row_of(pull, t, q);
    for (int j = 0; j < q; ++j) ht[j] = alpha * s.g[j];
    project(s.rh, q, k, at(ht), z);
    softmax_adjoint_lanes(pt, z, k, ut);
    for (int m = 0; m < k; ++m) {
      s.bias_bar[m] += ut[m];
      ut[m] *= f;
    }
    if (t == 0) break;
    combine(s.rh, q, k, ut, 1.0f - alpha, at(s.g), at(s.g));
  }
  for (int m = 0; m < k; ++m) s.products_bar[m] = f * s.bias_bar[m];
  const int stride = stride_of(k);
  for_blocks<3, 1>(q, [&](auto size, int j) {
    step_gradients<size>(p, u, pull + j, v + j, s.products_bar, k, q, steps, s.out);
    for (int i = 0; i < size; ++i) scatter(net, tile, j + i, row_of(s.out, i, stride));
  });
  finish(net, tile, s.bias_bar, s.products_bar);
}

void moving(const Network& net, const MovingTile& tile) {
  Scratch s(tile.scratch, net.k, tile.n_moving);
  gather(net, tile, s.rh);
  rows_to_lanes(tile.products, net.kp, net.k, s.products);
  use_gram(net, tile.n_moving) ? by_coefficients(net, tile, s) : by_coordinates(net, tile, s);
}

}  // namespace

void amclust::AMCLUST_ISA::fill_moving(Kernels& table) {
  table.moving_scratch = moving_scratch;
  table.moves_by_coefficients = use_gram;
  table.moving = moving;
}
