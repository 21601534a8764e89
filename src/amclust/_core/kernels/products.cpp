// Products of a block of rows with all memories, and their transposes.
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

namespace {

// Rows x columns of one register block: MR rows by NV vectors of memories.
template <int MR, int NV>
inline void product_block(const float* rows, int ld, int d, const float* memories, int kp, float* out) {
  Vec acc[MR][NV] = {};
  for (int j = 0; j < d; ++j) {
    const float* r = memories + static_cast<std::ptrdiff_t>(j) * kp;
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(r + v * W);
    for (int i = 0; i < MR; ++i) {
      const Vec x = splat(rows[static_cast<std::ptrdiff_t>(i) * ld + j]);
      for (int v = 0; v < NV; ++v) acc[i][v] += x * m[v];
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) store(out + static_cast<std::ptrdiff_t>(i) * kp + v * W, acc[i][v]);
}

template <int MR, int NV>
inline void distance_block(const float* rows, int ld, int d, const float* memories, int kp, float* out) {
  Vec acc[MR][NV] = {};
  for (int j = 0; j < d; ++j) {
    const float* r = memories + static_cast<std::ptrdiff_t>(j) * kp;
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(r + v * W);
    for (int i = 0; i < MR; ++i) {
      const Vec x = splat(rows[static_cast<std::ptrdiff_t>(i) * ld + j]);
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
inline void outer_block(const float* rows, int ld, int n, const float* coef, int kp, float* out) {
  Vec acc[MJ][NV];
  for (int j = 0; j < MJ; ++j)
    for (int v = 0; v < NV; ++v) acc[j][v] = load(out + static_cast<std::ptrdiff_t>(j) * kp + v * W);
  for (int i = 0; i < n; ++i) {
    const float* x = rows + static_cast<std::ptrdiff_t>(i) * ld;
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
#define AMCLUST_FOR_BLOCKS(kernel)                                                 \
  for (int c = 0; c < kp; c += 2 * W) {                                            \
    const bool two = c + 2 * W <= kp;                                              \
    const float* m = memories + c;                                                 \
    for (int i = 0; i < n;) {                                                      \
      const float* x = rows + static_cast<std::ptrdiff_t>(i) * ld;                 \
      float* o = out + static_cast<std::ptrdiff_t>(i) * kp + c;                    \
      if (n - i >= 6) {                                                            \
        two ? kernel<6, 2>(x, ld, d, m, kp, o) : kernel<6, 1>(x, ld, d, m, kp, o); \
        i += 6;                                                                    \
      } else if (n - i >= 2) {                                                     \
        two ? kernel<2, 2>(x, ld, d, m, kp, o) : kernel<2, 1>(x, ld, d, m, kp, o); \
        i += 2;                                                                    \
      } else {                                                                     \
        two ? kernel<1, 2>(x, ld, d, m, kp, o) : kernel<1, 1>(x, ld, d, m, kp, o); \
        i += 1;                                                                    \
      }                                                                            \
    }                                                                              \
  }

void products(const float* rows, int ld, int n, int d, const float* memories, int kp, float* out) {
  AMCLUST_FOR_BLOCKS(product_block)
}

void distances(const float* rows, int ld, int n, int d, const float* memories, int kp, float* out) {
  AMCLUST_FOR_BLOCKS(distance_block)
}

#undef AMCLUST_FOR_BLOCKS

void least(const float* values, int k, int width, std::int32_t* out) {
  for (int c = 0; c < width; c += W) {
    Vec lowest = load(values + c);
    IVec which = {};
    for (int m = 1; m < k; ++m) {
      const Vec value = load(values + static_cast<std::ptrdiff_t>(m) * width + c);
      const IVec lower = value < lowest;
      lowest = select(lower, value, lowest);
      which = (lower & m) | (~lower & which);
    }
    __builtin_memcpy(out + c, &which, sizeof which);
  }
}

void outer(const float* rows, int ld, int n, int d, const float* coef, int kp, float* out) {
  for (int c = 0; c < kp; c += 2 * W) {
    const bool two = c + 2 * W <= kp;
    int j = 0;
    for (; j + 6 <= d; j += 6) {
      float* o = out + static_cast<std::ptrdiff_t>(j) * kp + c;
      two ? outer_block<6, 2>(rows + j, ld, n, coef + c, kp, o) : outer_block<6, 1>(rows + j, ld, n, coef + c, kp, o);
    }
    for (; j < d; ++j) {
      float* o = out + static_cast<std::ptrdiff_t>(j) * kp + c;
      two ? outer_block<1, 2>(rows + j, ld, n, coef + c, kp, o) : outer_block<1, 1>(rows + j, ld, n, coef + c, kp, o);
    }
  }
}

// MR rows by MN memories, the lanes over the features.
template <int MR, int MN>
inline void dot_block(const float* rows, int ld, const float* memories, int kp, float* out) {
  Vec acc[MR][MN] = {};
  for (int j = 0; j < ld; j += W) {
    Vec m[MN];
    for (int v = 0; v < MN; ++v) m[v] = load(memories + static_cast<std::ptrdiff_t>(v) * ld + j);
    for (int i = 0; i < MR; ++i) {
      const Vec x = load(rows + static_cast<std::ptrdiff_t>(i) * ld + j);
      for (int v = 0; v < MN; ++v) acc[i][v] += x * m[v];
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < MN; ++v) out[static_cast<std::ptrdiff_t>(i) * kp + v] = sum(acc[i][v]);
}

template <int MN>
inline void dot_columns(const float* rows, int ld, int n, const float* memories, int kp, float* out) {
  int i = 0;
  for (; i + 3 <= n; i += 3)
    dot_block<3, MN>(rows + static_cast<std::ptrdiff_t>(i) * ld, ld, memories, kp,
                     out + static_cast<std::ptrdiff_t>(i) * kp);
  for (; i < n; ++i)
    dot_block<1, MN>(rows + static_cast<std::ptrdiff_t>(i) * ld, ld, memories, kp,
                     out + static_cast<std::ptrdiff_t>(i) * kp);
}

void dots(const float* rows, int ld, int n, const float* memories, int k, int kp, float* out) {
  int m = 0;
  for (; m + 4 <= k; m += 4) dot_columns<4>(rows, ld, n, memories + static_cast<std::ptrdiff_t>(m) * ld, kp, out + m);
  const float* rest = memories + static_cast<std::ptrdiff_t>(m) * ld;
  switch (k - m) {
    case 3:
      dot_columns<3>(rows, ld, n, rest, kp, out + m);
      break;
    case 2:
      dot_columns<2>(rows, ld, n, rest, kp, out + m);
      break;
    case 1:
      dot_columns<1>(rows, ld, n, rest, kp, out + m);
      break;
    default:
      break;
  }
  for (int i = 0; i < n; ++i)
    for (int c = k; c < kp; ++c) out[static_cast<std::ptrdiff_t>(i) * kp + c] = 0.0f;
}

// MN memories by NV vectors of features, summed over the rows of the block.
template <int MN, int NV>
inline void outer_dot_block(const float* rows, int ld, int n, const float* coef, int kp, float* out) {
  Vec acc[MN][NV];
  for (int m = 0; m < MN; ++m)
    for (int v = 0; v < NV; ++v) acc[m][v] = load(out + static_cast<std::ptrdiff_t>(m) * ld + v * W);
  for (int i = 0; i < n; ++i) {
    const float* x = rows + static_cast<std::ptrdiff_t>(i) * ld;
    const float* c = coef + static_cast<std::ptrdiff_t>(i) * kp;
    Vec r[NV];
    for (int v = 0; v < NV; ++v) r[v] = load(x + v * W);
    for (int m = 0; m < MN; ++m) {
      const Vec s = splat(c[m]);
      for (int v = 0; v < NV; ++v) acc[m][v] += s * r[v];
    }
  }
  for (int m = 0; m < MN; ++m)
    for (int v = 0; v < NV; ++v) store(out + static_cast<std::ptrdiff_t>(m) * ld + v * W, acc[m][v]);
}

template <int MN>
inline void outer_dot_rows(const float* rows, int ld, int n, const float* coef, int kp, float* out) {
  int j = 0;
  for (; j + 3 * W <= ld; j += 3 * W) outer_dot_block<MN, 3>(rows + j, ld, n, coef, kp, out + j);
  for (; j < ld; j += W) outer_dot_block<MN, 1>(rows + j, ld, n, coef, kp, out + j);
}

void outer_dots(const float* rows, int ld, int n, const float* coef, int k, int kp, float* out) {
  int m = 0;
  for (; m + 4 <= k; m += 4) outer_dot_rows<4>(rows, ld, n, coef + m, kp, out + static_cast<std::ptrdiff_t>(m) * ld);
  float* rest = out + static_cast<std::ptrdiff_t>(m) * ld;
  switch (k - m) {
    case 3:
      outer_dot_rows<3>(rows, ld, n, coef + m, kp, rest);
      break;
    case 2:
      outer_dot_rows<2>(rows, ld, n, coef + m, kp, rest);
      break;
    case 1:
      outer_dot_rows<1>(rows, ld, n, coef + m, kp, rest);
      break;
    default:
      break;
  }
}

void norms(const float* rows, int ld, int n, float* out) {
  for (int i = 0; i < n; ++i) {
    const float* x = rows + static_cast<std::ptrdiff_t>(i) * ld;
    Vec even = {}, odd = {};
    int j = 0;
    for (; j + 2 * W <= ld; j += 2 * W) {
      const Vec a = load(x + j), b = load(x + j + W);
      even += a * a;
      odd += b * b;
    }
    if (j < ld) even += load(x + j) * load(x + j);
    out[i] = sum(even + odd);
  }
}

void affine(const float* row, const float* offset, const float* scale, int d, float* out) {
  int j = 0;
  for (; j + W <= d; j += W) store(out + j, (load(row + j) - load(offset + j)) * load(scale + j));
  for (; j < d; ++j) out[j] = (row[j] - offset[j]) * scale[j];
}

void affine_double(const double* row, const double* offset, const float* scale, int d, float* out) {
  int j = 0;
  for (; j + H <= d; j += H) {
    const DoubleVec x = (load_double(row + j) - load_double(offset + j)) * load_double(scale + j);
    const HalfVec narrow = __builtin_convertvector(x, HalfVec);
    __builtin_memcpy(out + j, &narrow, sizeof narrow);
  }
  for (; j < d; ++j) out[j] = static_cast<float>((row[j] - offset[j]) * scale[j]);
}

// Blocks of W x W; both matrices are padded to whole blocks, kp and ld, but for the last features of [d][kp].
void to_rows(const float* in, int d, int k, int kp, int ld, float* out) {
  Vec block[W];
  for (int m0 = 0; m0 < k; m0 += W)
    for (int j0 = 0; j0 < d; j0 += W) {
      for (int j = 0; j < W; ++j)
        block[j] = j0 + j < d ? load(in + static_cast<std::ptrdiff_t>(j0 + j) * kp + m0) : Vec{};
      transpose(block);
      for (int m = 0; m < W && m0 + m < k; ++m) store(out + static_cast<std::ptrdiff_t>(m0 + m) * ld + j0, block[m]);
    }
}

void add_from_rows(const float* in, int d, int k, int kp, int ld, float* out) {
  Vec block[W];
  for (int m0 = 0; m0 < k; m0 += W)
    for (int j0 = 0; j0 < d; j0 += W) {
      for (int m = 0; m < W; ++m)
        block[m] = m0 + m < k ? load(in + static_cast<std::ptrdiff_t>(m0 + m) * ld + j0) : Vec{};
      transpose(block);
      for (int j = 0; j < W && j0 + j < d; ++j) {
        float* o = out + static_cast<std::ptrdiff_t>(j0 + j) * kp + m0;
        store(o, load(o) + block[j]);
      }
    }
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
  table.dots = dots;
  table.outer_dots = outer_dots;
  table.outer = outer;
  table.distances = distances;
  table.least = least;
  table.norms = norms;
  table.affine = affine;
  table.affine_double = affine_double;
  table.to_rows = to_rows;
  table.add_from_rows = add_from_rows;
  table.memory_norms = memory_norms;
  table.subtract_scaled = subtract_scaled;
}
