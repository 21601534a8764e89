// A vector of floats as wide as the instruction set this file is compiled for, and the few operations on it that
// operators do not give. Compiled once per instruction set, so everything here has internal linkage: no symbol of a
// wide build may stand in for one of a narrow build at link time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef AMCLUST_LANES
#error "AMCLUST_LANES (floats in a vector) is set by the build"
#endif

namespace {

constexpr int W = AMCLUST_LANES;

// Rows of a register block by so many vectors: enough sums under way at once, and none that does not fit (16 registers,
// 32 with AVX-512).
template <int Vectors>
constexpr int kRegisterRows = W == 16 || Vectors == 1 ? 12 : 6;

typedef float Vec __attribute__((vector_size(W * 4)));
typedef std::int32_t IVec __attribute__((vector_size(W * 4)));

// Row i of a matrix with `stride` elements a row. (Not MatrixView, whose functions have external linkage.)
template <class T>
inline T* row_of(T* matrix, int i, int stride) {
  return matrix + static_cast<std::ptrdiff_t>(i) * stride;
}

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

// Doubles come half as many to a vector: a full register, which compilers handle better than two halves of one.
constexpr int H = W / 2;

typedef double DoubleVec __attribute__((vector_size(W * 4)));
typedef std::int64_t LongVec __attribute__((vector_size(W * 4)));
typedef float HalfVec __attribute__((vector_size(W * 2)));

inline DoubleVec load_double(const double* p) {
  DoubleVec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline DoubleVec load_double(const float* p) {
  HalfVec v;
  __builtin_memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, DoubleVec);
}

inline void store_double(double* p, DoubleVec v) { __builtin_memcpy(p, &v, sizeof v); }

inline DoubleVec select(LongVec mask, DoubleVec yes, DoubleVec no) {
  return (DoubleVec)((mask & (LongVec)yes) | (~mask & (LongVec)no));
}

// (Not Vec{} + x, an addition: -0 + 0 is not -0.)
inline Vec splat(float x) { return x - Vec{}; }

inline Vec select(IVec mask, Vec yes, Vec no) { return (Vec)((mask & (IVec)yes) | (~mask & (IVec)no)); }

// A bit for each lane that is NaN.
inline unsigned nan_bits(Vec x) {
#if AMCLUST_LANES == 16 && defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
#elif AMCLUST_LANES == 8 && defined(__AVX__)
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps((__m256)x, (__m256)x, _CMP_UNORD_Q)));
#elif AMCLUST_LANES == 4 && defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpunord_ps((__m128)x, (__m128)x)));
#else
  unsigned bits = 0;
  for (int l = 0; l < W; ++l) bits |= static_cast<unsigned>(x[l] != x[l]) << l;
  return bits;
#endif
}

