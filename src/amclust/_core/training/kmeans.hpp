// k-means on rows that fit into memory: two ways to pick the first centres, and Lloyd's algorithm.
#pragma once

#include "buffer.hpp"
#include "random.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace amclust {

// Rows with weights. They are kept a second time in tiles of columns: the lanes of the kernels then run over rows, and
// a distance costs the same whether one centre is asked for or many.
class Sample {
 public:
  static constexpr int kTile = 32;  // rows; a multiple of every lane count

  Sample(Buffer rows, int n, int d, std::vector<double> weights);  // rows [n][ld], zero from d on

  const int n, d, ld;
  const std::vector<double> weights;

  // Some of the rows.
  Sample take(const std::vector<int>& which) const;

  const float* rows() const { return rows_.data(); }
  const float* row(int i) const { return rows_.data() + static_cast<std::ptrdiff_t>(i) * ld; }
  int tiles() const { return (n + kTile - 1) / kTile; }
  int tile_rows(int tile) const { return n - tile * kTile < kTile ? n - tile * kTile : kTile; }
  // Squared distances of the rows of a tile to `count` centres [count][ld], into out [count][kTile].
  void distances(int tile, const float* centres, int count, float* out) const;

 private:
  Buffer rows_, tiles_;
};

// Greedy k-means++, as in scikit-learn; fewer than k where there are no k distinct rows.
std::vector<int> plus_plus_picks(const Sample& sample, int k, Random& random);
// Distinct rows at random; fewer than k likewise.
std::vector<int> distinct_picks(const Sample& sample, int k, Random& random);

// Lloyd's algorithm, which knows what changed: distances are computed anew for centres that moved, means for clusters
// that lost or won rows. Centres can be merged in between.
class Lloyd {
 public:
  Lloyd(const Sample& sample, const std::vector<float>& centres);  // [k][d]

  int k() const { return k_; }
  const Buffer& centres() const { return centres_; }  // [k][ld]
  // As of the last assign():
  const std::vector<std::int32_t>& labels() const { return labels_; }
  const std::vector<int>& sizes() const { return sizes_; }  // rows of each cluster
  const float* distances(int tile) const {                  // squared, [k][kTile]
    return distances_.data() + static_cast<std::ptrdiff_t>(tile) * capacity_ * Sample::kTile;
  }

  enum class Empty { keep, drop };  // what becomes of a centre without rows

  // At most so many rounds of assign and update, fewer where nothing changes any more. The centres are those of the
  // last update, to which rows are not assigned yet.
  void settle(int rounds, Empty empty);
  void assign();
  // Merges two clusters with their rows into a; the last cluster takes the place of b.
  void merge(int a, int b);
  std::vector<float> centres_by_row() const;  // [k][d]

 private:
  bool any_changed() const;
  void update();
  void drop_empty();
  void replace(int from, int to);
  void remove(int m);
  float* centre(int m) { return centres_.data() + static_cast<std::ptrdiff_t>(m) * sample_.ld; }

  const Sample& sample_;
  int k_, capacity_;
  Buffer centres_, distances_;
  std::vector<std::int32_t> labels_;
  std::vector<int> sizes_;
  std::vector<char> moved_;    // centres whose distances are not known yet
  std::vector<char> changed_;  // clusters whose rows are not those of their centre
};

}  // namespace amclust
