// The learning rate over the epochs, and when to stop.
#pragma once

#include "training/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace amclust {

class Schedule {
 public:
  // An epoch has so many steps and rows; one with more rows than usual counts for as many epochs as are in it.
  Schedule(const ScheduleSettings& settings, const ScheduleState& state, int steps_per_epoch, double rows_per_epoch)
      : settings_(settings), state_(state), steps_per_epoch_(steps_per_epoch), rows_per_epoch_(rows_per_epoch) {
    const double usual = std::max(1.0, rows_per_epoch / kUsualRows);
    settings_.patience = std::max(1, static_cast<int>(settings.patience / usual));
  }

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
    if (++waited < (settled_ ? 1 : settings_.patience)) return false;
    waited = 0;
    ++plateaus;
    const bool at_floor = rate <= settings_.min_lr;
    rate = std::max(rate * settings_.lr_factor, std::min(settings_.min_lr, rate));
    const double epochs = static_cast<double>(plateaus) * settings_.patience;
    const bool enough =
        plateaus >= kPlateaus && (settled_ || epochs * steps_per_epoch_ >= kSteps || epochs * rows_per_epoch_ >= kRows);
    return settings_.early_stopping && (at_floor || enough);
  }
  // So many epochs are known to be enough.
  bool enough(std::size_t epochs) const {
    const int known = settings_.enough_epochs;
    return settings_.early_stopping && known > 0 && epochs >= static_cast<std::size_t>(known);
  }
  // The start is as good as it gets: a few epochs that do not better it are enough.
  void set_settled() { settled_ = true; }
  bool improving() const { return state_.plateaus == 0; }

 private:
  static constexpr int kPlateaus = 2, kSteps = 60;
  static constexpr double kUsualRows = 16384.0, kRows = 60.0 * kUsualRows;
  ScheduleSettings settings_;
  ScheduleState state_;
  int steps_per_epoch_;
  double rows_per_epoch_;
  bool settled_ = false;
};

}  // namespace amclust