inline Vec vmax(Vec a, Vec b) {
#if AMCLUST_LANES == 16 && defined(__AVX512F__)
  return (Vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif AMCLUST_LANES == 8 && defined(__AVX__)
  return (Vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif AMCLUST_LANES == 4 && defined(__SSE2__)
  return (Vec)_mm_max_ps((__m128)a, (__m128)b);
#else
  return select(a > b, a, b);
#endif
}

inline Vec vmin(Vec a, Vec b) {
#if AMCLUST_LANES == 16 && defined(__AVX512F__)
  return (Vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif AMCLUST_LANES == 8 && defined(__AVX__)
  return (Vec)_mm256_min_ps((__m256)a, (__m256)b);
#elif AMCLUST_LANES == 4 && defined(__SSE2__)
  return (Vec)_mm_min_ps((__m128)a, (__m128)b);
#else
  return select(a < b, a, b);
#endif
}

inline Vec vsqrt(Vec a) {
#if AMCLUST_LANES == 16 && defined(__AVX512F__)
  return (Vec)_mm512_sqrt_ps((__m512)a);
#elif AMCLUST_LANES == 8 && defined(__AVX__)
  return (Vec)_mm256_sqrt_ps((__m256)a);
#elif AMCLUST_LANES == 4 && defined(__SSE2__)
  return (Vec)_mm_sqrt_ps((__m128)a);
#else
  Vec out;
  for (int l = 0; l < W; ++l) out[l] = __builtin_sqrtf(a[l]);
  return out;
#endif
}

inline float sum(Vec a) {
#if AMCLUST_LANES == 8 && defined(__AVX__)
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128((__m256)a), _mm256_extractf128_ps((__m256)a, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
  float s = 0.0f;
  for (int l = 0; l < W; ++l) s += a[l];
  return s;
#endif
}

// exp for arguments at most 88; below -87 the result is exactly 0. Relative error under 2e-7 (Cephes' polynomial).
inline Vec vexp(Vec x) {
  const Vec log2e = splat(1.44269504088896341f);
  const Vec magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to the nearest integer
  const IVec tiny = x < splat(-87.0f);
  const Vec clamped = vmin(vmax(x, splat(-87.0f)), splat(88.0f));
  const Vec shifted = clamped * log2e + magic;
  const Vec n = shifted - magic;
  Vec r = clamped - n * splat(0.693359375f);
  r = r - n * splat(-2.12194440e-4f);
  Vec y = splat(1.9875691500e-4f);
  y = y * r + splat(1.3981999507e-3f);
  y = y * r + splat(8.3334519073e-3f);
  y = y * r + splat(4.1665795894e-2f);
  y = y * r + splat(1.6666665459e-1f);
  y = y * r + splat(5.0000001201e-1f);
  y = y * (r * r) + r + splat(1.0f);
  const IVec exponent = (IVec)shifted << 23;  // the low bits of `shifted` hold n
  const Vec scaled = (Vec)((IVec)y + exponent);
  return (Vec)(~tiny & (IVec)scaled);
}

#if AMCLUST_LANES == 8 && defined(__AVX__)
inline void transpose(Vec v[8]) {
  __m256 t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps((__m256)v[i], (__m256)v[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps((__m256)v[i], (__m256)v[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = (Vec)_mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    v[i + 4] = (Vec)_mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}
#elif AMCLUST_LANES == 16 && defined(__AVX512F__)
inline void transpose(Vec v[16]) {
  __m512 t[16], u[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps((__m512)v[i], (__m512)v[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps((__m512)v[i], (__m512)v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    u[i] = _mm512_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    u[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    u[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    u[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  // Now u[4 a + b] has column 4 q + b of rows 4 a ... 4 a + 3 in its quarter q.
  for (int b = 0; b < 4; ++b) {
    const __m512 low = _mm512_shuffle_f32x4(u[b], u[4 + b], 0x88),
                 high = _mm512_shuffle_f32x4(u[8 + b], u[12 + b], 0x88);
    const __m512 odd_low = _mm512_shuffle_f32x4(u[b], u[4 + b], 0xdd),
                 odd_high = _mm512_shuffle_f32x4(u[8 + b], u[12 + b], 0xdd);
    v[b] = (Vec)_mm512_shuffle_f32x4(low, high, 0x88);
    v[8 + b] = (Vec)_mm512_shuffle_f32x4(low, high, 0xdd);
    v[4 + b] = (Vec)_mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    v[12 + b] = (Vec)_mm512_shuffle_f32x4(odd_low, odd_high, 0xdd);
  }
}
#else
inline void transpose(Vec v[W]) {
  float flat[W][W];
  for (int i = 0; i < W; ++i) store(flat[i], v[i]);
  for (int i = 0; i < W; ++i)
    for (int l = 0; l < W; ++l) v[i][l] = flat[l][i];
}
#endif

#if AMCLUST_LANES == 8 && defined(__AVX__)
// Four columns only: out[m] holds rows[0][m] ... rows[7][m] for m < 4.
inline void load_transposed_four(const float* const rows[8], Vec out[8]) {
  __m256 v[4];
  for (int i = 0; i < 4; ++i)
    v[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[i])), _mm_loadu_ps(rows[i + 4]), 1);
  const __m256 a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
  const __m256 c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
  out[0] = (Vec)_mm256_shuffle_ps(a, c, _MM_SHUFFLE(1, 0, 1, 0));
  out[1] = (Vec)_mm256_shuffle_ps(a, c, _MM_SHUFFLE(3, 2, 3, 2));
  out[2] = (Vec)_mm256_shuffle_ps(b, d, _MM_SHUFFLE(1, 0, 1, 0));
  out[3] = (Vec)_mm256_shuffle_ps(b, d, _MM_SHUFFLE(3, 2, 3, 2));
}

// rows[l][m] += in[m][l] for m < 4, lane by lane since rows may be the same.
inline void add_transposed_four(float* const rows[8], const Vec in[8]) {
  const __m256 a = _mm256_unpacklo_ps((__m256)in[0], (__m256)in[1]),
               b = _mm256_unpackhi_ps((__m256)in[0], (__m256)in[1]);
  const __m256 c = _mm256_unpacklo_ps((__m256)in[2], (__m256)in[3]),
               d = _mm256_unpackhi_ps((__m256)in[2], (__m256)in[3]);
  const __m256 v[4] = {
      _mm256_shuffle_ps(a, c, _MM_SHUFFLE(1, 0, 1, 0)), _mm256_shuffle_ps(a, c, _MM_SHUFFLE(3, 2, 3, 2)),
      _mm256_shuffle_ps(b, d, _MM_SHUFFLE(1, 0, 1, 0)), _mm256_shuffle_ps(b, d, _MM_SHUFFLE(3, 2, 3, 2))};
  for (int i = 0; i < 4; ++i) {
    _mm_storeu_ps(rows[i], _mm_add_ps(_mm_loadu_ps(rows[i]), _mm256_castps256_ps128(v[i])));
    _mm_storeu_ps(rows[i + 4], _mm_add_ps(_mm_loadu_ps(rows[i + 4]), _mm256_extractf128_ps(v[i], 1)));
  }
}
#endif

// out[m] holds rows[0][m] ... rows[W-1][m].
inline void load_transposed(const float* const rows[W], Vec out[W]) {
#if AMCLUST_LANES == 16 && defined(__AVX512F__)
  alignas(64) std::int32_t offset[16];
  for (int l = 0; l < 16; ++l) offset[l] = static_cast<std::int32_t>(rows[l] - rows[0]);
  const __m512i index = _mm512_load_si512(offset);
  for (int m = 0; m < 16; ++m) out[m] = (Vec)_mm512_i32gather_ps(index, rows[0] + m, 4);
#else
  for (int l = 0; l < W; ++l) out[l] = load(rows[l]);
  transpose(out);
#endif
}

// rows[l][m] += in[m][l]; rows may be the same for several lanes.
inline void add_transposed(float* const rows[W], Vec in[W]) {
  transpose(in);
  for (int l = 0; l < W; ++l) store(rows[l], load(rows[l]) + in[l]);
}

// W rows of a matrix with `stride` floats a row, as `count` vectors of one column each (stride >= count padded to W).
inline void rows_to_lanes(const float* matrix, int stride, int count, Vec* lanes) {
  const float* rows[W];
  Vec block[W];
  for (int m0 = 0; m0 < count; m0 += W) {
    for (int l = 0; l < W; ++l) rows[l] = row_of(matrix, l, stride) + m0;
    load_transposed(rows, block);
    const int used = count - m0 < W ? count - m0 : W;
    for (int m = 0; m < used; ++m) lanes[m0 + m] = block[m];
  }
}

// The inverse; columns from `count` up to the padded width are written as zeros.
inline void lanes_to_rows(const Vec* lanes, int count, float* matrix, int stride) {
  Vec block[W];
  for (int m0 = 0; m0 < count; m0 += W) {
    const int used = count - m0 < W ? count - m0 : W;
    for (int m = 0; m < W; ++m) block[m] = m < used ? lanes[m0 + m] : Vec{};
    transpose(block);
    for (int l = 0; l < W; ++l) store(row_of(matrix, l, stride) + m0, block[l]);
  }
}

}  // namespace
