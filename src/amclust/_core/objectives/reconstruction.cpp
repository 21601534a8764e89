// The paper's ablation: nothing is hidden, every coordinate moves, and the final state is compared with the row (mean
// over its observed coordinates).
#include "objectives/moving_block.hpp"

namespace amclust {
namespace {

struct ReconstructionWorkspace : ChunkedObjective::Workspace {
  MovingBlock moving;
  std::vector<float> share;            // of each row in the loss, per observed coordinate
  std::vector<std::int32_t> winner;    // [block]
  Matrix memory_rows;                  // [k][d]
  Matrix coef, coef_bar;               // [block][kp] of the final states
  Matrix products_bar;                 // [block][kp]
  Matrix coef_t, coef_bar_t, state_t;  // [k][block], [k][block], [d][block]
  Buffer scale, scale_bar;             // [block]
  Matrix history;                      // of each tile
  Matrix gram_bar, gram_bar_padded;    // [k][k], [kp][kp]
  Matrix term;                         // [d][kp] of the gradient

  void resize(const Memories& memories) {
    const Kernels& kernel = kernels();
    const int k = memories.k, kp = memories.kp, d = memories.d;
    for (Matrix* matrix : {&coef, &coef_bar, &products_bar}) matrix->resize(kBlockRows, kp);
    for (Matrix* matrix : {&coef_t, &coef_bar_t}) matrix->resize(k, kBlockRows);
    state_t.resize(d, kBlockRows);
    for (Buffer* buffer : {&scale, &scale_bar}) buffer->resize(kBlockRows);
    winner.resize(kBlockRows);
    history.resize(kBlockRows / kernel.lanes, static_cast<int>(kernel.free_scratch(memories.network())));
    gram_bar.resize(k, k);
    gram_bar_padded.resize(kp, kp);
    term.resize(d, kp);
    memory_rows.resize(k, d);
  }

  FreeTile tile(int first) {
    FreeTile t{};
    t.products = moving.products.row(first);
    t.norm = moving.norm.data() + first;
    t.coef = coef.row(first);
    t.scale = scale.data() + first;
    t.history = history.row(first / kernels().lanes);
    t.winner = winner.data() + first;
    return t;
  }
};

class Reconstruction final : public ChunkedObjective {
 public:
  Reconstruction(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}
  bool needs_gram(const Memories& memories) const override { return !memories.cheaper_by_coordinates(); }

 protected:
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<ReconstructionWorkspace>(); }

  void add_block(const Batch& batch, BlockOfRows block, const Memories& memories, Workspace& workspace,
                 PartSums& out) const override {
    auto& work = static_cast<ReconstructionWorkspace&>(workspace);
    MovingBlock& moving = work.moving;
    const bool by_coordinates = memories.cheaper_by_coordinates();
    moving.load(data_, batch, block, settings_.fill, memories.ld);
    moving.prepare(memories, by_coordinates ? memories.d : 1);
    share_out(batch, block, work);
    moving.products.zero();
    memories.panel.products(moving.rows.block(0, block.n), moving.products);
    if (by_coordinates) {
      move_coordinates(batch, block, memories, work, out);
    } else {
      work.resize(memories);
      move_coefficients(block, memories, work);
      compare(batch, block, work, out);
      back(block, memories, work, out);
    }
    note_candidates(batch, block, moving.badness.data(), out.candidates);
  }

 private:
  void share_out(const Batch& batch, BlockOfRows block, ReconstructionWorkspace& work) const {
    work.share.resize(block.n);
    for (int i = 0; i < block.n; ++i) {
      const double observed = data_.observed_columns(work.moving.missing.row(i));
      const double weight = batch.weights ? batch.weights[block.first + i] : 1.0;
      work.share[i] = observed > 0.0 ? static_cast<float>(weight / (observed * batch.total_weight)) : 0.0f;
    }
  }

  // Every coordinate in the list of moving ones.
  void move_coordinates(const Batch& batch, BlockOfRows block, const Memories& memories, ReconstructionWorkspace& work,
                        PartSums& out) const {
    MovingBlock& moving = work.moving;
    const int lanes = kernels().lanes, d = memories.d;
    for (int tile = 0; tile < block.n; tile += lanes) {
      const int used = std::min(lanes, block.n - tile);
      moving.clear(memories, d);
      for (int l = 0; l < used; ++l) {
        const int i = tile + l;
        const float* x = moving.rows.row(i);
        const std::uint8_t* missing = moving.missing.row(i);
        for (int j = 0; j < d; ++j) moving.move(j, l, j, x[j], x[j], missing && missing[j] ? 0.0f : work.share[i]);
      }
      moving.run(memories, tile, used, d, batch.weights ? batch.weights + block.first + tile : nullptr, out);
    }
    out.outer.add(moving.rows.block(0, block.n), moving.products);
  }

