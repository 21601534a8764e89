// One training as it goes on: the rows that come next, the learning rate, where empty clusters begin anew, and the
// record. Whoever computes losses and gradients drives it: the trainer here, or another backend through the bindings.
#pragma once

#include "training/plan.hpp"
#include "training/schedule.hpp"
#include "training/stream.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

class Run {
 public:
  // The plan is checked; it and the rows must outlive the run.
  Run(const Plan& plan, const TrainingRows& rows, int features);

  const Plan& plan() const { return plan_; }
  const RunRecord& record() const { return record_; }
  bool resumed() const { return plan_.earlier.has_value(); }
  int epoch() const { return static_cast<int>(record_.loss_curve.size()); }
  bool done() const;

  int batch_size() const { return stream_.batch_size(); }
  int batches_per_epoch() const { return batches_; }
  Batch next_batch() { return stream_.next(static_cast<std::uint32_t>(epoch())); }
  // Whether this epoch only measures where the run starts.
  bool measures() const { return plan_.measure_first && epoch() == 0 && batches_ > 1; }
  double learning_rate() const { return schedule_.learning_rate(); }
  bool reseeding() const { return plan_.reseed && schedule_.reseeding(epoch()); }

  // Of the candidates, those on which so many empty clusters begin anew; to be called before end_epoch().
  std::vector<std::int64_t> draw_reseeds(std::vector<float> badness, int count);
  // The mean loss of an epoch and how many clusters had rows in it; true: its memories are the best so far.
  bool is_best(double loss, int living);
  void end_epoch(double loss);

  // Completes the record with what the driver holds.
  RunRecord finish(std::vector<float> memories, std::vector<float> log_weights, std::vector<float> last_memories,
                   std::vector<float> last_log_weights, OptimizerState optimizer, std::vector<float> energy = {},
                   std::vector<float> last_energy = {});

 private:
  // Whether the clusters that the run starts from are well separated already.
  bool start_settled() const;

  const Plan& plan_;
  RunRecord record_;
  BatchStream stream_;
  int batches_;
  Schedule schedule_;
};

}  // namespace amclust
