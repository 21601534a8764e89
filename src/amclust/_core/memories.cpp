#include "memories.hpp"

#include "energies/registry.hpp"

#include <algorithm>
#include <cmath>

namespace amclust {

Memories::Memories(int k_, int d_, EnergyKind metric_, float beta_, float step_size_, int n_steps_,
                   double rows_per_refresh)
    : k(k_),
      kp(padded(k_, kernels().lanes)),
      d(d_),
      ld(padded(d_, kernels().lanes)),
      shape(k_, d_, rows_per_refresh),
      metric(metric_),
      beta(beta_),
      step_size(step_size_),
      n_steps(n_steps_),
      values(static_cast<std::size_t>(d_ + 1) * kp),
      log_weights(kp),
      square_norms(kp),
      bias(kp) {}

void Memories::set(const float* rows) {
  for (int m = 0; m < k; ++m) set_one(m, rows + static_cast<std::ptrdiff_t>(m) * d);
}

void Memories::set_one(int memory, const float* row) {
  for (int j = 0; j < d; ++j) values[static_cast<std::size_t>(j) * kp + memory] = row[j];
}

void Memories::get(float* rows) const {
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < d; ++j)
      rows[static_cast<std::ptrdiff_t>(m) * d + j] = values[static_cast<std::size_t>(j) * kp + m];
}

void Memories::refresh(bool with_gram, bool on_sphere) {
  float* norm = square_norms.data();
  const float* value = values.data();
  kernels().memory_norms(value, d, kp, norm);
  const bool spherical = with_energy(metric, [](auto energy) { return energy.on_sphere; });
  if (spherical && !on_sphere) {
    std::vector<float> inverse(kp, 1.0f);
    for (int m = 0; m < k; ++m)
      if (norm[m] > 0.0f) inverse[m] = 1.0f / std::sqrt(norm[m]);
    for (int j = 0; j < d; ++j)
      for (int m = 0; m < kp; ++m) values[static_cast<std::size_t>(j) * kp + m] *= inverse[m];
  }
  if (spherical) std::fill(norm, norm + k, 1.0f);
  panel.refresh(shape, value);
  constexpr float kNever = -1e30f;
  with_energy(metric, [&](auto energy) {
    for (int m = 0; m < kp; ++m) bias[m] = m < k ? energy.bias(log_weights[m], beta, norm[m]) : kNever;
  });
  if (!with_gram) return;
  Buffer full(static_cast<std::size_t>(kp) * kp);
  kernels().outer(value, kp, d, kp, value, kp, full.data());
  gram.resize(static_cast<std::size_t>(k) * k);
  for (int m = 0; m < k; ++m)
    for (int n = 0; n < k; ++n) gram[static_cast<std::size_t>(m) * k + n] = full[static_cast<std::size_t>(m) * kp + n];
}

bool Memories::cheaper_by_coordinates() const {
  return k > d && !with_energy(metric, [](auto energy) { return energy.on_sphere; });
}

Network Memories::network() const {
  return {values.data(), bias.data(), gram.size() ? gram.data() : nullptr, k, kp, d, metric, beta, step_size, n_steps};
}

}  // namespace amclust
