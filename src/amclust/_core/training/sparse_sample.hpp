// Sparse rows that stand for all while memories are seeded, by their entries: in columns that at least two of them
// have, numbered anew. What a column of a single row says is about that row alone; so seeding costs what the entries
// do, however many columns there are.
#pragma once

#include "rows/dataset.hpp"
#include "rows/sparse_panel.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

class SparseSample {
 public:
  // The listed rows of data that gives entries.
  SparseSample(const Dataset& data, std::vector<std::int64_t> which, std::vector<double> row_weights);
  SparseSample(const SparseSample&) = delete;
  SparseSample& operator=(const SparseSample&) = delete;

  const std::vector<std::int64_t> which;
  const std::vector<double> weights;
  int n() const { return static_cast<int>(which.size()); }

  // The rows in the numbering of this sample; around zero, whatever the origin of the data.
  const Dataset& rows() const { return rows_; }
  TrainingRows training_rows() const { return {nullptr, narrow_weights_.data(), n()}; }

  // Squared distances of all rows to a few of them (see picks.hpp).
  class Distances {
   public:
    Distances(const SparseSample& sample, int max_picks);
    void compute(const std::vector<int>& picks);
    float at(int row, int pick) const { return values_(row, pick); }

   private:
    const SparseSample& sample_;
    SparsePanel panel_;
    Matrix values_;  // [n][picks]
  };
  // The same between some of them, [n][n padded].
  Matrix squares_between(const std::vector<int>& picks) const;

  // Weighted means of the rows of each of k clusters, or the rows picked; [k][features of rows()].
  std::vector<float> means(const std::vector<int>& rows, const std::vector<int>& labels, int k) const;
  // Memories [k][features of rows()] in the columns of the data, [k][d] in core units (on the sphere, their
  // directions): the columns that are not known here are the means of the rows of each.
  std::vector<float> lift(const std::vector<std::int32_t>& labels, const std::vector<float>& memories, int k) const;

 private:
  static constexpr int kBlock = 64;
  const SparseEntries& block_of(int row) const { return blocks_[row / kBlock]; }

  const Dataset& data_;
  std::vector<float> narrow_weights_;
  std::vector<std::int32_t> columns_;  // of the data, those that rows share
  // CSR
  std::vector<float> entries_;
  std::vector<std::int32_t> at_, starts_;
  Dataset rows_;
  std::vector<SparseEntries> blocks_;  // the same, as they meet others
  std::vector<float> norms_;
};

}  // namespace amclust
