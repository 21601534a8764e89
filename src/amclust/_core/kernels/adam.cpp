// One step of Adam (Kingma & Ba, 2015).
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

namespace {

void adam(const amclust::AdamStep& step, const float* gradient, float* first, float* second, float* values,
          std::size_t n) {
  const Vec b1 = splat(step.beta1), b2 = splat(step.beta2);
  const Vec c1 = splat(1.0f - step.beta1), c2 = splat(1.0f - step.beta2);
  const Vec rate = splat(step.learning_rate * step.correction1), correction2 = splat(step.correction2);
  const Vec epsilon = splat(step.epsilon);
  for (std::size_t i = 0; i < n; i += W) {  // n is a multiple of the lanes
    const Vec g = load(gradient + i);
    const Vec m = b1 * load(first + i) + c1 * g;
    const Vec v = b2 * load(second + i) + c2 * (g * g);
    store(first + i, m);
    store(second + i, v);
    store(values + i, load(values + i) - rate * m / (vsqrt(v * correction2) + epsilon));
  }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_adam(Kernels& table) { table.adam = adam; }
