#include "objectives/objective.hpp"

#include "energies/registry.hpp"
#include "matrix.hpp"

#include <algorithm>

namespace amclust {

void finish_gradient(const Memories& memories, Gradient& gradient) {
  const int kp = memories.kp, d = memories.d;
  const MatrixView<float> g{gradient.memories.data(), d + 1, kp};
  std::vector<float> factor(kp, 0.0f);
  with_energy(memories.metric, [&](auto energy) {
    if constexpr (energy.on_sphere) {
      kernels().memory_dots(g.data, memories.values.data(), d, kp, factor.data());
    } else {
      for (int m = 0; m < memories.k; ++m) factor[m] = energy.bias_slope(memories.beta) * gradient.bias[m];
    }
  });
  kernels().subtract_scaled(memories.values.data(), factor.data(), d, kp, g.data);
  std::fill_n(g.row(d), kp, 0.0f);
}

}  // namespace amclust
