// Products of a block of rows with all memories, and their transposes.
#include "entry.hpp"
#include "simd.hpp"

namespace {

// Rows x columns of one register block: MR rows by NV vectors of memories.
template <int MR, int NV>
inline void product_block(const float* rows, int d, const float* memories, int kp, float* out) {
  Vec acc[MR][NV] = {};
  for (int j = 0; j < d; ++j) {
    const float* r = memories + static_cast<std::ptrdiff_t>(j) * kp;
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(r + v * W);
    for (int i = 0; i < MR; ++i) {
      const Vec x = splat(rows[static_cast<std::ptrdiff_t>(i) * d + j]);
      for (int v = 0; v < NV; ++v) acc[i][v] += x * m[v];
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) store(out + static_cast<std::ptrdiff_t>(i) * kp + v * W, acc[i][v]);
}

template <int MR, int NV>
inline void distance_block(const float* rows, int d, const float* memories, int kp, float* out) {
  Vec acc[MR][NV] = {};
  for (int j = 0; j < d; ++j) {
    const float* r = memories + static_cast<std::ptrdiff_t>(j) * kp;
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(r + v * W);
    for (int i = 0; i < MR; ++i) {
      const Vec x = splat(rows[static_cast<std::ptrdiff_t>(i) * d + j]);
      for (int v = 0; v < NV; ++v) {
        const Vec diff = x - m[v];
        acc[i][v] += diff * diff;
      }
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) store(out + static_cast<std::ptrdiff_t>(i) * kp + v * W, acc[i][v]);
}

// MJ features by NV vectors of memories, summed over the n rows of the block.
template <int MJ, int NV>
inline void outer_block(const float* rows, int n, int d, const float* coef, int kp, float* out) {
  Vec acc[MJ][NV];
  for (int j = 0; j < MJ; ++j)
    for (int v = 0; v < NV; ++v) acc[j][v] = load(out + static_cast<std::ptrdiff_t>(j) * kp + v * W);
  for (int i = 0; i < n; ++i) {
    const float* x = rows + static_cast<std::ptrdiff_t>(i) * d;
    const float* c = coef + static_cast<std::ptrdiff_t>(i) * kp;
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(c + v * W);
    for (int j = 0; j < MJ; ++j) {
      const Vec s = splat(x[j]);
      for (int v = 0; v < NV; ++v) acc[j][v] += s * m[v];
    }
  }
  for (int j = 0; j < MJ; ++j)
    for (int v = 0; v < NV; ++v) store(out + static_cast<std::ptrdiff_t>(j) * kp + v * W, acc[j][v]);
}

// Walks the output of a row kernel in register blocks: six rows by two vectors, or the remainders.
#define AMCLUST_FOR_BLOCKS(kernel)                                                                    \
  for (int c = 0; c < kp; c += 2 * W) {                                                               \
    const bool two = c + 2 * W <= kp;                                                                 \
    int i = 0;                                                                                        \
    for (; i + 6 <= n; i += 6) {                                                                      \
      const float* x = rows + static_cast<std::ptrdiff_t>(i) * d;                                     \
      float* o = out + static_cast<std::ptrdiff_t>(i) * kp + c;                                       \
      two ? kernel<6, 2>(x, d, memories + c, kp, o) : kernel<6, 1>(x, d, memories + c, kp, o);        \
    }                                                                                                 \
    for (; i + 2 <= n; i += 2) {                                                                      \
      const float* x = rows + static_cast<std::ptrdiff_t>(i) * d;                                     \
      float* o = out + static_cast<std::ptrdiff_t>(i) * kp + c;                                       \
      two ? kernel<2, 2>(x, d, memories + c, kp, o) : kernel<2, 1>(x, d, memories + c, kp, o);        \
    }                                                                                                 \
    for (; i < n; ++i) {                                                                              \
      const float* x = rows + static_cast<std::ptrdiff_t>(i) * d;                                     \
      float* o = out + static_cast<std::ptrdiff_t>(i) * kp + c;                                       \
      two ? kernel<1, 2>(x, d, memories + c, kp, o) : kernel<1, 1>(x, d, memories + c, kp, o);        \
    }                                                                                                 \
  }

void products(const float* rows, int n, int d, const float* memories, int kp, float* out) {
  AMCLUST_FOR_BLOCKS(product_block)
}

void distances(const float* rows, int n, int d, const float* memories, int kp, float* out) {
  AMCLUST_FOR_BLOCKS(distance_block)
}

#undef AMCLUST_FOR_BLOCKS

void outer(const float* rows, int n, int d, const float* coef, int kp, float* out) {
  for (int c = 0; c < kp; c += 2 * W) {
    const bool two = c + 2 * W <= kp;
    int j = 0;
    for (; j + 6 <= d; j += 6) {
      float* o = out + static_cast<std::ptrdiff_t>(j) * kp + c;
      two ? outer_block<6, 2>(rows + j, n, d, coef + c, kp, o) : outer_block<6, 1>(rows + j, n, d, coef + c, kp, o);
    }
    for (; j < d; ++j) {
      float* o = out + static_cast<std::ptrdiff_t>(j) * kp + c;
      two ? outer_block<1, 2>(rows + j, n, d, coef + c, kp, o) : outer_block<1, 1>(rows + j, n, d, coef + c, kp, o);
    }
  }
}

void norms(const float* rows, int n, int d, float* out) {
  for (int i = 0; i < n; ++i) {
    const float* x = rows + static_cast<std::ptrdiff_t>(i) * d;
    Vec acc = {};
    int j = 0;
    for (; j + W <= d; j += W) {
      const Vec v = load(x + j);
      acc += v * v;
    }
    float s = sum(acc);
    for (; j < d; ++j) s += x[j] * x[j];
    out[i] = s;
  }
}

void affine(const float* row, const float* offset, const float* scale, int d, float* out) {
  int j = 0;
  for (; j + W <= d; j += W) store(out + j, (load(row + j) - load(offset + j)) * load(scale + j));
  for (; j < d; ++j) out[j] = (row[j] - offset[j]) * scale[j];
}

void memory_norms(const float* memories, int d, int kp, float* out) {
  for (int c = 0; c < kp; c += W) {
    Vec acc[4] = {};
    int j = 0;
    for (; j + 4 <= d; j += 4)
      for (int i = 0; i < 4; ++i) {
        const Vec v = load(memories + static_cast<std::ptrdiff_t>(j + i) * kp + c);
        acc[i] += v * v;
      }
    for (; j < d; ++j) {
      const Vec v = load(memories + static_cast<std::ptrdiff_t>(j) * kp + c);
      acc[0] += v * v;
    }
    store(out + c, (acc[0] + acc[1]) + (acc[2] + acc[3]));
  }
}

void subtract_scaled(const float* memories, const float* factor, int d, int kp, float* out) {
  for (int j = 0; j < d; ++j)
    for (int c = 0; c < kp; c += W) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(j) * kp + c;
      store(out + at, load(out + at) - load(factor + c) * load(memories + at));
    }
}

}  // namespace

void AMCLUST_ENTRY(fill_products)(amclust::Kernels& table) {
  table.products = products;
  table.outer = outer;
  table.distances = distances;
  table.norms = norms;
  table.affine = affine;
  table.memory_norms = memory_norms;
  table.subtract_scaled = subtract_scaled;
}
