// Products of a block of rows with all memories, and their transposes.
#include "kernels/blocks.hpp"
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

namespace {

// Rows x columns of one register block: MR rows by NV vectors of memories.
template <int MR, int NV>
inline void product_block(const float* rows, int ld, int d, const float* memories, int kp, float* out) {
  Vec acc[MR][NV] = {};
  for (int j = 0; j < d; ++j) {
    const float* r = row_of(memories, j, kp);
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(r + v * W);
    for (int i = 0; i < MR; ++i) {
      const Vec x = splat(row_of(rows, i, ld)[j]);
      for (int v = 0; v < NV; ++v) acc[i][v] += x * m[v];
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) store(row_of(out, i, kp) + v * W, acc[i][v]);
}

template <int MR, int NV>
inline void distance_block(const float* rows, int ld, int d, const float* memories, int kp, float* out) {
  Vec acc[MR][NV] = {};
  for (int j = 0; j < d; ++j) {
    const float* r = row_of(memories, j, kp);
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(r + v * W);
    for (int i = 0; i < MR; ++i) {
      const Vec x = splat(row_of(rows, i, ld)[j]);
      for (int v = 0; v < NV; ++v) {
        const Vec diff = x - m[v];
        acc[i][v] += diff * diff;
      }
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) store(row_of(out, i, kp) + v * W, acc[i][v]);
}

// MJ features by NV vectors of memories, summed over the n rows of the block.
template <int MJ, int NV>
inline void outer_block(const float* rows, int ld, int n, const float* coef, int kp, float* out) {
  Vec acc[MJ][NV];
  for (int j = 0; j < MJ; ++j)
    for (int v = 0; v < NV; ++v) acc[j][v] = load(row_of(out, j, kp) + v * W);
  for (int i = 0; i < n; ++i) {
    const float* x = row_of(rows, i, ld);
    const float* c = row_of(coef, i, kp);
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(c + v * W);
    for (int j = 0; j < MJ; ++j) {
      const Vec s = splat(x[j]);
      for (int v = 0; v < NV; ++v) acc[j][v] += s * m[v];
    }
  }
  for (int j = 0; j < MJ; ++j)
    for (int v = 0; v < NV; ++v) store(row_of(out, j, kp) + v * W, acc[j][v]);
}

// Walks through [rows][kp] in register blocks of up to two vectors, or what remains of them:
// block(row count, vector count, row, column).
template <class Block>
inline void for_register_blocks(int rows, int kp, const Block& block) {
  for_blocks<2, 1>(kp / W, [&](auto vectors, int v) {
    for_blocks<kRegisterRows<vectors>, 4>(rows, [&](auto count, int i) { block(count, vectors, i, v * W); });
  });
}

void products(const float* rows, int ld, int n, int d, const float* memories, int kp, float* out) {
  for_register_blocks(n, kp, [&](auto count, auto vectors, int i, int c) {
    product_block<count, vectors>(row_of(rows, i, ld), ld, d, memories + c, kp, row_of(out, i, kp) + c);
  });
}

void distances(const float* rows, int ld, int n, int d, const float* memories, int kp, float* out) {
  for_register_blocks(n, kp, [&](auto count, auto vectors, int i, int c) {
    distance_block<count, vectors>(row_of(rows, i, ld), ld, d, memories + c, kp, row_of(out, i, kp) + c);
  });
}

void roots(float* values, int n) {
  for (int i = 0; i < n; i += W) store(values + i, vsqrt(load(values + i)));
}

void add_to_rows(const float* values, const float* weights, const std::int32_t* which, int n, int width, float* out) {
  for (int i = 0; i < n; ++i) {
    const Vec weight = splat(weights ? weights[i] : 1.0f);
    const float* value = row_of(values, i, width);
    float* to = row_of(out, which[i], width);
    for (int c = 0; c < width; c += W) store(to + c, load(to + c) + weight * load(value + c));
  }
}

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
  for_register_blocks(d, kp, [&](auto count, auto vectors, int j, int c) {
    outer_block<count, vectors>(rows + j, ld, n, coef + c, kp, row_of(out, j, kp) + c);
  });
}

// MR rows by MN memories, the lanes over the features.
template <int MR, int MN>
inline void dot_block(const float* rows, int ld, const float* memories, int kp, float* out) {
  Vec acc[MR][MN] = {};
  for (int j = 0; j < ld; j += W) {
    Vec m[MN];
    for (int v = 0; v < MN; ++v) m[v] = load(row_of(memories, v, ld) + j);
    for (int i = 0; i < MR; ++i) {
      const Vec x = load(row_of(rows, i, ld) + j);
      for (int v = 0; v < MN; ++v) acc[i][v] += x * m[v];
    }
  }
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < MN; ++v) row_of(out, i, kp)[v] = sum(acc[i][v]);
}

template <int MN>
inline void dot_columns(const float* rows, int ld, int n, const float* memories, int kp, float* out) {
  for_blocks<3, 1>(
      n, [&](auto count, int i) { dot_block<count, MN>(row_of(rows, i, ld), ld, memories, kp, row_of(out, i, kp)); });
}

void dots(const float* rows, int ld, int n, const float* memories, int k, int kp, float* out) {
  for_blocks<4>(k, [&](auto size, int m) { dot_columns<size>(rows, ld, n, row_of(memories, m, ld), kp, out + m); });
  for (int i = 0; i < n; ++i)
    for (int c = k; c < kp; ++c) row_of(out, i, kp)[c] = 0.0f;
}

// MN memories by NV vectors of features, summed over the rows of the block.
template <int MN, int NV>
inline void outer_dot_block(const float* rows, int ld, int n, const float* coef, int kp, float* out) {
  Vec acc[MN][NV];
  for (int m = 0; m < MN; ++m)
    for (int v = 0; v < NV; ++v) acc[m][v] = load(row_of(out, m, ld) + v * W);
  for (int i = 0; i < n; ++i) {
    const float* x = row_of(rows, i, ld);
    const float* c = row_of(coef, i, kp);
    Vec r[NV];
    for (int v = 0; v < NV; ++v) r[v] = load(x + v * W);
    for (int m = 0; m < MN; ++m) {
      const Vec s = splat(c[m]);
      for (int v = 0; v < NV; ++v) acc[m][v] += s * r[v];
    }
  }
  for (int m = 0; m < MN; ++m)
    for (int v = 0; v < NV; ++v) store(row_of(out, m, ld) + v * W, acc[m][v]);
}

template <int MN>
inline void outer_dot_rows(const float* rows, int ld, int n, const float* coef, int kp, float* out) {
  for_blocks<3, 1>(
      ld / W, [&](auto vectors, int v) { outer_dot_block<MN, vectors>(rows + v * W, ld, n, coef, kp, out + v * W); });
}

void outer_dots(const float* rows, int ld, int n, const float* coef, int k, int kp, float* out) {
  for_blocks<4>(k, [&](auto size, int m) { outer_dot_rows<size>(rows, ld, n, coef + m, kp, row_of(out, m, ld)); });
}

void norms(const float* rows, int ld, int n, float* out) {
  for (int i = 0; i < n; ++i) {
    const float* x = row_of(rows, i, ld);
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
  const auto put = [&](int j) {
    const DoubleVec x = (load_double(row + j) - load_double(offset + j)) * load_double(scale + j);
    const HalfVec narrow = __builtin_convertvector(x, HalfVec);
    __builtin_memcpy(out + j, &narrow, sizeof narrow);
  };
  int j = 0;
  for (; j + H <= d; j += H) put(j);
  if (j < d && d >= H) return put(d - H);  // some columns once more: the same numbers
  for (; j < d; ++j) out[j] = static_cast<float>((row[j] - offset[j]) * scale[j]);
}

void put_missing(const float* values, const double* factor, const double* shift, int d, float* x) {
  const auto put = [&](int j) { x[j] = static_cast<float>(*values++ * factor[j] + shift[j]); };
  int j = 0;
  for (; j + W <= d; j += W)
    for (unsigned bits = nan_bits(load(x + j)); bits; bits &= bits - 1) put(j + __builtin_ctz(bits));
  for (; j < d; ++j)
    if (x[j] != x[j]) put(j);
}

// Blocks of W x W; both matrices are padded to whole blocks, kp and ld, but for the last features of [d][kp].
void to_rows(const float* in, int d, int k, int kp, int ld, float* out) {
  Vec block[W];
  for (int m0 = 0; m0 < k; m0 += W)
    for (int j0 = 0; j0 < d; j0 += W) {
      for (int j = 0; j < W; ++j) block[j] = j0 + j < d ? load(row_of(in, j0 + j, kp) + m0) : Vec{};
      transpose(block);
      for (int m = 0; m < W && m0 + m < k; ++m) store(row_of(out, m0 + m, ld) + j0, block[m]);
    }
}

void add_from_rows(const float* in, int d, int k, int kp, int ld, float* out) {
  Vec block[W];
  for (int m0 = 0; m0 < k; m0 += W)
    for (int j0 = 0; j0 < d; j0 += W) {
      for (int m = 0; m < W; ++m) block[m] = m0 + m < k ? load(row_of(in, m0 + m, ld) + j0) : Vec{};
      transpose(block);
      for (int j = 0; j < W && j0 + j < d; ++j) {
        float* o = row_of(out, j0 + j, kp) + m0;
        store(o, load(o) + block[j]);
      }
    }
}

void memory_dots(const float* a, const float* b, int d, int kp, float* out) {
  for (int c = 0; c < kp; c += W) {
    Vec acc[4] = {};
    int j = 0;
    for (; j + 4 <= d; j += 4)
      for (int i = 0; i < 4; ++i) acc[i] += load(row_of(a, j + i, kp) + c) * load(row_of(b, j + i, kp) + c);
    for (; j < d; ++j) acc[0] += load(row_of(a, j, kp) + c) * load(row_of(b, j, kp) + c);
    store(out + c, (acc[0] + acc[1]) + (acc[2] + acc[3]));
  }
}

void scale_memories(const float* factor, int d, int kp, float* memories) {
  for (int j = 0; j < d; ++j) {
    float* to = row_of(memories, j, kp);
    for (int c = 0; c < kp; c += W) store(to + c, load(to + c) * load(factor + c));
  }
}

void subtract_scaled(const float* memories, const float* factor, int d, int kp, float* out) {
  for (int j = 0; j < d; ++j)
    for (int c = 0; c < kp; c += W) {
      float* to = row_of(out, j, kp) + c;
      store(to, load(to) - load(factor + c) * load(row_of(memories, j, kp) + c));
    }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_products(Kernels& table) {
  table.products = products;
  table.dots = dots;
  table.outer_dots = outer_dots;
  table.outer = outer;
  table.distances = distances;
  table.roots = roots;
  table.add_to_rows = add_to_rows;
  table.least = least;
  table.norms = norms;
  table.affine = affine;
  table.affine_double = affine_double;
  table.put_missing = put_missing;
  table.to_rows = to_rows;
  table.add_from_rows = add_from_rows;
  table.memory_dots = memory_dots;
  table.scale_memories = scale_memories;
  table.subtract_scaled = subtract_scaled;
}
