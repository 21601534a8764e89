// Packed memories: the same products to the bit, and the nearest two by looking at all of them.
#include "check.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cstring>

namespace {

using amclust::Buffer;
using amclust::Kernels;

void check_one(const Kernels& kernel, int n, int d, int k, bool with_ties) {
  check::describe(kernel.name, ", n ", n, ", d ", d, ", k ", k, ", ties ", with_ties);
  const int ld = amclust::padded(d, kernel.lanes), kp = amclust::padded(k, kernel.lanes);
  tests::Source source(static_cast<std::uint64_t>(n * 1000 + d * 100 + k));
  const Buffer rows = tests::matrix(source, n, d, ld);
  Buffer memories = tests::matrix(source, d + 1, k, kp), bias(kp);
  if (with_ties)
    for (int j = 0; j < d; ++j)
      for (int m = 1; m < k; m += 2)
        memories[static_cast<std::size_t>(j) * kp + m] = memories[static_cast<std::size_t>(j) * kp + m - 1];
  for (int m = 0; m < kp; ++m) bias[m] = m < k ? (with_ties ? 0.5f : source.normal()) : -1e30f;
  const int room = amclust::padded(n, kernel.lanes);
  Buffer plain(static_cast<std::size_t>(room) * kp), packed(static_cast<std::size_t>(d) * kp),
      products(static_cast<std::size_t>(room) * kp);
  kernel.products(rows.data(), ld, n, d, memories.data(), kp, plain.data());
  kernel.pack(memories.data(), d, kp, packed.data());
  kernel.packed_products(rows.data(), ld, n, d, packed.data(), kp, products.data());
  CHECK(std::memcmp(plain.data(), products.data(), sizeof(float) * static_cast<std::size_t>(n) * kp) == 0);

  for (const bool from_products : {false, true}) {
    std::vector<float> closeness(n), second(n), by_lane(static_cast<std::size_t>(n) * 2 * kernel.lanes);
    std::vector<std::int32_t> which(n), lane_which(static_cast<std::size_t>(n) * kernel.lanes);
    const amclust::NearestTwo found{closeness.data(), second.data(), which.data(), by_lane.data(), lane_which.data()};
    if (from_products)
      kernel.largest_two(products.data(), n, kp, bias.data(), 2.0f, found);
    else
      kernel.nearest_two(rows.data(), ld, n, d, packed.data(), kp, bias.data(), 2.0f, found);
    for (int i = 0; i < n; ++i) {
      std::vector<float> values(k);
      for (int m = 0; m < k; ++m) values[m] = bias[m] + 2.0f * plain[static_cast<std::size_t>(i) * kp + m];
      const auto best = std::max_element(values.begin(), values.end());
      if (which[i] != best - values.begin()) CHECK_NEAR(values[which[i]], *best, 1e-6);
      if (with_ties) CHECK_EQUAL(which[i], static_cast<std::int32_t>(best - values.begin()));
      CHECK_NEAR(closeness[i], *best, 1e-5);
      // All that is not among the lanes' largest two is below the second of its lane.
      const float* lanes = &by_lane[static_cast<std::size_t>(i) * 2 * kernel.lanes];
      for (int m = 0; m < k; ++m) {
        const int lane = m % kernel.lanes;
        CHECK(values[m] <= lanes[lane] + 1e-5f);
        const int largest = lane_which[static_cast<std::size_t>(i) * kernel.lanes + lane];
        CHECK_EQUAL(largest % kernel.lanes, lane);
        CHECK_NEAR(values[largest], lanes[lane], 1e-5);
      }
      std::nth_element(values.begin(), values.begin() + std::min(1, k - 1), values.end(), std::greater<>());
      if (k > 1) CHECK_NEAR(second[i], values[1], 1e-5);
    }
  }
}

}  // namespace

int main() {
  for (const Kernels* kernel : tests::tables())
    for (const int k : tests::kMemoryCounts)
      for (const int n : {1, 5, 64, 100})
        for (const int d : {1, 3, 40})
          for (const bool with_ties : {false, true}) check_one(*kernel, n, d, k, with_ties);
  return check::finish();
}
