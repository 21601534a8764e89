// An objective that is a sum over rows: the batch is cut into parts, and a part is worked on block by block. The parts'
// sums are added in order (reduce.hpp), so the bits do not depend on the threads.
#pragma once

#include "objectives/objective.hpp"
#include "reduce.hpp"

#include <algorithm>

namespace amclust {

constexpr int kBlockRows = 64;  // rows worked on at a time; a multiple of every lane count

// Some neighbouring rows of a batch, kBlockRows at most.
struct BlockOfRows {
  int first, n;
};

// How a batch is cut into parts: a function of its size alone.
class BatchParts {
 public:
  explicit BatchParts(int batch_size);
  int count() const { return count_; }
  // visit(BlockOfRows) for the blocks of one part, in order.
  template <class Visit>
  void for_blocks(int part, const Visit& visit) const {
    const int end = std::min(batch_size_, (part + 1) * rows_);
    for (int first = part * rows_; first < end; first += kBlockRows)
      visit(BlockOfRows{first, std::min(kBlockRows, end - first)});
  }

 private:
  int batch_size_, rows_, count_;
};

// What the rows of one part give; blocks add to it.
struct PartSums {
  double loss = 0.0;
  std::vector<double> wins;
  std::vector<Candidate> candidates;
  Gradient gradient;
  OuterSum outer;  // the part of the gradient that is rows times coefficients

  // alone: there is no other part, so that `outer` may sum into the gradient itself.
  void reset(const Memories& memories, bool alone);
  void add(const PartSums& other, Slice slice);
};

class ChunkedObjective : public Objective {
 public:
  Evaluation evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) final;

  // Buffers of one thread.
  class Workspace {
   public:
    virtual ~Workspace() = default;
  };

 protected:
  virtual std::unique_ptr<Workspace> make_workspace() const = 0;
  virtual void add_block(const Batch& batch, BlockOfRows block, const Memories& memories, Workspace& workspace,
                         PartSums& out) const = 0;

 private:
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::vector<PartSums> parts_;
};

// Notes the worst row of each group of eight.
void note_candidates(const Batch& batch, BlockOfRows block, const float* badness, std::vector<Candidate>& out);

}  // namespace amclust
