// What the two ways to sum up a silhouette share: with all memories at once, and with those nearby only.
#pragma once

#include "objectives/objective.hpp"

#include <memory>

namespace amclust {

// Weights of the loss's terms for one batch.
class SilhouetteTerms {
 public:
  SilhouetteTerms(const ObjectiveSettings& settings, double total_weight) : settings_(settings), total_(total_weight) {}

  // A cluster with less is empty.
  float min_size() const { return static_cast<float>(1e-6 * total_); }
  // Of the terms beside the silhouette, per unit of the rows' weight.
  float anchor() const { return static_cast<float>(settings_.anchor / total_); }
  float tie() const { return static_cast<float>(settings_.tie / total_); }
  // d(loss) / d(sum of the rows' silhouettes)
  float by_value() const { return static_cast<float>(-1.0 / total_); }
  // From the sums of silhouettes, of the scatter inside, and of the memories' distances from their centres.
  double loss(double value, double scatter, double distance) const {
    return -value / total_ + settings_.anchor / total_ * scatter + settings_.tie / total_ * distance;
  }

 private:
  const ObjectiveSettings& settings_;
  double total_;
};

std::unique_ptr<Objective> make_nearby_silhouette(const Dataset& data, const ObjectiveSettings& settings);

}  // namespace amclust
