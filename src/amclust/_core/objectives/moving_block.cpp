#include "objectives/moving_block.hpp"

#include <algorithm>

namespace amclust {

void MovingBlock::prepare(const Memories& memories, int n_moving) {
  const Kernels& kernel = kernels();
  const std::size_t size = static_cast<std::size_t>(n_moving) * kernel.lanes;
  products.resize(static_cast<std::size_t>(kBlockRows) * memories.kp);
  norm.resize(kBlockRows);
  badness.resize(kBlockRows);
  winner.resize(kernel.lanes);
  loss.resize(kernel.lanes);
  if (feature.size() < size) feature.resize(size);
  for (Buffer* buffer : {&start, &target, &loss_weight, &state})
    if (buffer->size() < size) buffer->resize(size);
  const std::size_t needed = kernel.moving_scratch(memories.network(), n_moving);
  if (scratch.size() < needed) scratch.resize(needed);
}

void MovingBlock::clear(const Memories& memories, int n_moving) {
  const std::size_t size = static_cast<std::size_t>(n_moving) * kernels().lanes;
  std::fill(feature.begin(), feature.begin() + static_cast<std::ptrdiff_t>(size), memories.d);
  for (Buffer* buffer : {&start, &target, &loss_weight}) std::fill(buffer->data(), buffer->data() + size, 0.0f);
}

void MovingBlock::run(const Memories& memories, int tile, int used, int n_moving, const float* weights,
                      BlockOutput& out) {
  MovingTile m{};
  m.feature = feature.data();
  m.start = start.data();
  m.target = target.data();
  m.loss_weight = loss_weight.data();
  m.n_moving = n_moving;
  m.products = products.data() + static_cast<std::ptrdiff_t>(tile) * memories.kp;
  m.state = state.data();
  m.loss = loss.data();
  m.winner = winner.data();
  m.gradient = out.gradient;
  m.bias_gradient = out.bias_gradient;
  m.scratch = scratch.data();
  m.lanes_used = used;
  kernels().moving(memories.network(), m);
  for (int l = 0; l < used; ++l) {
    out.loss += loss[l];
    badness[tile + l] = loss[l];
    (*out.wins)[winner[l]] += weights ? weights[l] : 1.0;
  }
}

}  // namespace amclust
