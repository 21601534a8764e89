// Adam on the memories and, where they are learned, on the log-weights.
#pragma once

#include "memories.hpp"
#include "objectives/objective.hpp"
#include "team.hpp"
#include "training/plan.hpp"

namespace amclust {

class Optimizer {
 public:
  Optimizer(const OptimizerState& state, const Memories& memories);

  void step(Memories& memories, const Gradient& gradient, double learning_rate, bool learn_weights, Team& team);
  // A memory that begins anew has no past.
  void forget(const Memories& memories, int memory);
  OptimizerState state(const Memories& memories) const;

 private:
  Buffer first_, second_, weight_first_, weight_second_;
  std::int64_t steps_ = 0;
};

}  // namespace amclust
