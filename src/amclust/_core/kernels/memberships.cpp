// Logits, memberships and their adjoint for blocks of rows.
#include "kernels/entry.hpp"
#include "kernels/softmax.hpp"

namespace {

constexpr int kMaxOnStack = 64;

void logits(const float* products, int n, int kp, const float* bias, float factor, float* out) {
  const Vec f = splat(factor);
  for (int i = 0; i < n; ++i) {
    const float* product = row_of(products, i, kp);
    float* logit = row_of(out, i, kp);
    for (int c = 0; c < kp; c += W) store(logit + c, load(bias + c) + f * load(product + c));
  }
}

// Rows one by one where k does not fit on the stack; the lanes then run over the memories.
void softmax_row(float* z, int kp, float* log_total) {
  Vec top = load(z);
  for (int c = W; c < kp; c += W) top = vmax(top, load(z + c));
  float peak = top[0];
  for (int l = 1; l < W; ++l) peak = top[l] > peak ? top[l] : peak;
  Vec total = {};
  for (int c = 0; c < kp; c += W) {
    const Vec e = vexp(load(z + c) - peak);
    store(z + c, e);
    total += e;
  }
  const float s = sum(total);
  for (int c = 0; c < kp; c += W) store(z + c, load(z + c) * (1.0f / s));
  if (log_total) *log_total = peak + __builtin_logf(s);
}

void softmax(float* rows, int n, int k, int kp, float* log_total) {
  if (k > kMaxOnStack) {
    for (int i = 0; i < n; ++i) softmax_row(row_of(rows, i, kp), kp, log_total ? log_total + i : nullptr);
    return;
  }
  Vec lanes[kMaxOnStack];
  for (int i = 0; i < n; i += W) {
    float* tile = row_of(rows, i, kp);
    rows_to_lanes(tile, kp, k, lanes);
    Vec total;
    const Vec top = softmax_lanes(lanes, k, total);
    lanes_to_rows(lanes, k, tile, kp);
    if (log_total)
      for (int l = 0; l < W && i + l < n; ++l) log_total[i + l] = top[l] + __builtin_logf(total[l]);
  }
}

void softmax_adjoint(const float* p, const float* g, int n, int kp, float* out) {
  for (int i = 0; i < n; ++i) {
    const float *pi = row_of(p, i, kp), *gi = row_of(g, i, kp);
    float* to = row_of(out, i, kp);
    Vec acc = {};
    for (int c = 0; c < kp; c += W) acc += load(pi + c) * load(gi + c);
    const float mean = sum(acc);
    for (int c = 0; c < kp; c += W) store(to + c, load(pi + c) * (load(gi + c) - mean));
  }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_memberships(Kernels& table) {
  table.logits = logits;
  table.softmax = softmax;
  table.softmax_adjoint = softmax_adjoint;
}
