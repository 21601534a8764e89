// The paper's ablation: nothing is hidden, every coordinate moves, and the final state is compared with the row (mean
// over its observed coordinates).
#include "objectives/moving_block.hpp"

#include <algorithm>

namespace amclust {
namespace {

struct ReconstructionWorkspace : ChunkedObjective::Workspace {
  MovingBlock moving;
  Buffer rows_of_memories;                      // [k][d]
  Buffer coef, coef_bar, products_bar;          // [block][kp]
  Buffer coef_t, coef_bar_t, state_t;           // [k][block], [k][block], [d][block]
  Buffer scale, scale_bar;                      // [block]
  Buffer history, gram_gradient, square, temp;  // per block
};

// Every coordinate in the list of moving ones.
void move_all(const Batch& batch, int first, int n, const Memories& memories, const Dataset& data,
              const std::vector<float>& share, MovingBlock& moving, BlockOutput& out) {
  const int lanes = kernels().lanes, d = memories.d;
  for (int tile = 0; tile < n; tile += lanes) {
    const int used = std::min(lanes, n - tile);
    moving.clear(memories, d);
    for (int l = 0; l < used; ++l) {
      const std::size_t row = static_cast<std::size_t>(tile + l) * memories.ld;
      const std::size_t hole = static_cast<std::size_t>(tile + l) * d;
      for (int j = 0; j < d; ++j) {
        const std::size_t o = static_cast<std::size_t>(j) * lanes + l;
        moving.feature[o] = j;
        moving.start[o] = moving.target[o] = moving.rows[row + j];
        moving.loss_weight[o] = data.has_missing && moving.missing[hole + j] ? 0.0f : share[tile + l];
      }
    }
    moving.run(memories, tile, used, d, batch.weights ? batch.weights + first + tile : nullptr, out);
  }
}

class Reconstruction final : public ChunkedObjective {
 public:
  Reconstruction(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}
  bool needs_gram(const Memories& memories) const override { return !memories.cheaper_by_coordinates(); }

 protected:
  std::unique_ptr<Workspace> make_workspace() const override;
  void block(const Batch& batch, int first, int n, const Memories& memories, Workspace& workspace,
             BlockOutput& out) const override;

