// What the two ways to sum up a silhouette share: with all memories at once, and with those nearby only.
#pragma once

#include "energies/registry.hpp"
#include "objectives/objective.hpp"

#include <cmath>
#include <memory>

namespace amclust {

// Weights of the loss's terms for one batch.
class SilhouetteTerms {
 public:
  SilhouetteTerms(const ObjectiveSettings& settings, EnergyKind metric, double total_weight)
      : settings_(settings),
        spherical_(with_energy(metric, [](auto energy) { return energy.on_sphere; })),
        total_(total_weight) {}

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

  // The best place of a cluster's memory is its centre c; on the sphere, where c itself is not, its direction c / |c|.
  // By what c is multiplied there:
  float stretch(float centre_norm) const {
    return spherical_ && centre_norm > 0.0f ? 1.0f / std::sqrt(centre_norm) : 1.0f;
  }
  // Its squared distance from c: rows scatter so much more about it than about c, and a memory can come no closer.
  float aside(float centre_norm) const {
    const float distance = spherical_ ? 1.0f - std::sqrt(centre_norm) : 0.0f;
    return distance * distance;
  }

 private:
  const ObjectiveSettings& settings_;
  bool spherical_;
  double total_;
};

std::unique_ptr<Objective> make_nearby_silhouette(const Dataset& data, const ObjectiveSettings& settings);

}  // namespace amclust
