// Sums over the columns of a table, a few rows at a time.
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

namespace {

using amclust::ColumnSums;
using amclust::RowState;

// x * 0 is 0 where x is finite and NaN elsewhere.
template <class Value>
RowState inspect(const Value* row, int d) {
  DoubleVec check = {}, size = {};
  int j = 0;
  for (; j + H <= d; j += H) {
    const DoubleVec x = load_double(row + j);
    check += x * 0.0;
    size += x * x;
  }
  double total = 0.0, amount = 0.0;
  for (int l = 0; l < H; ++l) {
    total += check[l];
    amount += size[l];
  }
  for (; j < d; ++j) {
    const double x = static_cast<double>(row[j]);
    total += x * 0.0;
    amount += x * x;
  }
  if (!(total == 0.0)) return RowState::not_finite;
  if (amount > amclust::kMuch) return RowState::large;
  return amount < amclust::kNothing ? RowState::zero : RowState::plain;
}

template <class Value>
void add_rows(const Value* const* rows, const double* weights, int n, int d, const ColumnSums& sums) {
  int j = 0;
  for (; j + H <= d; j += H) {
    const DoubleVec shift = load_double(sums.shift + j);
    DoubleVec sum = load_double(sums.sum + j), square = load_double(sums.square + j);
    DoubleVec low = load_double(sums.low + j), high = load_double(sums.high + j);
    for (int i = 0; i < n; ++i) {
      const DoubleVec x = load_double(rows[i] + j), moved = x - shift, weighted = moved * weights[i];
      sum += weighted;
      square += weighted * moved;
      low = select(x < low, x, low);
      high = select(x > high, x, high);
    }
    store_double(sums.sum + j, sum);
    store_double(sums.square + j, square);
    store_double(sums.low + j, low);
    store_double(sums.high + j, high);
  }
  for (; j < d; ++j)
    for (int i = 0; i < n; ++i) {
      const double x = static_cast<double>(rows[i][j]), moved = x - sums.shift[j];
      sums.sum[j] += weights[i] * moved;
      sums.square[j] += weights[i] * moved * moved;
      if (x < sums.low[j]) sums.low[j] = x;
      if (x > sums.high[j]) sums.high[j] = x;
    }
}

RowState inspect_float(const float* row, int d) { return inspect(row, d); }
RowState inspect_double(const double* row, int d) { return inspect(row, d); }
void add_float(const float* const* rows, const double* weights, int n, int d, const ColumnSums& sums) {
  add_rows(rows, weights, n, d, sums);
}
void add_double(const double* const* rows, const double* weights, int n, int d, const ColumnSums& sums) {
  add_rows(rows, weights, n, d, sums);
}

}  // namespace

void amclust::AMCLUST_ISA::fill_statistics(Kernels& table) {
  table.inspect_float = inspect_float;
  table.inspect_double = inspect_double;
  table.add_float = add_float;
  table.add_double = add_double;
}
