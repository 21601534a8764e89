#include "training/optimizer.hpp"

#include <algorithm>
#include <cmath>

namespace amclust {
namespace {

// Calls visit(place in [d][kp], place in [k][d]) for every coordinate.
template <class Visit>
void for_coordinates(const Memories& memories, const Visit& visit) {
  std::size_t at = 0;
  for (int m = 0; m < memories.k; ++m)
    for (int j = 0; j < memories.d; ++j, ++at) visit(static_cast<std::size_t>(j) * memories.kp + m, at);
}

}  // namespace

Optimizer::Optimizer(const OptimizerState& state, const Memories& memories)
    : first_(memories.values.size()),
      second_(memories.values.size()),
      weight_first_(memories.kp),
      weight_second_(memories.kp),
      steps_(state.steps) {
  if (state.moments.empty()) return;
  const std::size_t k = memories.k, size = k * memories.d;
  for_coordinates(memories, [&](std::size_t here, std::size_t there) {
    first_[here] = state.moments[there];
    second_[here] = state.moments[size + there];
  });
  for (std::size_t m = 0; m < k; ++m) {
    weight_first_[m] = state.weight_moments[m];
    weight_second_[m] = state.weight_moments[k + m];
  }
}

void Optimizer::step(Memories& memories, const Gradient& gradient, double learning_rate, bool learn_weights,
                     Team& team) {
  ++steps_;
  constexpr double b1 = 0.9, b2 = 0.999;
  AdamStep adam{};
  adam.learning_rate = static_cast<float>(learning_rate);
  adam.beta1 = static_cast<float>(b1);
  adam.beta2 = static_cast<float>(b2);
  adam.epsilon = 1e-8f;
  adam.correction1 = static_cast<float>(1.0 / (1.0 - std::pow(b1, static_cast<double>(steps_))));
  adam.correction2 = static_cast<float>(1.0 / (1.0 - std::pow(b2, static_cast<double>(steps_))));
  constexpr std::size_t kSlice = 1 << 16;  // numbers that are worth waking a thread for
  const std::size_t size = memories.values.size();
  team.run(static_cast<int>((size + kSlice - 1) / kSlice), [&](int slice, int) {
    const std::size_t at = slice * kSlice;
    kernels().adam(adam, gradient.memories.data() + at, first_.data() + at, second_.data() + at,
                   memories.values.data() + at, std::min(kSlice, size - at));
  });
  if (learn_weights)
    kernels().adam(adam, gradient.bias.data(), weight_first_.data(), weight_second_.data(), memories.log_weights.data(),
                   memories.log_weights.size());
}

void Optimizer::forget(const Memories& memories, int memory) {
  for (int j = 0; j < memories.d; ++j) {
    const std::size_t at = static_cast<std::size_t>(j) * memories.kp + memory;
    first_[at] = second_[at] = 0.0f;
  }
  weight_first_[memory] = weight_second_[memory] = 0.0f;
}

OptimizerState Optimizer::state(const Memories& memories) const {
  const std::size_t k = memories.k, size = k * memories.d;
  OptimizerState out;
  out.moments.resize(2 * size);
  out.weight_moments.resize(2 * k);
  for_coordinates(memories, [&](std::size_t here, std::size_t there) {
    out.moments[there] = first_[here];
    out.moments[size + there] = second_[here];
  });
  for (std::size_t m = 0; m < k; ++m) {
    out.weight_moments[m] = weight_first_[m];
    out.weight_moments[k + m] = weight_second_[m];
  }
  out.steps = steps_;
  return out;
}

}  // namespace amclust
