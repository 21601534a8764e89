// The learning rate over the epochs, and when to stop.
#pragma once

#include "training/plan.hpp"

#include <algorithm>
#include <cmath>

namespace amclust {

class Schedule {
 public:
  Schedule(const ScheduleSettings& settings, const ScheduleState& state, int steps_per_epoch)
      : settings_(settings), state_(state), steps_per_epoch_(steps_per_epoch) {}

  double learning_rate() const { return state_.learning_rate; }
  const ScheduleState& state() const { return state_; }

  // Empty clusters are re-seeded only while there is time left to train them.
  bool reseeding(int epoch) const { return 2 * epoch < settings_.max_epochs && state_.plateaus == 0; }

  // Lowers the rate when the loss has not improved for `patience` epochs; true when training has converged: after
  // several such plateaus in a row that together took enough steps, or one at the lowest rate.
  bool after_epoch(double loss) {
    auto& [rate, best, waited, plateaus] = state_;
    if (loss < best - settings_.tol * std::abs(best) || !std::isfinite(best)) {
      best = loss;
      waited = plateaus = 0;
      return false;
    }
    if (++waited < settings_.patience) return false;
    waited = 0;
    ++plateaus;
    const bool at_floor = rate <= settings_.min_lr;
    rate = std::max(rate * settings_.lr_factor, std::min(settings_.min_lr, rate));
    const bool enough = plateaus >= kPlateaus && plateaus * settings_.patience * steps_per_epoch_ >= kSteps;
    return settings_.early_stopping && (at_floor || enough);
  }
  bool improving() const { return state_.plateaus == 0; }

 private:
  static constexpr int kPlateaus = 2, kSteps = 60;
  ScheduleSettings settings_;
  ScheduleState state_;
  int steps_per_epoch_;
};

}  // namespace amclust