  // The final states' coefficients and, transposed, what they make of the memories.
  void move_coefficients(BlockOfRows block, const Memories& memories, ReconstructionWorkspace& work) const {
    MovingBlock& moving = work.moving;
    const Kernels& kernel = kernels();
    const int k = memories.k, d = memories.d, lanes = kernel.lanes;
    memories.get(work.memory_rows.data());
    std::fill_n(moving.norm.data(), kBlockRows, 1.0f);
    kernel.norms(moving.rows.data(), memories.ld, block.n, moving.norm.data());
    work.coef.zero();
    for (int tile = 0; tile < block.n; tile += lanes) kernel.free_forward(memories.network(), work.tile(tile));
    for (int i = 0; i < kBlockRows; ++i)
      for (int m = 0; m < k; ++m) work.coef_t(m, i) = i < block.n ? work.coef(i, m) : 0.0f;
    work.state_t.zero();
    kernel.outer(work.memory_rows.data(), d, k, d, work.coef_t.data(), kBlockRows, work.state_t.data());
  }

  // The loss; `state_t` becomes the gradient by the final state.
  void compare(const Batch& batch, BlockOfRows block, ReconstructionWorkspace& work, PartSums& out) const {
    MovingBlock& moving = work.moving;
    work.scale_bar.zero();
    moving.badness.zero();
    const MatrixView<float> states = work.state_t;
    for (int i = 0; i < block.n; ++i) {
      const float *x = moving.rows.row(i), share = work.share[i], scale = work.scale[i];
      const std::uint8_t* missing = moving.missing.row(i);
      float loss = 0.0f, scale_bar = 0.0f;
      for (int j = 0; j < data_.features; ++j) {
        float& state = states(j, i);
        const float residual = missing && missing[j] ? 0.0f : state + scale * x[j] - x[j];
        loss += residual * residual;
        state = 2.0f * share * residual;
        scale_bar += state * x[j];
      }
      moving.badness[i] = share * loss;
      work.scale_bar[i] = scale_bar;
      out.loss += static_cast<double>(share) * loss;
      out.wins[work.winner[i]] += batch.weights ? batch.weights[block.first + i] : 1.0;
    }
  }

  // Coefficients, then the recursion, then the products and the memories' inner products.
  void back(BlockOfRows block, const Memories& memories, ReconstructionWorkspace& work, PartSums& out) const {
    const Kernels& kernel = kernels();
    const int lanes = kernel.lanes, n = block.n, k = memories.k, kp = memories.kp, d = memories.d;
    kernel.products(work.memory_rows.data(), d, k, d, work.state_t.data(), kBlockRows, work.coef_bar_t.data());
    work.coef_bar.zero();
    for (int i = 0; i < n; ++i)
      for (int m = 0; m < k; ++m) work.coef_bar(i, m) = work.coef_bar_t(m, i);
    work.gram_bar.zero();
    work.products_bar.zero();
    for (int tile = 0; tile < n; tile += lanes) {
      FreeAdjoint adjoint{};
      adjoint.coef_adjoint = work.coef_bar.row(tile);
      adjoint.scale_adjoint = work.scale_bar.data() + tile;
      adjoint.products_gradient = work.products_bar.row(tile);
      adjoint.gram_gradient = work.gram_bar.data();
      adjoint.bias_gradient = out.gradient.bias.data();
      adjoint.lanes_used = std::min(lanes, n - tile);
      kernel.free_backward(memories.network(), work.tile(tile), adjoint);
    }
    out.outer.add(work.moving.rows.block(0, n), work.products_bar);
    const auto add_term = [&] {
      Slice{}.add(out.gradient.memories.data(), work.term.data(), static_cast<std::size_t>(d) * kp);
    };
    kernel.products(work.state_t.data(), kBlockRows, d, kBlockRows, work.coef.data(), kp, work.term.data());
    add_term();
    work.gram_bar_padded.zero();
    for (int m = 0; m < k; ++m) std::copy_n(work.gram_bar.row(m), k, work.gram_bar_padded.row(m));
    kernel.products(memories.values.data(), kp, d, kp, work.gram_bar_padded.data(), kp, work.term.data());
    add_term();
  }

  const Dataset& data_;
  ObjectiveSettings settings_;
};

}  // namespace

std::unique_ptr<Objective> make_reconstruction(const Dataset& data, const ObjectiveSettings& settings) {
  return std::make_unique<Reconstruction>(data, settings);
}

}  // namespace amclust
