// The soft silhouette of a block of rows and its gradient, given the soft clusters' statistics.
//
// The mean squared distance of row i to cluster m is r2 = |x|^2 - 2 x.c_m + q_m (q_m: mean squared norm of the
// cluster). To its own cluster the row itself does not count, r2 w / (w - p), and a cluster that is little more than
// the row itself earns little, (1 - p / w): a singleton scores 0, as in the usual silhouette.
#include "kernels/entry.hpp"
#include "kernels/softmax.hpp"

namespace {

using amclust::CentreAdjoint;
using amclust::CentreBlock;
using amclust::SilhouetteBlock;

void silhouette_tile(SilhouetteBlock& block, int row) {
  const int k = block.k, kp = block.kp;
  const int used = block.n - row < W ? block.n - row : W;
  Vec* p = reinterpret_cast<Vec*>(block.scratch);
  Vec* r2 = p + k;
  Vec* distance_bar = r2 + k;
  Vec* direct_bar = distance_bar + k;
  rows_to_lanes(row_of(block.memberships, row, kp), kp, k, p);
  rows_to_lanes(row_of(block.products, row, kp), kp, k, r2);

  Vec norm = {}, weight = {};
  for (int l = 0; l < used; ++l) {
    norm[l] = block.norm[row + l];
    weight[l] = block.weight[row + l];
  }
  const Vec own = vmin(weight, splat(1.0f));  // one copy of the row, however heavy

  // Nearest and second nearest cluster.
  const Vec far = splat(3.0e38f);
  Vec first = far, second = far;
  IVec first_at = {}, second_at = {};
  for (int m = 0; m < k; ++m) {
    r2[m] = vmax(norm - 2.0f * r2[m] + block.mean_square[m], splat(1e-12f));
    distance_bar[m] = Vec{};
    if (block.size[m] < block.size_floor) continue;
    const IVec nearest = r2[m] < first, next = r2[m] < second;
    second_at = (nearest & first_at) | (~nearest & ((next & (IVec{} + m)) | (~next & second_at)));
    second = select(nearest, first, select(next, r2[m], second));
    first_at = (nearest & (IVec{} + m)) | (~nearest & first_at);
    first = select(nearest, r2[m], first);
  }
  const Vec first_root = vsqrt(first), second_root = vsqrt(second);

  Vec value = {}, first_bar = {}, second_bar = {};
  for (int m = 0; m < k; ++m) {
    if (block.size[m] < block.size_floor) {
      direct_bar[m] = Vec{};
      continue;
    }
    const Vec w = splat(block.size[m]), inverse_w = 1.0f / w;
    const Vec ep = own * p[m];
    const Vec inverse_rest = 1.0f / vmax(w - ep, 1e-4f * w);
    const Vec factor = w * inverse_rest;
    const Vec keep = vmax(1.0f - ep * inverse_w, Vec{});
    const IVec is_first = first_at == m;
    const Vec a = vsqrt(r2[m] * factor);
    const Vec b = select(is_first, second_root, first_root);
    const IVec good = a < b;
    const Vec larger = vmax(a, b);
    const Vec inverse_larger = 1.0f / larger;
    const Vec s = (b - a) * inverse_larger;
    const Vec ds_da = -select(good, inverse_larger, b * inverse_larger * inverse_larger);
    const Vec ds_db = select(good, a * inverse_larger * inverse_larger, inverse_larger);
    const Vec mass = weight * p[m] * keep;
    value += p[m] * keep * s;

    const Vec a_bar = mass * ds_da;
    const Vec b_bar = mass * ds_db / (2.0f * b);
    first_bar += select(is_first, Vec{}, b_bar);
    second_bar += select(is_first, b_bar, Vec{});
    distance_bar[m] += a_bar * factor / (2.0f * a);
    // a depends on p and w through the factor, the mass through `keep`.
    const Vec factor_bar = a_bar * a / (2.0f * factor);
    const Vec keep_bar = weight * p[m] * s;
    const Vec ratio = inverse_rest * inverse_rest;
    direct_bar[m] = weight * keep * s + factor_bar * own * w * ratio - keep_bar * own * inverse_w;
    const Vec size_bar = -factor_bar * ep * ratio + keep_bar * ep * inverse_w * inverse_w;
    float total = 0.0f;
    for (int l = 0; l < used; ++l) total += size_bar[l];
    block.size_gradient[m] += total;
  }
  for (int m = 0; m < k; ++m) {
    distance_bar[m] += select(first_at == m, first_bar, Vec{});
    distance_bar[m] += select(second_at == m, second_bar, Vec{});
  }
  lanes_to_rows(distance_bar, k, row_of(block.distance_gradient, row, kp), kp);
  lanes_to_rows(direct_bar, k, row_of(block.direct_gradient, row, kp), kp);
  for (int l = 0; l < used; ++l) {
    block.row_value[row + l] = value[l];
    block.loss += static_cast<double>(weight[l]) * value[l];
  }
}

void silhouette(SilhouetteBlock& block) {
  block.loss = 0.0;
  for (int row = 0; row < block.n; row += W) silhouette_tile(block, row);
}

void finish_centres(const CentreBlock& block) {
  for (int c = 0; c < block.kp; c += W) {
    const Vec inverse_size = load(block.inverse_size + c);
    Vec norm = load(block.norm + c), offset = load(block.offset + c);
    for (int j = 0; j < block.n; ++j) {
      float* to = row_of(block.centres, j, block.kp) + c;
      const Vec centre = load(to) * inverse_size, away = load(row_of(block.memories, j, block.kp) + c) - centre;
      store(to, centre);
      norm += centre * centre;
      offset += away * away;
    }
    store(block.norm + c, norm);
    store(block.offset + c, offset);
  }
}

void centre_adjoint(const CentreAdjoint& block) {
  const Vec by_product = splat(block.by_product), anchor = splat(-2.0f * block.anchor), tie = splat(-2.0f * block.tie);
  for (int c = 0; c < block.kp; c += W) {
    const Vec inverse_size = load(block.inverse_size + c), stretch = load(block.stretch + c);
    Vec dot = load(block.dot + c);
    for (int j = 0; j < block.n; ++j) {
      float* to = row_of(block.gradient, j, block.kp) + c;
      const Vec centre = load(row_of(block.centres, j, block.kp) + c);
      const Vec by_centre = by_product * load(to), place = stretch * centre;
      dot += by_centre * centre;
      store(to,
            by_centre * inverse_size + anchor * place + tie * (load(row_of(block.memories, j, block.kp) + c) - place));
    }
    store(block.dot + c, dot);
  }
}

void add_tie(const float* memories, const float* centres, const float* rate, int n, int kp, float* out) {
  for (int j = 0; j < n; ++j) {
    const float *memory = row_of(memories, j, kp), *centre = row_of(centres, j, kp);
    float* to = row_of(out, j, kp);
    for (int c = 0; c < kp; c += W)
      store(to + c, load(to + c) + load(rate + c) * (load(memory + c) - load(centre + c)));
  }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_silhouette(Kernels& table) {
  table.silhouette = silhouette;
  table.finish_centres = finish_centres;
  table.centre_adjoint = centre_adjoint;
  table.add_tie = add_tie;
}
