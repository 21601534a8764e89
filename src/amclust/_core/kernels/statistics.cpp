// Sums over the columns of a table, a few rows at a time. Compiled without contraction (CMakeLists.txt): terms must be
// the same in every instruction set, and (x + magic) - magic what it says.
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

namespace {

using amclust::ColumnRange;
using amclust::ColumnSlices;
using amclust::RowState;

constexpr double kInfinity = __builtin_inf();
constexpr int kBins = amclust::ColumnSlices::kBins;

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

// What follows is for vectors of columns, and for the columns that are left over one by one.
inline double select(bool mask, double yes, double no) { return mask ? yes : no; }

template <class V>
constexpr bool kIsVector = sizeof(V) != sizeof(double);

template <class V, class Value>
inline V read(const Value* p) {
  if constexpr (kIsVector<V>)
    return load_double(p);
  else
    return static_cast<double>(*p);
}

template <class V>
inline void write(double* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

template <class V>
inline V smaller(V a, V b) {
  return select(a < b, a, b);
}

// NaN as `a` is passed over.
template <class V>
inline V larger(V a, V b) {
  return select(a > b, a, b);
}

// a b - product, exactly, product being a b rounded.
template <class V>
inline V product_rest(V a, V b, V product) {
#if defined(__FMA__)
#if AMCLUST_LANES == 16 && defined(__AVX512F__)
  if constexpr (kIsVector<V>) return (V)_mm512_fmsub_pd((__m512d)a, (__m512d)b, (__m512d)product);
#elif AMCLUST_LANES == 8
  if constexpr (kIsVector<V>) return (V)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)product);
#endif
  if constexpr (!kIsVector<V>) return __builtin_fma(a, b, -product);
#endif
  // Dekker's way: halves of the factors have exact products.
  const V a_far = a * 134217729.0, b_far = b * 134217729.0;
  const V a_high = a_far - (a_far - a), b_high = b_far - (b_far - b);
  const V a_low = a - a_high, b_low = b - b_high;
  return (((a_high * b_high - product) + a_high * b_low) + a_low * b_high) + a_low * b_low;
}

template <class V>
struct Slices {
  V magic[kBins], sum[kBins];

  inline Slices(const ColumnSlices& columns, int j, int d) {
    for (int b = 0; b < kBins; ++b) {
      magic[b] = read<V>(row_of(columns.magic, b, d) + j);
      sum[b] = read<V>(row_of(columns.sum, b, d) + j);
    }
  }
  inline void save(const ColumnSlices& columns, int j, int d) const {
    for (int b = 0; b < kBins; ++b) write(row_of(columns.sum, b, d) + j, sum[b]);
  }
  // First: the highest bin that the term can reach.
  template <int First>
  inline void add(V term) {
    for (int b = First; b < kBins; ++b) {
      const V slice = (term + magic[b]) - magic[b];
      sum[b] += slice;
      term -= slice;
    }
  }
};

// weight * x and weight * x^2, both as a product and what it leaves out, which is 2^-52 of it at most. Exact: the
// products of x have no rest.
template <bool Weighted, bool Exact, class V>
inline void add_terms(V x, V weight, Slices<V>& sum, Slices<V>& square) {
  const V p = x * x;
  if constexpr (Weighted) {
    const V wx = weight * x, wp = weight * p;
    V rest = product_rest(weight, p, wp);
    if constexpr (!Exact) {
      sum.template add<1>(product_rest(weight, x, wx));
      rest += weight * product_rest(x, x, p);
    }
    sum.template add<0>(wx);
    square.template add<0>(wp);
    square.template add<1>(rest);
  } else {
    sum.template add<0>(x);
    square.template add<0>(p);
    if constexpr (!Exact) square.template add<1>(product_rest(x, x, p));
  }
}

template <bool Weighted, class V, class Value>
inline void slice_columns(const Value* const* rows, const double* weights, int n, int j, int d,
                          const ColumnSlices& sums, const ColumnSlices& squares) {
  Slices<V> sum(sums, j, d), square(squares, j, d);
  for (int i = 0; i < n; ++i) {
    const V x = read<V>(rows[i] + j), observed = select(x == x, x, V{});
    const V weight = Weighted ? weights[i] - V{} : V{};
    add_terms<Weighted, sizeof(Value) == sizeof(float)>(observed, weight, sum, square);
  }
  sum.save(sums, j, d);
  square.save(squares, j, d);
}

template <bool Weighted, class Value>
void slice_rows(const Value* const* rows, const double* weights, int n, int d, const ColumnSlices& sums,
                const ColumnSlices& squares) {
  int j = 0;
  for (; j + H <= d; j += H) slice_columns<Weighted, DoubleVec>(rows, weights, n, j, d, sums, squares);
  for (; j < d; ++j) slice_columns<Weighted, double>(rows, weights, n, j, d, sums, squares);
}

template <bool Weighted, class V, class Value>
inline void range_columns(const Value* const* rows, const double* weights, int n, int j, const ColumnRange& range) {
  V low = V{} + kInfinity, high = V{} - kInfinity, largest = {}, largest_square = {};
  for (int i = 0; i < n; ++i) {
    const V x = read<V>(rows[i] + j);
    low = smaller(x, low);
    high = larger(x, high);
    if constexpr (Weighted) {
      const V weighted = weights[i] * x;
      largest = larger(larger(weighted, -weighted), largest);
      largest_square = larger(weights[i] * (x * x), largest_square);
    }
  }
  if constexpr (!Weighted) {  // products are rounded, and that keeps their order
    largest = larger(larger(high, -low), V{});
    largest_square = largest * largest;
  }
  write(range.low + j, smaller(low, read<V>(range.low + j)));
  write(range.high + j, larger(high, read<V>(range.high + j)));
  write(range.largest + j, largest);
  write(range.largest_square + j, largest_square);
}

template <bool Weighted, class Value>
void range_rows(const Value* const* rows, const double* weights, int n, int d, const ColumnRange& range) {
  int j = 0;
  for (; j + H <= d; j += H) range_columns<Weighted, DoubleVec>(rows, weights, n, j, range);
  for (; j < d; ++j) range_columns<Weighted, double>(rows, weights, n, j, range);
}

template <class Value>
RowState inspect_row(const Value* row, int d) {
  return inspect(row, d);
}

template <class Value>
void range(const Value* const* rows, const double* weights, int n, int d, const ColumnRange& out) {
  weights ? range_rows<true>(rows, weights, n, d, out) : range_rows<false>(rows, weights, n, d, out);
}

template <class Value>
void slice(const Value* const* rows, const double* weights, int n, int d, const ColumnSlices& sums,
           const ColumnSlices& squares) {
  weights ? slice_rows<true>(rows, weights, n, d, sums, squares)
          : slice_rows<false>(rows, weights, n, d, sums, squares);
}

void slice_entries(const double* values, const std::int32_t* columns, int n, double weight, int d,
                   const ColumnSlices& sums, const ColumnSlices& squares) {
  for (int e = 0; e < n; ++e) {
    Slices<double> sum(sums, columns[e], d), square(squares, columns[e], d);
    weight == 1.0 ? add_terms<false, false>(values[e], weight, sum, square)
                  : add_terms<true, false>(values[e], weight, sum, square);
    sum.save(sums, columns[e], d);
    square.save(squares, columns[e], d);
  }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_statistics(Kernels& table) {
  table.inspect_float = inspect_row<float>;
  table.inspect_double = inspect_row<double>;
  table.range_float = range<float>;
  table.range_double = range<double>;
  table.slice_float = slice<float>;
  table.slice_double = slice<double>;
  table.slice_entries = slice_entries;
}
