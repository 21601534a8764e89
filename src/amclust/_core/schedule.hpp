// The learning rate over the epochs, and when to stop.
#pragma once

#include "trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace amclust {

class Schedule {
 public:
  Schedule(const RunSettings& s, int steps_per_epoch)
      : settings_(s), steps_per_epoch_(steps_per_epoch), rate_(s.learning_rate) {}

  double learning_rate() const { return rate_; }

  // Dead memories are re-seeded only while there is time left to train them.
  bool reseeding(int epoch) const { return 2 * epoch < settings_.max_epochs && plateaus_ == 0; }

  // Lowers the rate when the loss has not improved for `patience` epochs; true when training has converged: after
  // several such plateaus in a row that together took enough steps, or one at the lowest rate.
  bool after_epoch(double loss) {
    if (loss < best_ - settings_.tol * std::abs(best_) || !std::isfinite(best_)) {
      best_ = loss;
      waited_ = plateaus_ = 0;
      return false;
    }
    if (++waited_ < settings_.patience) return false;
    waited_ = 0;
    ++plateaus_;
    const bool at_floor = rate_ <= settings_.min_lr;
    rate_ = std::max(rate_ * settings_.lr_factor, std::min(settings_.min_lr, rate_));
    const bool enough = plateaus_ >= kPlateaus && plateaus_ * settings_.patience * steps_per_epoch_ >= kSteps;
    return settings_.early_stopping && (at_floor || enough);
  }
  bool improving() const { return plateaus_ == 0; }

 private:
  static constexpr int kPlateaus = 2, kSteps = 60;
  const RunSettings& settings_;
  int steps_per_epoch_;
  double rate_, best_ = std::numeric_limits<double>::infinity();
  int waited_ = 0, plateaus_ = 0;
};

}  // namespace amclust
