// Hidden coordinates: without replacement, never a missing one, at least one hidden and one visible; categories as a
// whole.
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

// Columns of 1, 3, 1, 4 and 2 coordinates.
void categories_are_hidden_as_a_whole() {
  std::vector<amclust::TableColumn> columns{{0, 0}, {1, 3}, {4, 0}, {5, 4}, {9, 2}};
  constexpr int d = 11;
  amclust::ColumnMasks masks(d, columns);
  CHECK_EQUAL(masks.room(0.4), 4 + 3);
  std::vector<int> times(columns.size(), 0);
  constexpr int kRows = 4000;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    check::describe("row ", row);
    // A category that is missing has all of its coordinates marked.
    std::vector<std::uint8_t> missing(d, 0);
    int observed = static_cast<int>(columns.size());
    if (row % 2)
      for (int j = 5; j < 9; ++j) missing[j] = 1;
    observed -= row % 2;
    Random random(7, Purpose::mask, 0, row);
    std::vector<std::int32_t> hidden(masks.room(0.4) + 1, -1);
    const int count = masks.draw(random, 0.4, row % 2 ? missing.data() : nullptr, hidden.data());
    CHECK_EQUAL(hidden[count], -1);
    std::vector<int> taken(d, 0);
    for (int h = 0; h < count; ++h) ++taken[hidden[h]];
    int whole = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (int j = 0; j < columns[c].width(); ++j) {
        CHECK_EQUAL(taken[columns[c].first + j], taken[columns[c].first]);
        CHECK(!(taken[columns[c].first + j] && missing[columns[c].first + j]));
      }
      whole += taken[columns[c].first];
      times[c] += taken[columns[c].first];
    }
    CHECK_EQUAL(whole, amclust::hidden_count(0.4, observed));
  }
  // Two of five columns, or two of four.
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double expected = c == 3 ? 0.5 * kRows * 0.4 : 0.5 * kRows * (0.4 + 0.5);
    CHECK_NEAR(times[c], expected, 5.0 * std::sqrt(expected));
  }
}

// Without categories the draws are those of the coordinates.
void numbers_alone_are_drawn_as_coordinates() {
  constexpr int d = 9;
  amclust::ColumnMasks masks(d, {});
  MaskSampler sampler(d);
  std::vector<std::uint8_t> missing(d, 0);
  missing[4] = 1;
  for (std::uint32_t row = 0; row < 50; ++row) {
    std::int32_t one[d], other[d];
    Random random(3, Purpose::mask, 1, row), again(3, Purpose::mask, 1, row);
    const int count = masks.draw(random, 0.3, missing.data(), one);
    CHECK_EQUAL(count, amclust::hidden_count(0.3, d - 1));
    sampler.draw(again, count, d - 1, missing.data(), other);
    for (int h = 0; h < count; ++h) CHECK_EQUAL(one[h], other[h]);
  }
}

}  // namespace

int main() {
  something_is_hidden_and_something_visible();
  draws_are_distinct_and_observed();
  every_feature_is_as_likely();
  categories_are_hidden_as_a_whole();
  numbers_alone_are_drawn_as_coordinates();
  return check::finish();
}
