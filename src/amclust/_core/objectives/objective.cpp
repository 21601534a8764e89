#include "objectives/objective.hpp"

#include "energies/registry.hpp"

namespace amclust {

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
