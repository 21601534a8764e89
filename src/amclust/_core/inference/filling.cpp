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

void Filler::fill(const Memories& memories, MatrixView<float> rows, MatrixView<const std::uint8_t> missing,
                  bool from_observed) {
  const Kernels& kernel = kernels();
  const Network net = memories.network();
  // Rows share a tile with such as go the same way: the others of a block have no say in how a row is rounded.
  std::vector<int> waiting[2];
  const auto flush = [&](std::vector<int>& which) {
    if (!which.empty()) tile(memories, rows, missing, which);
    which.clear();
  };
  for (int i = 0; i < rows.rows; ++i) {
    const std::uint8_t* marks = missing.row(i);
    const int n_missing = static_cast<int>(std::count(marks, marks + memories.d, std::uint8_t{1}));
    if (!n_missing) continue;
    if (from_observed) start(memories, rows.row(i), marks);
    std::vector<int>& which = waiting[kernel.moves_by_coefficients(net, n_missing)];
    which.push_back(i);
    if (static_cast<int>(which.size()) == kernel.lanes) flush(which);
  }
  for (std::vector<int>& which : waiting) flush(which);
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
      const float* r = memories.feature(j);
      for (int m = 0; m < kp; ++m) p[m] += energy.attraction(row[j], r[m]);
    }
  });
  for (int m = 0; m < kp; ++m) p[m] = m < k ? memories.log_weights[m] + memories.beta * p[m] : -1e30f;
  kernel.softmax(p, 1, k, kp, nullptr);
  for (int j = 0; j < d; ++j) {
    if (!missing[j]) continue;
    const float* r = memories.feature(j);
    float value = 0.0f;
    for (int m = 0; m < k; ++m) value += p[m] * r[m];
    row[j] = value;
  }
}

void Filler::tile(const Memories& memories, MatrixView<float> rows, MatrixView<const std::uint8_t> missing,
                  const std::vector<int>& which) {
  const Kernels& kernel = kernels();
  const int lanes = kernel.lanes, d = memories.d, used = static_cast<int>(which.size());
  int q = 0;
  for (const int i : which)
    q = std::max(q, static_cast<int>(std::count(missing.row(i), missing.row(i) + d, std::uint8_t{1})));
  feature_.assign(static_cast<std::size_t>(q) * lanes, d);
  const MatrixView<std::int32_t> feature{feature_.data(), q, lanes};
  winner_.resize(lanes);
  for (Matrix* matrix : {&start_, &zero_, &state_}) matrix->fit(q, lanes);
  products_.fit(lanes, memories.kp);
  gathered_.fit(lanes, memories.ld);
  ensure(loss_, lanes);
  const Network net = memories.network();
  ensure(scratch_, kernel.moving_scratch(net, q));
  start_.zero();
  gathered_.zero();

  for (int l = 0; l < used; ++l) {
    const float* x = rows.row(which[l]);
    const std::uint8_t* marks = missing.row(which[l]);
    std::copy_n(x, d, gathered_.row(l));
    int at = 0;
    for (int j = 0; j < d; ++j) {
      if (!marks[j]) continue;
      feature(at, l) = j;
      start_(at, l) = x[j];
      ++at;
    }
  }
  memories.panel.products(gathered_, products_);
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
  for (int l = 0; l < used; ++l)
    for (int at = 0; at < q; ++at)
      if (feature(at, l) < d) rows(which[l], feature(at, l)) = state_(at, l);
}

}  // namespace amclust
