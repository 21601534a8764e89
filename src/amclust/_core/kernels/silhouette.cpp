// The soft silhouette of a block of rows and its gradient, given the soft clusters' statistics.
//
// The mean squared distance of row i to cluster m is r2 = |x|^2 - 2 x.c_m + q_m (q_m: mean squared norm of the
// cluster). To its own cluster the row itself does not count, r2 w / (w - p), and a cluster that is little more than
// the row itself earns little, (1 - p / w): a singleton scores 0, as in the usual silhouette.
#include "kernels/entry.hpp"
#include "kernels/softmax.hpp"

namespace {

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

}  // namespace

void amclust::AMCLUST_ISA::fill_silhouette(Kernels& table) { table.silhouette = silhouette; }