 private:
  const Dataset& data_;
  ObjectiveSettings settings_;
};

std::unique_ptr<ChunkedObjective::Workspace> Reconstruction::make_workspace() const {
  return std::make_unique<ReconstructionWorkspace>();
}

void Reconstruction::block(const Batch& batch, int first, int n, const Memories& memories, Workspace& workspace,
                           BlockOutput& out) const {
  auto& work = static_cast<ReconstructionWorkspace&>(workspace);
  MovingBlock& moving = work.moving;
  const Kernels& kernel = kernels();
  const int lanes = kernel.lanes, d = data_.features, ld = memories.ld, k = memories.k, kp = memories.kp,
            b = kBlockRows;
  moving.rows.resize(static_cast<std::size_t>(b) * ld);
  if (data_.has_missing) moving.missing.resize(static_cast<std::size_t>(b) * d);
  data_.load(batch.rows + first, n, settings_.fill.data(), moving.rows.data(), ld, moving.missing.data());
  moving.prepare(memories, memories.cheaper_by_coordinates() ? d : 1);

  std::vector<float> share(n);
  for (int i = 0; i < n; ++i) {
    int observed = d;
    if (data_.has_missing) {
      const std::uint8_t* missing = moving.missing.data() + static_cast<std::ptrdiff_t>(i) * d;
      observed -= static_cast<int>(std::count(missing, missing + d, std::uint8_t{1}));
    }
    const double weight = batch.weights ? batch.weights[first + i] : 1.0;
    share[i] = observed ? static_cast<float>(weight / (observed * batch.total_weight)) : 0.0f;
  }

  const float* values = memories.values.data();
  std::fill(moving.products.data(), moving.products.data() + static_cast<std::ptrdiff_t>(b) * kp, 0.0f);
  memories.panel.products(moving.rows.data(), n, moving.products.data());
  if (memories.cheaper_by_coordinates()) {
    move_all(batch, first, n, memories, data_, share, moving, out);
    out.outer->add(moving.rows.data(), n, moving.products.data());
    note_candidates(batch, first, n, moving.badness.data(), *out.candidates);
    return;
  }

  const Network net = memories.network();
  const std::size_t block_kp = static_cast<std::size_t>(b) * kp, tile_history = kernel.free_scratch(net);
  work.coef.resize(block_kp);
  work.coef_bar.resize(block_kp);
  work.products_bar.resize(block_kp);
  work.coef_t.resize(static_cast<std::size_t>(k) * b);
  work.coef_bar_t.resize(static_cast<std::size_t>(k) * b);
  work.state_t.resize(static_cast<std::size_t>(d) * b);
  work.scale.resize(b);
  work.scale_bar.resize(b);
  work.history.resize(tile_history * (b / lanes));
  work.gram_gradient.resize(static_cast<std::size_t>(k) * k);
  work.square.resize(static_cast<std::size_t>(kp) * kp);
  work.temp.resize(static_cast<std::size_t>(d) * kp);
  work.rows_of_memories.resize(static_cast<std::size_t>(k) * d);
  memories.get(work.rows_of_memories.data());
  std::fill(moving.norm.data(), moving.norm.data() + b, 1.0f);
  kernel.norms(moving.rows.data(), ld, n, moving.norm.data());

  std::vector<std::int32_t> winner(b);
  const auto tile_at = [&](int tile) {
    FreeTile t{};
    t.products = moving.products.data() + static_cast<std::ptrdiff_t>(tile) * kp;
    t.norm = moving.norm.data() + tile;
    t.coef = work.coef.data() + static_cast<std::ptrdiff_t>(tile) * kp;
    t.scale = work.scale.data() + tile;
    t.history = work.history.data() + tile_history * (tile / lanes);
    t.winner = winner.data() + tile;
    return t;
  };
  work.coef.zero();
  for (int tile = 0; tile < n; tile += lanes) kernel.free_forward(net, tile_at(tile));

  // Final states, transposed: [d][block] = memories^T coefficients^T + scale * rows.
  work.state_t.zero();
  for (int i = 0; i < b; ++i)
    for (int m = 0; m < k; ++m)
      work.coef_t[static_cast<std::size_t>(m) * b + i] = i < n ? work.coef[static_cast<std::size_t>(i) * kp + m] : 0.0f;
  kernel.outer(work.rows_of_memories.data(), d, k, d, work.coef_t.data(), b, work.state_t.data());
  work.scale_bar.zero();
  std::fill(moving.badness.data(), moving.badness.data() + b, 0.0f);
  for (int i = 0; i < n; ++i) {
    const float* x = moving.rows.data() + static_cast<std::ptrdiff_t>(i) * ld;
    const std::uint8_t* missing =
        data_.has_missing ? moving.missing.data() + static_cast<std::ptrdiff_t>(i) * d : nullptr;
    float loss = 0.0f, scale_bar = 0.0f;
    for (int j = 0; j < d; ++j) {
      float& state = work.state_t[static_cast<std::size_t>(j) * b + i];
      const float residual = missing && missing[j] ? 0.0f : state + work.scale[i] * x[j] - x[j];
      loss += residual * residual;
      state = 2.0f * share[i] * residual;  // from here on the gradient by the final state
      scale_bar += state * x[j];
    }
    moving.badness[i] = share[i] * loss;
    work.scale_bar[i] = scale_bar;
    out.loss += static_cast<double>(share[i]) * loss;
    (*out.wins)[winner[i]] += batch.weights ? batch.weights[first + i] : 1.0;
  }

  // Back: coefficients, then the recursion, then the products and the memories' inner products.
  kernel.products(work.rows_of_memories.data(), d, k, d, work.state_t.data(), b, work.coef_bar_t.data());
  work.coef_bar.zero();
  for (int i = 0; i < n; ++i)
    for (int m = 0; m < k; ++m)
      work.coef_bar[static_cast<std::size_t>(i) * kp + m] = work.coef_bar_t[static_cast<std::size_t>(m) * b + i];
  work.gram_gradient.zero();
  work.products_bar.zero();
  for (int tile = 0; tile < n; tile += lanes) {
    FreeAdjoint adjoint{};
    adjoint.coef_adjoint = work.coef_bar.data() + static_cast<std::ptrdiff_t>(tile) * kp;
    adjoint.scale_adjoint = work.scale_bar.data() + tile;
    adjoint.products_gradient = work.products_bar.data() + static_cast<std::ptrdiff_t>(tile) * kp;
    adjoint.gram_gradient = work.gram_gradient.data();
    adjoint.bias_gradient = out.bias_gradient;
    adjoint.lanes_used = std::min(lanes, n - tile);
    kernel.free_backward(net, tile_at(tile), adjoint);
  }
  out.outer->add(moving.rows.data(), n, work.products_bar.data());
  const auto add_temp = [&] {
    for (std::size_t i = 0; i < work.temp.size(); ++i) out.gradient[i] += work.temp[i];
  };
  kernel.products(work.state_t.data(), b, d, b, work.coef.data(), kp, work.temp.data());
  add_temp();
  work.square.zero();
  for (int m = 0; m < k; ++m)
    for (int o = 0; o < k; ++o)
      work.square[static_cast<std::size_t>(m) * kp + o] = work.gram_gradient[static_cast<std::size_t>(m) * k + o];
  kernel.products(values, kp, d, kp, work.square.data(), kp, work.temp.data());
  add_temp();
  note_candidates(batch, first, n, moving.badness.data(), *out.candidates);
}

}  // namespace

std::unique_ptr<Objective> make_reconstruction(const Dataset& data, const ObjectiveSettings& settings) {
  return std::make_unique<Reconstruction>(data, settings);
}

}  // namespace amclust
