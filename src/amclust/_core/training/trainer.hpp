// Training: many runs in one call, each with its own everything.
#pragma once

#include "rows/dataset.hpp"
#include "team.hpp"
#include "training/plan.hpp"

#include <vector>

namespace amclust {

// Threads share out the runs, or the batches' parts when there is one run.
std::vector<RunRecord> train(const Dataset& data, const TrainingRows& rows, const std::vector<Plan>& plans, int threads,
                             Control& control);

}  // namespace amclust
