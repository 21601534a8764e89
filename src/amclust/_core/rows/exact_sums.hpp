// Sums that have the same bits in whatever order, and in however many parts, their terms are added: binned summation
// (Demmel and Nguyen, "Parallel Reproducible Summation", 2015).
//
// Bin b counts in units of 2^(40 b). A term is rounded to a multiple of its highest unit, the rest to a multiple of the
// next lower one, and so on. A sum keeps four bins, the highest of them the lowest one in which its largest term has a
// count below 2^39, and drops what is lower: which bins it keeps hangs on the largest term only, and what is in them is
// a sum of whole numbers. So at least 119 bits below the largest term count: squares of doubles have 106.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace amclust {

__extension__ typedef __int128 Int128;

// A number as the sum of two doubles.
struct Wide {
  double high = 0.0, low = 0.0;
};
Wide operator+(Wide a, Wide b);
Wide operator-(Wide a, Wide b);
Wide operator*(Wide a, double b);
double quotient(Wide a, Wide b);

namespace bins {

constexpr int kBits = 40, kKept = 4;
// The highest bin of a sum. Lower ones would count in subnormal numbers, higher ones in numbers that overflow.
constexpr int kLowest = -20, kHighest = 24, kOverflow = 25;

double unit(int bin);
// Adding this, and taking it away again, rounds to a multiple of the unit.
double magic(int bin);
// The largest term of a sum with this highest bin.
double limit(int top);
int top_for(double largest);

}  // namespace bins

// One sum a column.
class ExactSums {
 public:
  explicit ExactSums(std::size_t columns = 0);
  // From what tops() and units() gave; throws std::invalid_argument where that is no sum.
  ExactSums(std::vector<std::int64_t> tops, std::vector<Int128> units);

  std::size_t size() const { return tops_.size(); }
  int top(std::size_t column) const { return static_cast<int>(tops_[column]); }
  // Makes room for larger terms.
  void raise(std::size_t column, int top);
  void add_units(std::size_t column, int at, std::int64_t count) { units_[kept(column) + at] += count; }
  void add(std::size_t column, double term, std::int64_t times = 1);
  void add(const ExactSums& other);      // of as many columns
  Wide total(std::size_t column) const;  // infinite where a term was too large

  const std::vector<std::int64_t>& tops() const { return tops_; }
  const std::vector<Int128>& units() const { return units_; }  // [columns][kKept]

 private:
  static std::size_t kept(std::size_t column) { return column * bins::kKept; }

  std::vector<std::int64_t> tops_;
  std::vector<Int128> units_;
};

}  // namespace amclust
