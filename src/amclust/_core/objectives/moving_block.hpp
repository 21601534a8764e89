// A block of rows of which some coordinates move, laid out tile by tile for the kernel.
#pragma once

#include "objectives/chunked.hpp"

namespace amclust {

struct MovingBlock {
  Buffer rows, products, norm, badness;
  std::vector<std::uint8_t> missing;
  // One tile, [n_moving][lanes].
  std::vector<std::int32_t> feature, winner;
  Buffer start, target, loss_weight, state, loss, scratch;

  // Room for tiles of n_moving coordinates.
  void prepare(const Memories& memories, int n_moving);
  // Empties the tile: every lane moves nothing.
  void clear(const Memories& memories, int n_moving);
  // Runs the kernel on rows tile ... tile + used - 1 of the block, and notes losses and winners.
  void run(const Memories& memories, int tile, int used, int n_moving, const float* weights, BlockOutput& out);
};

}  // namespace amclust
