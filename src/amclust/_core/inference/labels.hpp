// Which memory the dynamics carries rows to, at the price of finding the nearest one.
//
// Let g be the difference between a state's squared distances to the second nearest and to the nearest memory rho. A
// step of size a leaves of it (1 - a) g, and adds a times the mean, by the memberships, of the same difference at the
// memories: at rho itself at least `near`, its squared distance from the nearest other memory, and elsewhere at least
// -`far`, that from the farthest. So where  p near - (1 - p) far >= g  for p = 1 / (1 + W exp(-beta g)), the least
// membership of rho with such a gap (W: the weights of the others, in units of its own), a state with a gap of g or
// more keeps it for ever: its label is rho, after any number of steps. The least such g is one number a memory. On the
// sphere the same holds for products instead of squared distances, with half of `near` and `far`.
//
// Among many memories that is too careful: most of them are farther than the second nearest, and those near the row are
// near rho, too. With c the gap of each other memory, but at most h, three quarters of `near`, and D its squared
// distance from rho, the same argument says that all these gaps stay where  p (near - sum of weight * exp(-beta c) * D)
// >= h  for p = 1 / (1 + sum of weight * exp(-beta c)). D is at most the square of the two distances from the row
// together.
//
// Rows without that certificate go through the dynamics; most of them have it after a step or two.
#pragma once

#include "matrix.hpp"
#include "memories.hpp"
#include "rows/row_block.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace amclust {

// What the labels of a network need beside its memories; shared by threads, and kept for later rows.
class Certificates {
 public:
  // The memories are up to date (Memories::refresh), and outlive this.
  explicit Certificates(const Memories& memories);

  const Memories& memories() const { return memories_; }
  const float* closeness_bias() const { return bias_.data(); }
  float closeness_factor() const { return factor_; }
  MatrixView<const float> memory_rows() const { return rows_; }  // [k][ld]

  // The gap from which on a memory keeps a state. Those that are not known yet are computed from the distances to all
  // memories, the ones of `which` together.
  void find(const std::int32_t* which, int n, MatrixView<float> scratch);
  // Whether a row [ld] found by nearest_two() keeps its nearest memory; null: its coordinates are not at hand.
  bool certify(const NearestTwo& found, int row, const float* coordinates) const;

 private:
  float gap(int memory) const { return gaps_[memory].load(std::memory_order_acquire); }
  float least_gap(int memory, double near) const;
  double others(int memory) const;  // weights of the other memories, in units of its own
  double far(int memory) const;
  double slack(int memory) const;  // for rounding
  bool certify_crowd(const float* by_lane, float closeness, int memory, const float* coordinates) const;

  const Memories& memories_;
  Buffer bias_;
  float factor_;
  Matrix rows_;
  double reach_ = 0.0;             // largest distance of a memory from the mean of all
  std::vector<double> from_mean_;  // of each memory
  double total_weight_ = 0.0;      // of the memories, in units of the largest weight
  float top_ = 0.0f;               // the largest log-weight
  std::vector<std::atomic<float>> gaps_, near_;
};

// The labels of a block of rows; one for each thread.
class Labeller {
 public:
  static constexpr int kRows = 64;

  explicit Labeller(Certificates& certificates);

  // Coordinates of the given rows of the block into states [n][ld]; only for rows that are sparse.
  using Densify = std::function<void(const std::vector<int>& which, MatrixView<float> states)>;

  // Labels of at most kRows rows.
  void label(const RowBlock& rows, const Densify& densify, std::int32_t* labels);

 private:
  void carry(std::int32_t* labels);
  void step(int n);
  void pull(float* state, const float* logits, float top);

  Certificates& certificates_;
  const Memories& memories_;
  Matrix products_, scratch_, states_;
  Buffer closeness_, second_, by_lane_;
  std::vector<std::int32_t> nearest_;
  std::vector<int> uncertain_;
  struct Share {
    int memory;
    float value;
  };
  std::vector<Share> shares_;
  NearestTwo found_{};
};

}  // namespace amclust
