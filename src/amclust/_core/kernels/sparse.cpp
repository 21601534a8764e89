// Rows of which only some entries are stored, against memories [d][kp]: the lanes run over the memories.
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

namespace {

// NV vectors of memories at a time stay in registers while the entries of a row go by, NE of them at once: enough sums
// under way.
template <int NV, int NE>
void products_of_row(const float* values, const std::int32_t* columns, int count, const float* memories, int kp,
                     const float* start, float* out) {
  Vec acc[NE][NV] = {};
  for (int v = 0; v < NV; ++v) acc[0][v] = load(start + v * W);
  const auto add = [&](int e, Vec* sums) {
    const Vec x = splat(values[e]);
    const float* r = row_of(memories, columns[e], kp);
    for (int v = 0; v < NV; ++v) sums[v] += x * load(r + v * W);
  };
  int e = 0;
  for (; e + NE <= count; e += NE)
    for (int i = 0; i < NE; ++i) add(e + i, acc[i]);
  for (; e < count; ++e) add(e, acc[0]);
  for (int v = 0; v < NV; ++v) {
    for (int i = 1; i < NE; ++i) acc[0][v] += acc[i][v];
    store(out + v * W, acc[0][v]);
  }
}

void sparse_products(const float* values, const std::int32_t* columns, const std::int32_t* starts, int n,
                     const float* memories, int kp, const float* start, float* out) {
  for (int i = 0; i < n; ++i) {
    const float* x = values + starts[i];
    const std::int32_t* at = columns + starts[i];
    const int count = starts[i + 1] - starts[i];
    float* to = row_of(out, i, kp);
    int c = 0;
    for (; c + 4 * W <= kp; c += 4 * W) products_of_row<4, 2>(x, at, count, memories + c, kp, start + c, to + c);
    for (; c + 2 * W <= kp; c += 2 * W) products_of_row<2, 4>(x, at, count, memories + c, kp, start + c, to + c);
    for (; c < kp; c += W) products_of_row<1, 4>(x, at, count, memories + c, kp, start + c, to + c);
  }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_sparse(Kernels& table) { table.sparse_products = sparse_products; }
