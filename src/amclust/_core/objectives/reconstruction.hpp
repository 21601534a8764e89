// The paper's ablation: nothing is hidden, every coordinate moves, and the final state is compared with the row (mean
// over its observed coordinates).
#pragma once

#include "objectives/chunked.hpp"

namespace amclust {

class Reconstruction final : public ChunkedObjective {
 public:
  Reconstruction(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}
  bool needs_gram(const Memories& memories) const override { return !memories.cheaper_by_coordinates(); }

 protected:
  std::unique_ptr<Workspace> make_workspace() const override;
  void block(const Batch& batch, int first, int n, const Memories& memories, Workspace& workspace,
             BlockOutput& out) const override;

 private:
  const Dataset& data_;
  ObjectiveSettings settings_;
};

}  // namespace amclust
