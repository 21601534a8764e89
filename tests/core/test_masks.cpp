// Hidden coordinates: without replacement, never a missing one, at least one hidden and one visible.
#include "check.hpp"
#include "training/masks.hpp"

#include <algorithm>
#include <vector>

namespace {

using amclust::MaskSampler;
using amclust::Purpose;
using amclust::Random;

void something_is_hidden_and_something_visible() {
  for (const double fraction : {1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-9}) {
    CHECK_EQUAL(amclust::hidden_count(fraction, 0), 0);
    CHECK_EQUAL(amclust::hidden_count(fraction, 1), 0);
    for (int observed = 2; observed < 50; ++observed) {
      const int count = amclust::hidden_count(fraction, observed);
      CHECK(count >= 1 && count <= observed - 1);
      CHECK(std::abs(count - fraction * observed) <= 0.5 || count == 1 || count == observed - 1);
    }
  }
}

void draws_are_distinct_and_observed() {
  constexpr int d = 23;
  MaskSampler sampler(d);
  for (std::uint32_t row = 0; row < 400; ++row) {
    Random shape(1, Purpose::sample, row);
    std::vector<std::uint8_t> missing(d, 0);
    const bool with_missing = row % 3 != 0;
    if (with_missing)
      for (std::uint8_t& m : missing) m = shape.below(3) == 0;
    const int observed = static_cast<int>(std::count(missing.begin(), missing.end(), std::uint8_t{0}));
    const int count = observed ? static_cast<int>(shape.below(static_cast<std::uint32_t>(observed) + 1)) : 0;
    check::describe("row ", row, ", ", count, " of ", observed);
    Random random(7, Purpose::mask, 0, row);
    std::vector<std::int32_t> drawn(d, -1);
    sampler.draw(random, count, observed, with_missing ? missing.data() : nullptr, drawn.data());
    std::vector<int> times(d, 0);
    for (int i = 0; i < count; ++i) {
      const bool inside = drawn[i] >= 0 && drawn[i] < d;
      CHECK(inside);
      if (!inside) continue;
      CHECK(!missing[drawn[i]]);
      CHECK_EQUAL(++times[drawn[i]], 1);
    }
    CHECK(count == d || drawn[count] == -1);  // nothing is written past the end
  }
}

void every_feature_is_as_likely() {
  constexpr int d = 9, count = 3, rows = 20000;
  MaskSampler sampler(d);
  std::vector<int> times(d, 0);
  for (std::uint32_t row = 0; row < rows; ++row) {
    Random random(3, Purpose::mask, 1, row);
    std::int32_t drawn[count];
    sampler.draw(random, count, d, nullptr, drawn);
    for (const std::int32_t j : drawn) ++times[j];
  }
  const double expected = static_cast<double>(rows) * count / d;
  for (int j = 0; j < d; ++j) CHECK_NEAR(times[j], expected, 5.0 * std::sqrt(expected));
}

}  // namespace

int main() {
  something_is_hidden_and_something_visible();
  draws_are_distinct_and_observed();
  every_feature_is_as_likely();
  return check::finish();
}
