#include "objectives/moving_block.hpp"

namespace amclust {

void MovingBlock::load(const Dataset& data, const Batch& batch, BlockOfRows block, const std::vector<float>& fill,
                       int ld) {
  rows.resize(kBlockRows, ld);
  if (data.has_missing) missing.fit(kBlockRows, data.features);
  data.load(batch.rows + block.first, block.n, fill.data(), rows.data(), ld, missing.data());
}

int MovingBlock::count_missing(int row, int features) {
  const std::uint8_t* marks = missing.row(row);
  return marks ? static_cast<int>(std::count(marks, marks + features, std::uint8_t{1})) : 0;
}

void MovingBlock::prepare(const Memories& memories, int n_moving) {
  const Kernels& kernel = kernels();
  products.resize(kBlockRows, memories.kp);
  norm.resize(kBlockRows);
  badness.resize(kBlockRows);
  winner.resize(kernel.lanes);
  loss.resize(kernel.lanes);
  const std::size_t size = static_cast<std::size_t>(n_moving) * kernel.lanes;
  if (feature.size() < size) feature.resize(size);
  for (Matrix* matrix : {&start, &target, &loss_weight, &state}) matrix->fit(n_moving, kernel.lanes);
  const std::size_t needed = kernel.moving_scratch(memories.network(), n_moving);
  if (scratch.size() < needed) scratch.resize(needed);
}

void MovingBlock::clear(const Memories& memories, int n_moving) {
  const std::size_t size = static_cast<std::size_t>(n_moving) * kernels().lanes;
  std::fill_n(feature.begin(), size, memories.d);
  for (Matrix* matrix : {&start, &target, &loss_weight}) std::fill_n(matrix->data(), size, 0.0f);
}

void MovingBlock::run(const Memories& memories, int tile, int used, int n_moving, const float* weights, PartSums& out) {
  MovingTile m{};
  m.feature = feature.data();
  m.start = start.data();
  m.target = target.data();
  m.loss_weight = loss_weight.data();
  m.n_moving = n_moving;
  m.products = products.row(tile);
  m.state = state.data();
  m.loss = loss.data();
  m.winner = winner.data();
  m.gradient = out.gradient.memories.data();
  m.bias_gradient = out.gradient.bias.data();
  m.scratch = scratch.data();
  m.lanes_used = used;
  kernels().moving(memories.network(), m);
  for (int l = 0; l < used; ++l) {
    out.loss += loss[l];
    badness[tile + l] = loss[l];
    out.wins[winner[l]] += weights ? weights[l] : 1.0;
  }
}

}  // namespace amclust
