// An objective that is a sum over rows: the batch is cut into a fixed number of parts whatever the number of threads,
// each part sums its own gradient, and the parts are added in order. So the bits do not depend on the threads.
#pragma once

#include "objectives/objective.hpp"

namespace amclust {

constexpr int kBlockRows = 64;  // rows worked on at a time; a multiple of every lane count

// What one block of rows gives.
struct BlockOutput {
  double loss = 0.0;
  std::vector<double>* wins;
  std::vector<Candidate>* candidates;
  float* gradient;       // [d + 1][kp], added to
  OuterSum* outer;       // the part of the gradient that is rows times coefficients
  float* bias_gradient;  // [kp], added to
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
  // Rows first ... first + n - 1 of the batch, n at most kBlockRows.
  virtual void block(const Batch& batch, int first, int n, const Memories& memories, Workspace& workspace,
                     BlockOutput& out) const = 0;

 private:
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::vector<Gradient> parts_;
  std::vector<OuterSum> outers_;
};

// How a batch is cut: a function of its size alone.
int part_rows(int batch_size);

// Notes the worst row of each group of eight.
void note_candidates(const Batch& batch, int first, int n, const float* badness, std::vector<Candidate>& out);

}  // namespace amclust
