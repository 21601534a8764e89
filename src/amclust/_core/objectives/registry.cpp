#include "energies/registry.hpp"
#include "objectives/completion.hpp"
#include "objectives/reconstruction.hpp"
#include "objectives/silhouette.hpp"

#include <cmath>
#include <stdexcept>

namespace amclust {

std::unique_ptr<Objective> make_objective(const Dataset& data, const ObjectiveSettings& settings) {
  if (settings.name == "completion") return std::make_unique<Completion>(data, settings);
  if (settings.name == "reconstruction") return std::make_unique<Reconstruction>(data, settings);
  if (settings.name == "silhouette") return std::make_unique<Silhouette>(data, settings);
  throw std::invalid_argument("objective must be 'completion', 'reconstruction' or 'silhouette', got '" +
                              settings.name + "'");
}

void finish_gradient(const Memories& memories, Gradient& gradient) {
  const int kp = memories.kp, d = memories.d;
  const float* value = memories.values.data();
  float* g = gradient.memories.data();
  std::vector<float> factor(kp, 0.0f);
  with_energy(memories.metric, [&](auto energy) {
    if constexpr (energy.on_sphere) {
      for (int j = 0; j < d; ++j)
        for (int m = 0; m < kp; ++m)
          factor[m] += g[static_cast<std::ptrdiff_t>(j) * kp + m] * value[static_cast<std::ptrdiff_t>(j) * kp + m];
    } else {
      for (int m = 0; m < memories.k; ++m) factor[m] = energy.bias_slope(memories.beta) * gradient.bias[m];
    }
  });
  kernels().subtract_scaled(value, factor.data(), d, kp, g);
  float* last = g + static_cast<std::ptrdiff_t>(d) * kp;
  for (int m = 0; m < kp; ++m) last[m] = 0.0f;
}

}  // namespace amclust
