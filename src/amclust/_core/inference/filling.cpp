#include "inference/filling.hpp"

#include "energies/registry.hpp"

#include <algorithm>

namespace amclust {
namespace {

// Grows, never shrinks: buffers are reused for tiles of differing size.
void ensure(Buffer& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
}

}  // namespace

void Filler::fill(const Memories& memories, float* rows, const std::uint8_t* missing, int n, bool from_observed) {
  const int lanes = kernels().lanes;
  std::vector<int> which;
  for (int i = 0; i < n; ++i) {
    const std::uint8_t* m = missing + static_cast<std::ptrdiff_t>(i) * memories.d;
    if (std::find(m, m + memories.d, std::uint8_t{1}) != m + memories.d) {
      if (from_observed) start(memories, rows + static_cast<std::ptrdiff_t>(i) * memories.ld, m);
      which.push_back(i);
    }
    if (static_cast<int>(which.size()) == lanes || (i + 1 == n && !which.empty())) {
      tile(memories, rows, missing, which.data(), static_cast<int>(which.size()));
      which.clear();
    }
  }
}

void Filler::start(const Memories& memories, float* row, const std::uint8_t* missing) {
  const Kernels& kernel = kernels();
  const int d = memories.d, k = memories.k, kp = memories.kp;
  ensure(logits_, static_cast<std::size_t>(kernel.lanes) * kp);
  float* p = logits_.data();
  std::fill(p, p + kp, 0.0f);
  with_energy(memories.metric, [&](auto energy) {
    for (int j = 0; j < d; ++j) {
      if (missing[j]) continue;
      const float* r = memories.values.data() + static_cast<std::ptrdiff_t>(j) * kp;
      for (int m = 0; m < kp; ++m) p[m] += energy.attraction(row[j], r[m]);
    }
  });
  for (int m = 0; m < kp; ++m) p[m] = m < k ? memories.log_weights[m] + memories.beta * p[m] : -1e30f;
  kernel.softmax(p, 1, k, kp, nullptr);
  for (int j = 0; j < d; ++j) {
    if (!missing[j]) continue;
    const float* r = memories.values.data() + static_cast<std::ptrdiff_t>(j) * kp;
    float value = 0.0f;
    for (int m = 0; m < k; ++m) value += p[m] * r[m];
    row[j] = value;
  }
}

void Filler::tile(const Memories& memories, float* rows, const std::uint8_t* missing, const int* which, int used) {
  const Kernels& kernel = kernels();
  const int lanes = kernel.lanes, d = memories.d, ld = memories.ld, kp = memories.kp;
  int q = 0;
  for (int l = 0; l < used; ++l) {
    const std::uint8_t* m = missing + static_cast<std::ptrdiff_t>(which[l]) * d;
    q = std::max(q, static_cast<int>(std::count(m, m + d, std::uint8_t{1})));
  }
  const std::size_t size = static_cast<std::size_t>(q) * lanes;
  feature_.assign(size, d);
  winner_.resize(lanes);
  ensure(start_, size);
  ensure(zero_, size);
  ensure(state_, size);
  ensure(products_, static_cast<std::size_t>(lanes) * kp);
  ensure(gathered_, static_cast<std::size_t>(lanes) * ld);
  ensure(loss_, lanes);
  const Network net = memories.network();
  ensure(scratch_, kernel.moving_scratch(net, q));
  std::fill(start_.data(), start_.data() + size, 0.0f);
  std::fill(gathered_.data(), gathered_.data() + static_cast<std::size_t>(lanes) * ld, 0.0f);

  for (int l = 0; l < used; ++l) {
    const float* x = rows + static_cast<std::ptrdiff_t>(which[l]) * ld;
    const std::uint8_t* m = missing + static_cast<std::ptrdiff_t>(which[l]) * d;
    std::copy(x, x + d, gathered_.data() + static_cast<std::ptrdiff_t>(l) * ld);
    int at = 0;
    for (int j = 0; j < d; ++j) {
      if (!m[j]) continue;
      feature_[static_cast<std::size_t>(at) * lanes + l] = j;
      start_[static_cast<std::size_t>(at) * lanes + l] = x[j];
      ++at;
    }
  }
  memories.panel.products(gathered_.data(), lanes, products_.data());
  MovingTile tile{};
  tile.feature = feature_.data();
  tile.start = start_.data();
  tile.target = tile.loss_weight = zero_.data();
  tile.n_moving = q;
  tile.products = products_.data();
  tile.state = state_.data();
  tile.loss = loss_.data();
  tile.winner = winner_.data();
  tile.scratch = scratch_.data();
  tile.lanes_used = used;
  kernel.moving(net, tile);
  for (int l = 0; l < used; ++l) {
    float* x = rows + static_cast<std::ptrdiff_t>(which[l]) * ld;
    for (int at = 0; at < q; ++at) {
      const std::int32_t j = feature_[static_cast<std::size_t>(at) * lanes + l];
      if (j < d) x[j] = state_[static_cast<std::size_t>(at) * lanes + l];
    }
  }
}

}  // namespace amclust
