// Products with packed memories, and which memory is nearest to each row.
#include "kernels/blocks.hpp"
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

namespace {

using amclust::NearestTwo;

constexpr float kLowest = -3.4e38f;

// Calls panel(vector count, first column, packed vectors) for the memories two vectors at a time.
template <class Panel>
inline void for_panels(const float* packed, int d, int kp, const Panel& panel) {
  for_blocks<2, 1>(kp / W, [&](auto vectors, int v) { panel(vectors, v * W, row_of(packed, v * W, d)); });
}

template <int MR, int NV>
inline void panel_products(const float* rows, int ld, int d, const float* panel, Vec acc[MR][NV]) {
  for (int i = 0; i < MR; ++i)
    for (int v = 0; v < NV; ++v) acc[i][v] = Vec{};
  for (int j = 0; j < d; ++j) {
    const float* r = row_of(panel, j, NV * W);
    Vec m[NV];
    for (int v = 0; v < NV; ++v) m[v] = load(r + v * W);
    for (int i = 0; i < MR; ++i) {
      const Vec x = splat(row_of(rows, i, ld)[j]);
      for (int v = 0; v < NV; ++v) acc[i][v] += x * m[v];
    }
  }
}

void pack(const float* memories, int d, int kp, float* packed) {
  for_blocks<2, 1>(kp / W, [&](auto vectors, int v) {
    float* to = row_of(packed, v * W, d);
    for (int j = 0; j < d; ++j)
      for (int c = 0; c < vectors; ++c)
        store(row_of(to, j, vectors * W) + c * W, load(row_of(memories, j, kp) + (v + c) * W));
  });
}

void packed_products(const float* rows, int ld, int n, int d, const float* packed, int kp, float* out) {
  for_panels(packed, d, kp, [&](auto vectors, int c, const float* panel) {
    for_blocks<kRegisterRows<vectors>, 4>(n, [&](auto count, int i) {
      Vec acc[decltype(count)::value][decltype(vectors)::value];
      panel_products<count, vectors>(row_of(rows, i, ld), ld, d, panel, acc);
      for (int r = 0; r < count; ++r)
        for (int v = 0; v < vectors; ++v) store(row_of(out, i + r, kp) + c + v * W, acc[r][v]);
    });
  });
}

// The largest two of a row so far, lane by lane; `vector` says in which vector of memories the largest stands.
struct LargestTwo {
  Vec first = splat(kLowest), second = splat(kLowest);
  IVec vector = {};

  inline void take(Vec value, int number) {
    const IVec larger = value > first;
    second = vmax(second, vmin(value, first));
    first = vmax(value, first);
    vector = larger ? IVec{} + number : vector;
  }
};

inline IVec lane_numbers() {
  IVec numbers;
  for (int l = 0; l < W; ++l) numbers[l] = l;
  return numbers;
}

// What was found of `count` rows, at most as many as lanes: lanes become rows, and the best of the lanes is looked for.
inline void finish(const LargestTwo* found, int count, const NearestTwo& out, int row) {
  Vec first[W], second[W], vector[W];
  for (int i = 0; i < W; ++i) {
    const LargestTwo& one = found[i < count ? i : 0];
    first[i] = one.first;
    second[i] = one.second;
    vector[i] = (Vec)one.vector;
  }
  for (int i = 0; i < count && out.by_lane; ++i) {
    float* lanes = row_of(out.by_lane, row + i, 2 * W);
    store(lanes, first[i]);
    store(lanes + W, second[i]);
    const IVec which = found[i].vector * W + lane_numbers();
    __builtin_memcpy(row_of(out.lane_which, row + i, W), &which, sizeof which);
  }
  transpose(first);
  transpose(second);
  transpose(vector);
  Vec best = first[0], next = second[0];
  IVec which = (IVec)vector[0] * W;
  for (int l = 1; l < W; ++l) {
    const IVec at = (IVec)vector[l] * W + l;
    const IVec better = (first[l] > best) | ((first[l] == best) & (at < which));
    next = vmax(vmax(next, second[l]), vmin(best, first[l]));
    best = vmax(best, first[l]);
    which = (better & at) | (~better & which);
  }
  for (int i = 0; i < count; ++i) {
    out.closeness[row + i] = best[i];
    out.second[row + i] = next[i];
    out.which[row + i] = which[i];
  }
}

// Rows that share a walk through the memories, and memories (in floats) that stay in the nearest cache meanwhile.
constexpr int kWalkRows = 96, kCached = 4096;

template <int MR>
inline void nearest_in_panels(const float* rows, int ld, int d, const float* packed, int from, int to,
                              const float* bias, float factor, LargestTwo* found) {
  LargestTwo local[MR];
  for (int r = 0; r < MR; ++r) local[r] = found[r];
  for_blocks<2, 1>(
      to,
      [&](auto vectors, int v) {
        Vec acc[MR][decltype(vectors)::value];
        panel_products<MR, vectors>(rows, ld, d, row_of(packed, v * W, d), acc);
        for (int c = 0; c < vectors; ++c) {
          const Vec b = load(bias + (v + c) * W);
          for (int r = 0; r < MR; ++r) local[r].take(b + factor * acc[r][c], v + c);
        }
      },
      from);
  for (int r = 0; r < MR; ++r) found[r] = local[r];
}

void nearest_two(const float* rows, int ld, int n, int d, const float* packed, int kp, const float* bias, float factor,
                 const NearestTwo& out) {
  const int vectors = kp / W, at_once = 2 * (kCached / (2 * W * d) > 1 ? kCached / (2 * W * d) : 1);
  for (int first = 0; first < n; first += kWalkRows) {
    const int count = n - first < kWalkRows ? n - first : kWalkRows;
    LargestTwo found[kWalkRows];
    for (int from = 0; from < vectors; from += at_once) {
      const int to = vectors - from < at_once ? vectors : from + at_once;
      for_blocks<6, 2>(count, [&](auto size, int i) {
        nearest_in_panels<size>(row_of(rows, first + i, ld), ld, d, packed, from, to, bias, factor, found + i);
      });
    }
    for (int i = 0; i < count; i += W) finish(found + i, count - i < W ? count - i : W, out, first + i);
  }
}

void largest_two(const float* products, int n, int kp, const float* bias, float factor, const NearestTwo& out) {
  for (int first = 0; first < n; first += W) {
    const int count = n - first < W ? n - first : W;
    LargestTwo found[W];
    for (int i = 0; i < count; ++i) {
      const float* product = row_of(products, first + i, kp);
      for (int c = 0; c < kp; c += W) found[i].take(load(bias + c) + factor * load(product + c), c / W);
    }
    finish(found, count, out, first);
  }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_nearest(Kernels& table) {
  table.pack = pack;
  table.packed_products = packed_products;
  table.nearest_two = nearest_two;
  table.largest_two = largest_two;
}
