// The paper's loss: hide some coordinates of every row, let the dynamics complete them, compare (mean over the hidden
// coordinates). Missing values move too, and are never compared.
#include "objectives/moving_block.hpp"
#include "training/masks.hpp"

#include <algorithm>

namespace amclust {
namespace {

struct CompletionWorkspace : ChunkedObjective::Workspace {
  explicit CompletionWorkspace(int features) : sampler(features) {}
  MovingBlock moving;
  MaskSampler sampler;
  struct Hidden {
    int count, missing;
  };
  std::vector<Hidden> hidden;
  std::vector<std::int32_t> drawn;
  std::vector<float> targets;
};

class Completion final : public ChunkedObjective {
 public:
  Completion(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}

 protected:
  std::unique_ptr<Workspace> make_workspace() const override;
  void block(const Batch& batch, int first, int n, const Memories& memories, Workspace& workspace,
             BlockOutput& out) const override;

 private:
  const Dataset& data_;
  ObjectiveSettings settings_;
};

std::unique_ptr<ChunkedObjective::Workspace> Completion::make_workspace() const {
  return std::make_unique<CompletionWorkspace>(data_.features);
}

void Completion::block(const Batch& batch, int first, int n, const Memories& memories, Workspace& workspace,
                       BlockOutput& out) const {
  auto& work = static_cast<CompletionWorkspace&>(workspace);
  MovingBlock& moving = work.moving;
  const Kernels& kernel = kernels();
  const int lanes = kernel.lanes, d = data_.features, ld = memories.ld;
  const int most_hidden = batch.hidden ? batch.n_hidden : hidden_count(settings_.hidden_fraction, d);
  moving.rows.resize(static_cast<std::size_t>(kBlockRows) * ld);
  if (data_.has_missing) moving.missing.resize(static_cast<std::size_t>(kBlockRows) * d);
  data_.load(batch.rows + first, n, settings_.fill.data(), moving.rows.data(), ld, moving.missing.data());

  // Draw first: a row's hidden coordinates start at the mask value in `rows`, their true values go to `target`.
  using Hidden = CompletionWorkspace::Hidden;
  std::vector<Hidden>& hidden = work.hidden;
  hidden.resize(n);
  const int room = std::max(1, most_hidden);
  work.drawn.resize(static_cast<std::size_t>(n) * room);
  for (int i = 0; i < n; ++i) {
    const std::uint8_t* missing =
        data_.has_missing ? moving.missing.data() + static_cast<std::ptrdiff_t>(i) * d : nullptr;
    const int holes = missing ? static_cast<int>(std::count(missing, missing + d, std::uint8_t{1})) : 0;
    std::int32_t* drawn = work.drawn.data() + static_cast<std::ptrdiff_t>(i) * room;
    int count = 0;
    if (batch.hidden) {
      const std::int32_t* given = batch.hidden + static_cast<std::ptrdiff_t>(first + i) * batch.n_hidden;
      for (int h = 0; h < batch.n_hidden; ++h)
        if (given[h] >= 0) drawn[count++] = given[h];
    } else {
      count = hidden_count(settings_.hidden_fraction, d - holes);
      Random random(settings_.seed, Purpose::mask, batch.epoch, static_cast<std::uint32_t>(batch.ids[first + i]));
      work.sampler.draw(random, count, d - holes, holes ? missing : nullptr, drawn);
    }
    hidden[i] = {count, holes};
  }

  int most_moving = 1;
  for (const Hidden& h : hidden) most_moving = std::max(most_moving, h.count + h.missing);
  moving.prepare(memories, most_moving);

  // The tiles' coordinates must be known before the products, which see the masked rows: extract, mask, multiply.
  std::vector<float>& targets = work.targets;
  targets.resize(static_cast<std::size_t>(n) * room);
  for (int i = 0; i < n; ++i) {
    float* x = moving.rows.data() + static_cast<std::ptrdiff_t>(i) * ld;
    for (int h = 0; h < hidden[i].count; ++h) {
      const std::int32_t j = work.drawn[static_cast<std::size_t>(i) * room + h];
      targets[static_cast<std::size_t>(i) * room + h] = x[j];
      x[j] = settings_.fill[j];
    }
  }
  memories.panel.products(moving.rows.data(), n, moving.products.data());
  const int rounded = padded(n, lanes);
  std::fill(moving.products.data() + static_cast<std::ptrdiff_t>(n) * memories.kp,
            moving.products.data() + static_cast<std::ptrdiff_t>(rounded) * memories.kp, 0.0f);

  for (int tile = 0; tile < n; tile += lanes) {
    const int used = std::min(lanes, n - tile);
    int n_moving = 1;
    for (int l = 0; l < used; ++l) n_moving = std::max(n_moving, hidden[tile + l].count + hidden[tile + l].missing);
    moving.clear(memories, n_moving);
    for (int l = 0; l < used; ++l) {
      const int i = tile + l;
      const Hidden& h = hidden[i];
      const float weight = batch.weights ? batch.weights[first + i] : 1.0f;
      const float share = h.count ? static_cast<float>(weight / (h.count * batch.total_weight)) : 0.0f;
      for (int at = 0; at < h.count; ++at) {
        const std::size_t o = static_cast<std::size_t>(at) * lanes + l;
        const std::int32_t j = work.drawn[static_cast<std::size_t>(i) * room + at];
        moving.feature[o] = j;
        moving.start[o] = settings_.fill[j];
        moving.target[o] = targets[static_cast<std::size_t>(i) * room + at];
        moving.loss_weight[o] = share;
      }
      if (!h.missing) continue;
      const std::uint8_t* missing = moving.missing.data() + static_cast<std::ptrdiff_t>(i) * d;
      int at = h.count;
      for (int j = 0; j < d; ++j) {
        if (!missing[j]) continue;
        const std::size_t o = static_cast<std::size_t>(at++) * lanes + l;
        moving.feature[o] = j;
        moving.start[o] = settings_.fill[j];
      }
    }
    moving.run(memories, tile, used, n_moving, batch.weights ? batch.weights + first + tile : nullptr, out);
  }
  out.outer->add(moving.rows.data(), n, moving.products.data());
  note_candidates(batch, first, n, moving.badness.data(), *out.candidates);
}

}  // namespace

std::unique_ptr<Objective> make_completion(const Dataset& data, const ObjectiveSettings& settings) {
  return std::make_unique<Completion>(data, settings);
}

}  // namespace amclust
