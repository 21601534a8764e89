// Exact sums: the same bits in any order, from any kernel, and right.
#include "check.hpp"
#include "rows/exact_sums.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

namespace {

using amclust::ColumnRange;
using amclust::ColumnSlices;
using amclust::ExactSums;
namespace bins = amclust::bins;

// From 2^-60 to 2^60, of either sign.
std::vector<double> wild(tests::Source& source, int n) {
  std::vector<double> out(n);
  for (double& x : out) x = std::ldexp(source.uniform(-1.0, 1.0), source.below(121) - 60);
  return out;
}

bool same(const ExactSums& a, const ExactSums& b) { return a.tops() == b.tops() && a.units() == b.units(); }

void tops_fit_the_largest_term() {
  for (int exponent = -700; exponent < 900; ++exponent)
    for (const double largest : {std::ldexp(1.0, exponent), std::nextafter(std::ldexp(1.0, exponent), 1e300)}) {
      const int top = bins::top_for(largest);
      CHECK(largest <= bins::limit(top));
      CHECK(largest > bins::limit(top - 1));
    }
  CHECK_EQUAL(bins::top_for(0.0), bins::kLowest);
  CHECK_EQUAL(bins::top_for(1e308), bins::kOverflow);
  CHECK_EQUAL(bins::top_for(std::nan("")), bins::kOverflow);
}

void order_and_parts_change_nothing() {
  tests::Source source(1);
  std::vector<double> terms = wild(source, 500);
  terms.push_back(bins::limit(0));  // ties
  terms.push_back(-bins::unit(0) / 2);
  ExactSums first(1);
  for (const double x : terms) first.add(0, x);
  for (int round = 0; round < 20; ++round) {
    for (int i = static_cast<int>(terms.size()) - 1; i > 0; --i) std::swap(terms[i], terms[source.below(i + 1)]);
    const int cut = source.below(static_cast<int>(terms.size()));
    ExactSums left(1), right(1);
    for (int i = 0; i < static_cast<int>(terms.size()); ++i) (i < cut ? left : right).add(0, terms[i]);
    left.add(right);
    CHECK(same(left, first));
  }
}

void totals_are_right() {
  ExactSums sums(3);
  for (const double x : {1e18, 1.0, -1e18, 1e-3}) sums.add(0, x);
  CHECK_NEAR(sums.total(0).high, 1.001, 1e-12);
  sums.add(1, 0.1, 1000000000000);
  CHECK_NEAR(sums.total(1).high, 1e11, 1e-4);
  CHECK_EQUAL(sums.total(2).high, 0.0);
  sums.add(2, 1e305);
  sums.add(2, -1e305);
  CHECK(std::isinf(sums.total(2).high));
  ExactSums more(3);
  more.add(2, 1.0);
  more.add(sums);
  CHECK(std::isinf(more.total(2).high));
}

// Every table cuts the same slices, of whole vectors and of the columns that are left over.
template <class Value, class Slice, class Range>
void check_kernels(const Slice& slice, const Range& range) {
  constexpr int kRows = 40, kColumns = 21, kBins = ColumnSlices::kBins;
  tests::Source source(2);
  const std::vector<double> drawn = wild(source, kRows * kColumns);
  std::vector<Value> values(drawn.begin(), drawn.end());
  values[5] = values[45] = static_cast<Value>(std::nan(""));
  std::vector<const Value*> rows;
  for (int i = 0; i < kRows; ++i) rows.push_back(values.data() + i * kColumns);
  std::vector<double> weights(kRows);
  for (double& w : weights) w = static_cast<float>(source.uniform(0.0, 3.0));
  const std::vector<double> ones(kRows, 1.0);
  for (const double* weight : std::initializer_list<const double*>{nullptr, weights.data(), ones.data()}) {
    std::vector<double> first, first_range;
    for (const amclust::Kernels* table : tests::tables()) {
      check::describe(table->name, " ", sizeof(Value), weight ? " weighted" : "");
      std::vector<double> magic(kBins * kColumns), sums(2 * kBins * kColumns, 0.0), found(4 * kColumns, 0.0);
      for (int at = 0; at < kBins; ++at)
        std::fill_n(magic.begin() + at * kColumns, kColumns, bins::magic(bins::top_for(0x1p122) - at));
      double* f = found.data();
      range(*table, rows.data(), weight, kRows, kColumns,
            ColumnRange{f, f + kColumns, f + 2 * kColumns, f + 3 * kColumns});
      slice(*table, rows.data(), weight, kRows, kColumns, ColumnSlices{magic.data(), sums.data()},
            ColumnSlices{magic.data(), sums.data() + kBins * kColumns});
      if (first.empty()) first = sums, first_range = found;
      CHECK(first == sums);
      CHECK(first_range == found);
      // Entry by entry
      std::vector<double> entries(2 * kBins * kColumns, 0.0);
      for (int i = 0; i < kRows; ++i)
        for (std::int32_t j = 0; j < kColumns; ++j) {
          const double x = static_cast<double>(rows[i][j]);
          if (!std::isnan(x))
            table->slice_entries(&x, &j, 1, weight ? weight[i] : 1.0, kColumns,
                                 ColumnSlices{magic.data(), entries.data()},
                                 ColumnSlices{magic.data(), entries.data() + kBins * kColumns});
        }
      CHECK(entries == sums);
    }
  }
  check::describe("");
}

}  // namespace

int main() {
  tops_fit_the_largest_term();
  order_and_parts_change_nothing();
  totals_are_right();
  check_kernels<float>([](const amclust::Kernels& k, auto... args) { k.slice_float(args...); },
                       [](const amclust::Kernels& k, auto... args) { k.range_float(args...); });
  check_kernels<double>([](const amclust::Kernels& k, auto... args) { k.slice_double(args...); },
                        [](const amclust::Kernels& k, auto... args) { k.range_double(args...); });
  return check::finish();
}
