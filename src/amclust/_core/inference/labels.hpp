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
// Among many memories that is too careful: few of them have any weight at the row. With c the gap of each memory nu,
// cut at a part of its squared distance D from rho, and r = weight * exp(-beta c) the most that it then weighs beside
// rho, the same argument says that all these gaps stay where, for every nu,
//
//     (D(rho, nu) - sum over mu of r_mu max(0, D(mu, rho) - D(mu, nu))) / (1 + sum of r) >= c_nu.
//
// The few memories that come close to rho at the row enter one by one, all others together: at least as far from the
// row as the nearest of them, from rho as its nearest neighbour that is not one of the few, from mu at least 0.
//
// Rows without that certificate go through the dynamics; most of them have it after a step or two.
#pragma once

#include "matrix.hpp"
#include "memories.hpp"
#include "rows/row_block.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
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

  // What certify() has to know of memories that are nearest to a row. Where it is not known yet, it comes from the
  // products with all memories, the ones of `which` together.
  void find(const std::int32_t* which, int n);
  // Whether these products are kept: rows are sparse, and a state of all columns costs more than they do. Then of a
  // memory that find() has heard of, [kp]:
  bool keeps_products() const { return products_.rows() > 0; }
  const float* products_of(int memory) const { return products_.row(memory); }

  // The few memories that come close to the nearest one at a row, which is the first of them.
  struct Few {
    explicit Few(const Certificates& certificates);

    int n = 0;
    std::vector<std::int32_t> memories;            // [lanes], as all that follows
    std::vector<double> gaps, apart, kept, share;  // squared distances from the first, gaps kept, weights beside it
    Matrix rows, products;                         // of each (where products are not kept), and with each other
    double outside = 0.0;                          // the least gap of all others
  };
  // Whether a row found by nearest_two() keeps its nearest memory, of which find() has heard.
  bool certify(const NearestTwo& found, int row, Few& few);

 private:
  static constexpr int kNeighbours = 4;
  struct Neighbour {
    std::int32_t memory;
    double distance;  // squared; half of that on the sphere, as everywhere here
  };
  struct Surroundings {
    Neighbour neighbours[kNeighbours];  // the nearest first
    double far;                         // no other memory is farther
    double log_others;                  // of the weights of the other memories, in units of its own
    double slack;                       // for rounding
  };

  Surroundings look_around(int memory, const float* closeness) const;
  float least_gap(const Surroundings& around) const;
  void gather(const NearestTwo& found, int row, Few& few);
  double between(const Few& few, int a, int b) const;
  bool certify(Few& few, double held) const;

  const Memories& memories_;
  Buffer bias_;
  float factor_;
  Matrix rows_;
  Matrix products_;                // [k][kp] of the memories with each other, where they are kept
  double reach_ = 0.0;             // largest distance of a memory from the mean of all
  std::vector<double> from_mean_;  // of each memory
  double total_weight_ = 0.0;      // of the memories, in units of the largest weight
  float top_ = 0.0f;               // the largest log-weight
  std::mutex mutex_;               // for writing what follows
  std::vector<Surroundings> around_;
  std::vector<std::atomic<float>> gaps_;  // from which on a memory keeps a state; known when its surroundings are
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
  void start(const RowBlock& rows, const Densify& densify);
  void carry(std::int32_t* labels);
  void step(int n);
  void find_shared(int n);
  void share_out(const float* logits);
  void move_state(int row, float keep, bool on_sphere);
  void move_products(int row, float keep, bool on_sphere);

  Certificates& certificates_;
  const Memories& memories_;
  Certificates::Few few_;
  // Of the rows, then of the states that are carried: products with the memories, and the states themselves or, where
  // the products among memories are kept, only their squared lengths.
  Matrix products_, logits_, states_;
  std::vector<double> squares_;
  Buffer closeness_, second_, by_lane_;
  std::vector<std::int32_t> nearest_, lane_which_;
  std::vector<int> uncertain_;
  struct Share {
    std::int32_t memory;
    float value;
  };
  std::vector<Share> shares_;  // of the memories in a step
  std::vector<std::int32_t> shared_;
  NearestTwo found_;
};

}  // namespace amclust
