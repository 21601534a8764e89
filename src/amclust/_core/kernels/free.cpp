// Rows whose coordinates all move: labels, recall, and the reconstruction objective.
#include "kernels/entry.hpp"
#include "kernels/gram.hpp"

namespace {

using amclust::FreeAdjoint;
using amclust::FreeTile;

// Scratch: products, moved == products, adjoints (4 k), history, gram gradient (k^2).
std::size_t free_scratch(const Network& net) {
  const std::size_t k = net.k;
  return (GramHistory::size(net.k, net.n_steps) + 5 * k + k * k) * W;
}

template <class Energy>
void forward(const Network& net, const FreeTile& tile) {
  const int k = net.k;
  Vec* memory = reinterpret_cast<Vec*>(tile.history);
  Vec* products = memory;
  GramHistory h(row_of(memory, 5, k), k, net.n_steps);
  rows_to_lanes(tile.products, net.kp, k, products);
  const Vec norm0 = tile.norm ? load(tile.norm) : splat(1.0f);
  const SharedGram gram{net.gram, k};
  gram_forward<Energy::on_sphere>(net, gram, products, products, norm0, h);

  lanes_to_rows(row_of(h.a, net.n_steps, k), k, tile.coef, net.kp);
  store(tile.scale, h.c[net.n_steps]);
  if (tile.winner) {
    float* square_norms = reinterpret_cast<float*>(memory + k);
    for (int m = 0; m < k; ++m) square_norms[m] = row_of(net.gram, m, k)[m];
    const IVec winner = gram_winner<Energy>(net, products, square_norms, h);
    for (int l = 0; l < W; ++l) tile.winner[l] = winner[l];
  }
  if (tile.trajectory_coef) {
    for (int t = 0; t <= net.n_steps; ++t) {
      lanes_to_rows(row_of(h.a, t, k), k, row_of(tile.trajectory_coef, t * W, net.kp), net.kp);
      store(row_of(tile.trajectory_scale, t, W), h.c[t]);
    }
  }
}

template <class Energy>
void backward(const Network& net, const FreeTile& tile, const FreeAdjoint& adjoint) {
  const int k = net.k;
  Vec* memory = reinterpret_cast<Vec*>(tile.history);
  Vec* products = memory;
  Vec* a_bar = memory + k;
  Vec* bias_bar = row_of(memory, 2, k);
  Vec* products_bar = row_of(memory, 3, k);
  Vec* moved_bar = row_of(memory, 4, k);
  GramHistory h(row_of(memory, 5, k), k, net.n_steps);
  Vec* s = row_of(memory, 5, k) + GramHistory::size(k, net.n_steps);

  rows_to_lanes(adjoint.coef_adjoint, net.kp, k, a_bar);
  const Vec norm0 = tile.norm ? load(tile.norm) : splat(1.0f);
  const SharedGram gram{net.gram, k};
  const Vec c_bar = load(adjoint.scale_adjoint);
  gram_backward<Energy::on_sphere>(net, gram, products, products, norm0, a_bar, c_bar, h, bias_bar, products_bar,
                                   moved_bar);
  for (int m = 0; m < k; ++m) products_bar[m] += moved_bar[m];
  lanes_to_rows(products_bar, k, adjoint.products_gradient, net.kp);
  gram_gradient(h, k, net.n_steps, s);
  for (int m = 0; m < k; ++m) {
    for (int l = 0; l < adjoint.lanes_used; ++l) adjoint.bias_gradient[m] += bias_bar[m][l];
    for (int n = 0; n < k; ++n) {
      const Vec& lanes = row_of(s, m, k)[n];
      float total = 0.0f;
      for (int l = 0; l < adjoint.lanes_used; ++l) total += lanes[l];
      row_of(adjoint.gram_gradient, m, k)[n] += total;
    }
  }
}

void free_forward(const Network& net, const FreeTile& tile) {
  amclust::with_energy(net.energy, [&](auto energy) { forward<decltype(energy)>(net, tile); });
}

void free_backward(const Network& net, const FreeTile& tile, const FreeAdjoint& adjoint) {
  amclust::with_energy(net.energy, [&](auto energy) { backward<decltype(energy)>(net, tile, adjoint); });
}

}  // namespace

void amclust::AMCLUST_ISA::fill_free(Kernels& table) {
  table.free_scratch = free_scratch;
  table.free_forward = free_forward;
  table.free_backward = free_backward;
}
