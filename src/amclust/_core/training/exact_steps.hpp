// The exact steps of the reconstruction loss as beta grows: every row falls to its nearest memory, and every memory
// goes to the mean of its rows (on the sphere, to its direction). That is Lloyd's algorithm, here with bounds, so that
// a row meets all memories only where its nearest may have changed; and with moves that gradients and means cannot
// make: a memory that is hardly needed goes to where two are needed.
#pragma once

#include "inference/filling.hpp"
#include "memories.hpp"
#include "rows/dataset.hpp"
#include "team.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace amclust {

class ExactSteps {
 public:
  // The data and the rows must outlive this. `fill` is where missing values start.
  ExactSteps(const Dataset& data, const TrainingRows& rows, const NetworkParameters& start, const float* fill,
             Team& team, const Control* control);
  ~ExactSteps();

  // Averages and assigns; true where that gains less than `tolerance` of what is left, and of what is explained.
  bool step(double tolerance);
  // At most so many steps, until one gains too little.
  void settle(int steps, double tolerance);
  // Moves memories to where they gain most, as long as that gains anything. True where it did; rows are then assigned.
  bool relocate(std::uint64_t seed, std::uint32_t round);
  // The same for memories without rows, whatever it gains. True where all have rows.
  bool fill_empty(std::uint64_t seed);

  // Sum of weight * squared distance, as of the last assignment; steps and moves add up what they change it by.
  double loss() const { return loss_; }
  // The same from all rows.
  double measure_loss();
  double total_weight() const { return total_weight_; }
  const Memories& memories() const { return memories_; }
  std::vector<float> memories_by_row() const;  // [k][d]
  const std::vector<std::int32_t>& labels() const { return labels_; }
  std::vector<double> sizes() const;  // [k], weight of the rows of each memory
  // [k], sum of weight * squared distance of these rows, as of the last search of all
  const std::vector<double>& losses() const { return losses_; }
  int empty() const;

 private:
  struct Worker;
  struct Part;
  struct Change;
  struct RowsByMemory;
  struct Gain;
  struct Split;
  struct Move;

  float weight(std::int64_t at) const { return rows_.weights ? rows_.weights[at] : 1.0f; }
  std::int64_t row(std::int64_t at) const { return rows_.rows ? rows_.rows[at] : at; }
  bool stopped() const { return control_ && control_->stopped(); }

  void refresh();
  bool is_little(double gained, double tolerance);
  double explained();
  Matrix centres() const;
  void assign(bool search_all);
  void search(Worker& worker, bool search_all, Part& part);
  int keep_sure(Worker& worker, int n, Part& part);
  void update_sums(const std::vector<Part>& parts);
  void sum_all();
  bool add_rows(const RowsByMemory& rows);
  double average();
  Gain average_one(Worker& worker, int memory);
  void move_bounds(const Matrix& before);
  std::vector<float> gaps(const float* bias, bool others);
  std::vector<std::int64_t> counts() const;  // [k], rows of each memory
  std::vector<Move> find_moves(const std::vector<Split>& splits, bool only_empty);
  void make_moves(const std::vector<Move>& moves);
  void jump(const std::vector<Move>& moves);
  int neighbour(int memory);  // the nearest other memory
  std::vector<Split> find_splits(std::uint64_t seed, std::uint32_t round);
  int split_rows() const;
  Split split(Worker& worker, int memory, const std::int32_t* rows, int n, double size, std::uint64_t seed,
              std::uint32_t round) const;
  RowBlock load(Worker& worker, const std::int64_t* places, int n) const;
  void load_dense(Worker& worker, const std::int64_t* places, int n, MatrixView<float> out) const;

  const Dataset& data_;
  TrainingRows rows_;
  const float* fill_;
  Team& team_;
  const Control* control_;
  Memories memories_;
  Matrix centres_;       // the memories one by one, [k][ld]
  Buffer bias_;          // of closeness, [kp]
  float factor_ = 2.0f;  // of closeness
  bool spherical_, by_entries_;
  double total_weight_ = 0.0, loss_ = 0.0;
  double drift_ = 0.0;                // how far any memory may have moved in all
  std::vector<std::int32_t> labels_;  // of each training row
  // Bounds of each training row; none where rows are sparse or have missing values.
  std::vector<float> lower_;       // least distance from all other memories, plus the drift when it was found
  std::vector<float> upper_;       // distance from its memory, less what that had travelled when it was found
  std::vector<double> travelled_;  // [k], how far each memory has moved
  // Weighted sums [k][d] and weights [k] of the rows of each memory.
  std::vector<double> sums_, sizes_;
  bool summed_ = false;
  bool measured_ = false;        // the loss is that of a search of all rows
  std::vector<double> losses_;   // [k]
  std::vector<double> removal_;  // [k], what the loss would gain without a memory; as of the last search of all
  std::vector<float> half_gap_;  // half the distance of each memory from the nearest other one
  std::vector<char> jumped_;     // memories that are far from where bounds know them
  std::vector<char> changed_;    // memories whose rows changed
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace amclust
