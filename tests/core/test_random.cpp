// The generator against its authors' known answers, and what is drawn with it.
#include "check.hpp"
#include "random.hpp"
#include "training/order.hpp"
#include "training/reseeding.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace {

using amclust::PassOrder;
using amclust::Purpose;
using amclust::Random;
using amclust::RandomOrder;
using Counter = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

void philox_known_answers() {
  constexpr std::uint32_t ff = 0xffffffffu;
  CHECK(
      (amclust::philox(Counter{0, 0, 0, 0}, Key{0, 0}) == Counter{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  CHECK((amclust::philox(Counter{ff, ff, ff, ff}, Key{ff, ff}) ==
         Counter{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  CHECK((amclust::philox(Counter{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, Key{0xa4093822u, 0x299f31d0u}) ==
         Counter{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

void streams_differ_by_every_part_of_their_name() {
  const auto first = [](Random random) { return random.bits(); };
  const std::uint64_t base = first(Random(1, Purpose::mask, 2, 3));
  CHECK_EQUAL(first(Random(1, Purpose::mask, 2, 3)), base);
  CHECK(first(Random(2, Purpose::mask, 2, 3)) != base);
  CHECK(first(Random(1 + (std::uint64_t{1} << 32), Purpose::mask, 2, 3)) != base);
  CHECK(first(Random(1, Purpose::order, 2, 3)) != base);
  CHECK(first(Random(1, Purpose::mask, 3, 3)) != base);
  CHECK(first(Random(1, Purpose::mask, 2, 4)) != base);
}

void draws_stay_in_range_and_spread() {
  Random random(5, Purpose::sample);
  constexpr int kDraws = 60000;
  for (const std::uint32_t n : {1u, 2u, 3u, 7u, 30u}) {
    check::describe("below ", n);
    std::vector<int> counts(n, 0), pairs(n, 0);
    bool inside = true;
    for (int i = 0; i < kDraws; ++i) {
      const std::uint32_t drawn = random.below(n);
      std::uint32_t two[2];
      random.below(n, n, two);
      inside = inside && drawn < n && two[0] < n && two[1] < n;
      if (!inside) break;
      ++counts[drawn];
      ++pairs[two[1]];
    }
    CHECK(inside);
    const double expected = static_cast<double>(kDraws) / n, deviation = 5.0 * std::sqrt(expected);
    for (std::uint32_t v = 0; v < n; ++v) {
      CHECK_NEAR(counts[v], expected, deviation);
      CHECK_NEAR(pairs[v], expected, deviation);
    }
  }
  double sum = 0.0, low = 1.0, high = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    sum += u;
    low = std::min(low, u);
    high = std::max(high, u);
  }
  CHECK(low >= 0.0 && low < 1e-3);
  CHECK(high < 1.0 && high > 1.0 - 1e-3);
  CHECK_NEAR(sum / kDraws, 0.5, 0.01);
}

void orders_are_permutations() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t n = 1; n <= 70; ++n) sizes.push_back(n);
  for (const std::uint64_t n : {255u, 256u, 257u, 1000u, 1024u, 4097u, 65536u, 100003u}) sizes.push_back(n);
  for (const std::uint64_t n : sizes) {
    check::describe("order of ", n);
    const RandomOrder order(11, 3, n);
    std::vector<bool> seen(n, false);
    bool once = true;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t at = order[i];
      once = once && at < n && !seen[at];
      if (!once) break;
      seen[at] = true;
    }
    CHECK(once);
  }
}

void orders_differ_by_pass_and_seed() {
  constexpr std::uint64_t n = 1000;
  const RandomOrder one(11, 0, n), same(11, 0, n), next(11, 1, n), other(12, 0, n);
  int identity = 0, equal = 0, pass = 0, seed = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    identity += one[i] == i;
    equal += one[i] == same[i];
    pass += one[i] == next[i];
    seed += one[i] == other[i];
  }
  CHECK_EQUAL(equal, static_cast<int>(n));
  CHECK(identity < 20 && pass < 20 && seed < 20);
}

void passes_visit_every_row_once_in_their_own_order() {
  for (const std::int64_t n :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{1000}, PassOrder::kFewRows, PassOrder::kFewRows + 1}) {
    check::describe("pass over ", n);
    const PassOrder order(11, 3, n), same(11, 3, n), next(11, 4, n), other(12, 3, n);
    std::vector<bool> seen(n, false);
    std::int64_t once = 0, equal = 0, pass = 0, seed = 0, together = 0;
    std::vector<std::int64_t> later(n - n / 3);
    order.get(n / 3, static_cast<std::int64_t>(later.size()), later.data());
    for (std::int64_t i = n / 3; i < n; ++i) together += later[i - n / 3] == order[i];
    CHECK_EQUAL(together, n - n / 3);
    for (std::int64_t i = 0; i < n; ++i) {
      once += !seen[order[i]];
      seen[order[i]] = true;
      equal += order[i] == same[i];
      pass += order[i] == next[i];
      seed += order[i] == other[i];
    }
    CHECK_EQUAL(once, n);
    CHECK_EQUAL(equal, n);
    CHECK(n < 1000 || (pass < 20 && seed < 20));
  }
}

void reseeds_fall_on_bad_rows_and_never_twice() {
  const std::vector<float> badness{0.0f, 3.0f, 0.0f, 1.0f};
  int heavy = 0;
  constexpr int kDraws = 4000;
  for (std::uint32_t epoch = 0; epoch < kDraws; ++epoch) {
    std::vector<std::int64_t> picks = amclust::draw_reseeds(7, epoch, badness, 3);
    heavy += picks[0] == 1;
    std::sort(picks.begin(), picks.end());
    CHECK((picks == std::vector<std::int64_t>{1, 3}));  // two rows are bad, however many are wanted
  }
  CHECK_NEAR(heavy, 0.75 * kDraws, 5.0 * std::sqrt(kDraws * 0.75 * 0.25));
  CHECK_EQUAL(amclust::draw_reseeds(7, 0, badness, 1).size(), std::size_t{1});
  CHECK(amclust::draw_reseeds(7, 0, {0.0f, 0.0f}, 1).empty());
  CHECK(amclust::draw_reseeds(7, 0, {}, 1).empty());
}

}  // namespace

int main() {
  philox_known_answers();
  streams_differ_by_every_part_of_their_name();
  draws_stay_in_range_and_spread();
  orders_are_permutations();
  orders_differ_by_pass_and_seed();
  passes_visit_every_row_once_in_their_own_order();
  reseeds_fall_on_bad_rows_and_never_twice();
  return check::finish();
}
