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
  const MatrixView<const float> given{rows, k, d};
  for (int m = 0; m < k; ++m) set_one(m, given.row(m));
}

void Memories::set_one(int memory, const float* row) {
  const MatrixView<float> to = coordinates();
  for (int j = 0; j < d; ++j) to(j, memory) = row[j];
}

void Memories::get(float* rows) const {
  const MatrixView<float> out{rows, k, d};
  const MatrixView<const float> from = coordinates();
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < d; ++j) out(m, j) = from(j, m);
}

void Memories::refresh(bool with_gram, bool on_sphere) {
  float* norm = square_norms.data();
  const float* value = values.data();
  kernels().memory_dots(value, value, d, kp, norm);
  const bool spherical = with_energy(metric, [](auto energy) { return energy.on_sphere; });
  if (spherical && !on_sphere) {
    std::vector<float> inverse(kp, 1.0f);
    for (int m = 0; m < k; ++m)
      if (norm[m] > 0.0f) inverse[m] = 1.0f / std::sqrt(norm[m]);
    kernels().scale_memories(inverse.data(), d, kp, values.data());
  }
  if (spherical) std::fill(norm, norm + k, 1.0f);
  panel.refresh(shape, value);
  constexpr float kNever = -1e30f;
  with_energy(metric, [&](auto energy) {
    for (int m = 0; m < kp; ++m) bias[m] = m < k ? energy.bias(log_weights[m], beta, norm[m]) : kNever;
  });
  if (!with_gram) return;
  Matrix full(kp, kp);
  kernels().outer(value, kp, d, kp, value, kp, full.data());
  gram.resize(static_cast<std::size_t>(k) * k);
  const MatrixView<float> out{gram.data(), k, k};
  for (int m = 0; m < k; ++m) std::copy_n(full.row(m), k, out.row(m));
}

bool Memories::cheaper_by_coordinates() const {
  return k > d && !with_energy(metric, [](auto energy) { return energy.on_sphere; });
}

Network Memories::network() const {
  return {values.data(), bias.data(), gram.size() ? gram.data() : nullptr, k, kp, d, metric, beta, step_size, n_steps};
}

}  // namespace amclust
