// Compiled without contraction (CMakeLists.txt): the rounding of each operation counts.
#include "rows/exact_sums.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace amclust {
namespace {

Wide two_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

// Whole numbers below 2^106 are two doubles.
Wide wide(Int128 count) {
  constexpr int kDigits = 53;
  const auto high = static_cast<std::int64_t>(count >> kDigits);
  const auto low = static_cast<std::int64_t>(count - static_cast<Int128>(high) * (Int128{1} << kDigits));
  return two_sum(std::ldexp(static_cast<double>(high), kDigits), static_cast<double>(low));
}

// Takes out of `count` what is whole in units of the next higher bin.
Int128 carry(Int128& count) {
  constexpr Int128 kUnit = Int128{1} << bins::kBits;
  const Int128 whole = (count + kUnit / 2) >> bins::kBits;
  count -= whole * kUnit;
  return whole;
}

}  // namespace

Wide operator+(Wide a, Wide b) {
  Wide high = two_sum(a.high, b.high);
  const Wide low = two_sum(a.low, b.low);
  high = two_sum(high.high, high.low + low.high);
  return two_sum(high.high, high.low + low.low);
}

Wide operator-(Wide a, Wide b) { return a + Wide{-b.high, -b.low}; }

Wide operator*(Wide a, double b) {
  const double product = a.high * b;
  return two_sum(product, std::fma(a.high, b, -product) + a.low * b);
}

double quotient(Wide a, Wide b) {
  const double first = a.high / b.high;
  return first + (a - b * first).high / b.high;
}

namespace bins {

double unit(int bin) { return std::ldexp(1.0, kBits * bin); }
double magic(int bin) { return std::ldexp(1.5, 52 + kBits * bin); }

double limit(int top) {
  return top >= kOverflow ? std::numeric_limits<double>::infinity() : std::ldexp(0.5, kBits * (top + 1));
}

int top_for(double largest) {
  if (!(largest <= limit(kHighest))) return kOverflow;
  if (largest <= limit(kLowest)) return kLowest;
  int exponent = 0;
  if (std::frexp(largest, &exponent) == 0.5) --exponent;  // now largest <= 2^exponent
  return static_cast<int>(std::floor(static_cast<double>(exponent) / kBits));
}

}  // namespace bins

ExactSums::ExactSums(std::size_t columns) : tops_(columns, bins::kLowest), units_(columns * bins::kKept) {}

ExactSums::ExactSums(std::vector<std::int64_t> tops, std::vector<Int128> units)
    : tops_(std::move(tops)), units_(std::move(units)) {
  if (units_.size() != tops_.size() * bins::kKept) throw std::invalid_argument("these are no sums");
  for (const std::int64_t top : tops_)
    if (top < bins::kLowest || top > bins::kOverflow) throw std::invalid_argument("these are no sums");
}

void ExactSums::raise(std::size_t column, int top) {
  const int by = top - this->top(column);
  if (by <= 0) return;
  Int128* units = units_.data() + kept(column);
  for (int at = bins::kKept - 1; at >= 0; --at) units[at] = at >= by && top < bins::kOverflow ? units[at - by] : 0;
  tops_[column] = top;
}

void ExactSums::add(std::size_t column, double term, std::int64_t times) {
  if (!(std::abs(term) <= bins::limit(top(column)))) raise(column, bins::top_for(std::abs(term)));
  if (top(column) == bins::kOverflow) return;
  for (int at = 0; at < bins::kKept; ++at) {
    const double magic = bins::magic(top(column) - at), slice = (term + magic) - magic;
    const auto count = static_cast<std::int64_t>(slice / bins::unit(top(column) - at));
    units_[kept(column) + at] += static_cast<Int128>(count) * times;
    term -= slice;
  }
}

void ExactSums::add(const ExactSums& other) {
  for (std::size_t j = 0; j < size(); ++j) {
    raise(j, other.top(j));
    if (top(j) == bins::kOverflow) continue;
    const int down = top(j) - other.top(j);
    for (int at = down; at < bins::kKept; ++at) units_[kept(j) + at] += other.units_[kept(j) + at - down];
  }
}

Wide ExactSums::total(std::size_t column) const {
  const int top = this->top(column);
  if (top == bins::kOverflow) return {std::numeric_limits<double>::infinity(), 0.0};
  Int128 counts[bins::kKept];
  for (int at = 0; at < bins::kKept; ++at) counts[at] = units_[kept(column) + at];
  for (int at = bins::kKept - 1; at > 0; --at) counts[at - 1] += carry(counts[at]);
  Wide sum;
  for (int at = 0; at < bins::kKept; ++at) {
    const double unit = bins::unit(top - at);
    const Wide part = wide(counts[at]);
    sum = sum + Wide{part.high * unit, part.low * unit};
  }
  return sum;
}

}  // namespace amclust
