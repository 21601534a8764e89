// The paper's loss: hide some coordinates of every row, let the dynamics complete them, compare (mean over the hidden
// coordinates). Missing values move too, and are never compared.
#pragma once

#include "objectives/chunked.hpp"

namespace amclust {

class Completion final : public ChunkedObjective {
 public:
  Completion(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}

 protected:
  std::unique_ptr<Workspace> make_workspace() const override;
  void block(const Batch& batch, int first, int n, const Memories& memories, Workspace& workspace,
             BlockOutput& out) const override;

 private:
  const Dataset& data_;
  ObjectiveSettings settings_;
};

}  // namespace amclust
