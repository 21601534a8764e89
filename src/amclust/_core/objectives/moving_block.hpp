// A block of rows of which some coordinates move, laid out tile by tile (as many rows as lanes) for the kernel.
#pragma once

#include "objectives/chunked.hpp"

namespace amclust {

struct MovingBlock {
  Matrix rows;      // [kBlockRows][ld]
  Matrix products;  // [kBlockRows][kp] rows times memories
  MissingMarks missing;
  Buffer norm, badness;  // [kBlockRows]
  // One tile, [n_moving][lanes].
  std::vector<std::int32_t> feature;
  Matrix start, target, loss_weight, state;
  // Of its rows, [lanes].
  std::vector<std::int32_t> winner;
  Buffer loss, scratch;

  void load(const Dataset& data, const Batch& batch, BlockOfRows block, const std::vector<float>& fill, int ld);
  int count_missing(int row, int features);
  // Room for tiles of n_moving coordinates.
  void prepare(const Memories& memories, int n_moving);
  // Empties the tile: every lane moves nothing.
  void clear(const Memories& memories, int n_moving);
  // The next coordinate that moves in a lane.
  void move(int at, int lane, std::int32_t which, float from, float to, float weight) {
    feature[static_cast<std::size_t>(at) * start.stride() + lane] = which;
    start(at, lane) = from;
    target(at, lane) = to;
    loss_weight(at, lane) = weight;
  }
  // Runs the kernel on rows tile ... tile + used - 1 of the block, and notes losses and winners.
  void run(const Memories& memories, int tile, int used, int n_moving, const float* weights, PartSums& out);
};

}  // namespace amclust
