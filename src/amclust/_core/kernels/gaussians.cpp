// Small dense algebra in double: what memories with covariances do to rows (inference/posteriors.cpp). Of a matrix
// that is another one for each row, the same entry of kLaneRows rows lies together ([...][kLaneRows]), so that as many
// are solved in the time of one.
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

#include <cmath>
#include <cstddef>

namespace {

using amclust::kLaneRows;

double dot(const double* a, const double* b, int n) {
  DoubleVec first = {}, second = {};
  int j = 0;
  for (; j + 2 * H <= n; j += 2 * H) {
    first += load_double(a + j) * load_double(b + j);
    second += load_double(a + j + H) * load_double(b + j + H);
  }
  for (; j + H <= n; j += H) first += load_double(a + j) * load_double(b + j);
  first += second;
  double total = 0.0;
  for (int l = 0; l < H; ++l) total += first[l];
  for (; j < n; ++j) total += a[j] * b[j];
  return total;
}

void add_scaled(double factor, const double* x, int n, double* out) {
  int j = 0;
  for (; j + H <= n; j += H) store_double(out + j, load_double(out + j) + factor * load_double(x + j));
  for (; j < n; ++j) out[j] += factor * x[j];
}

void add_rows_double(const double* rows, int ld, const double* factors, int count, int n, double* out) {
  int j = 0;
  for (; j + 2 * H <= n; j += 2 * H) {
    DoubleVec first = load_double(out + j), second = load_double(out + j + H);
    for (int i = 0; i < count; ++i) {
      const double* row = rows + static_cast<std::ptrdiff_t>(i) * ld + j;
      first += factors[i] * load_double(row);
      second += factors[i] * load_double(row + H);
    }
    store_double(out + j, first);
    store_double(out + j + H, second);
  }
  for (; j + H <= n; j += H) {
    DoubleVec sum = load_double(out + j);
    for (int i = 0; i < count; ++i) sum += factors[i] * load_double(rows + static_cast<std::ptrdiff_t>(i) * ld + j);
    store_double(out + j, sum);
  }
  for (; j < n; ++j) {
    double sum = out[j];
    for (int i = 0; i < count; ++i) sum += factors[i] * rows[static_cast<std::ptrdiff_t>(i) * ld + j];
    out[j] = sum;
  }
}

void add_outers_double(const double* rows, int ld, const double* factors, int count, int n, double* out) {
  double scaled[kLaneRows];
  for (int i = 0; i < n; ++i) {
    for (int r = 0; r < count; ++r) scaled[r] = factors[r] * rows[static_cast<std::ptrdiff_t>(r) * ld + i];
    add_rows_double(rows, ld, scaled, count, (i / H + 1) * H, out + static_cast<std::ptrdiff_t>(i) * ld);
  }
}

bool cholesky(double* a, int n) {
  for (int i = 0; i < n; ++i) {
    double* row = a + static_cast<std::ptrdiff_t>(i) * n;
    for (int j = 0; j < i; ++j) {
      const double* other = a + static_cast<std::ptrdiff_t>(j) * n;
      row[j] = (row[j] - dot(row, other, j)) / other[j];
    }
    const double rest = row[i] - dot(row, row, i);
    if (!(rest > 0.0)) return false;
    row[i] = std::sqrt(rest);
  }
  return true;
}

void cholesky_half_solve(const double* l, int n, double* x) {
  for (int i = 0; i < n; ++i) {
    const double* row = l + static_cast<std::ptrdiff_t>(i) * n;
    x[i] = (x[i] - dot(row, x, i)) / row[i];
  }
}

void cholesky_transposed_solve(const double* l, int n, double* x) {
  for (int i = n - 1; i >= 0; --i) {
    const double* row = l + static_cast<std::ptrdiff_t>(i) * n;
    x[i] /= row[i];
    add_scaled(-x[i], row, i, x);
  }
}

// The lower triangle of the inverse; `columns` [n][n] gets L^-1, row j being its column j.
void cholesky_invert(const double* l, int n, double* columns, double* out) {
  for (int j = 0; j < n; ++j) {
    double* column = columns + static_cast<std::ptrdiff_t>(j) * n;
    column[j] = 1.0 / l[static_cast<std::ptrdiff_t>(j) * n + j];
    for (int i = j + 1; i < n; ++i) {
      const double* row = l + static_cast<std::ptrdiff_t>(i) * n;
      column[i] = -dot(row + j, column + j, i - j) / row[i];
    }
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)
      out[static_cast<std::ptrdiff_t>(i) * n + j] = dot(columns + static_cast<std::ptrdiff_t>(i) * n + i,
                                                        columns + static_cast<std::ptrdiff_t>(j) * n + i, n - i);
}

// --- a matrix for each of kLaneRows rows ---------------------------------------------------------------------------

constexpr int V = kLaneRows / H;

// A number of each row.
struct Lanes {
  DoubleVec v[V];

  static Lanes at(const double* p) {
    Lanes out;
    for (int i = 0; i < V; ++i) out.v[i] = load_double(p + i * H);
    return out;
  }
  void put(double* p) const {
    for (int i = 0; i < V; ++i) store_double(p + i * H, v[i]);
  }
  void add(double factor, const Lanes& x) {
    for (int i = 0; i < V; ++i) v[i] += factor * x.v[i];
  }
  void add(const Lanes& a, const Lanes& b) {
    for (int i = 0; i < V; ++i) v[i] += a.v[i] * b.v[i];
  }
  void subtract(const Lanes& a, const Lanes& b) {
    for (int i = 0; i < V; ++i) v[i] -= a.v[i] * b.v[i];
  }
  void multiply(const Lanes& b) {
    for (int i = 0; i < V; ++i) v[i] *= b.v[i];
  }
};

inline std::ptrdiff_t entry(int i, int n, int j) { return (static_cast<std::ptrdiff_t>(i) * n + j) * kLaneRows; }

template <int Count>
inline void some_lane_dots(const double* lines, int n, const double* x, double* out) {
  Lanes sums[Count] = {};
  for (int j = 0; j < n; ++j) {
    const Lanes here = Lanes::at(x + static_cast<std::ptrdiff_t>(j) * kLaneRows);
    for (int i = 0; i < Count; ++i) sums[i].add(lines[static_cast<std::ptrdiff_t>(i) * n + j], here);
  }
  for (int i = 0; i < Count; ++i) sums[i].put(out + i * kLaneRows);
}

// Of what is left over, half as many at a time: a single sum would wait for itself.
template <int Count>
void lane_dots_from(int i, const double* lines, int n, int count, const double* x, double* out) {
  for (; i + Count <= count; i += Count)
    some_lane_dots<Count>(lines + static_cast<std::ptrdiff_t>(i) * n, n, x, out + i * kLaneRows);
  if constexpr (Count > 1) lane_dots_from<Count / 2>(i, lines, n, count, x, out);
}

void lane_dots(const double* lines, int n, int count, const double* x, double* out) {
  lane_dots_from<V == 1 ? 8 : V == 2 ? 4 : 2>(0, lines, n, count, x, out);
}

void lane_products(const double* a, const double* b, int n, double* out) {
  Lanes sum = {};
  for (int j = 0; j < n; ++j) sum.add(Lanes::at(a + j * kLaneRows), Lanes::at(b + j * kLaneRows));
  sum.put(out);
}

// Entries of a matrix that are found together: their sums wait for their turn in registers, not for each other, and
// share what they are made of. Each sum is added up in the order of its terms, whatever is beside it.
constexpr int B = V == 1 ? 4 : V == 2 ? 2 : 1;

// to[i][j] -= sum_k left[i][k] * right[j][k] for `Rows` times `Columns` entries; lines have n of them.
template <int Rows, int Columns>
inline void subtract_products(const double* left, const double* right, int n, int count, double* to) {
  Lanes sums[Rows][Columns];
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) sums[i][j] = Lanes::at(to + entry(i, n, j));
  for (int k = 0; k < count; ++k) {
    Lanes others[Columns];
    for (int j = 0; j < Columns; ++j) others[j] = Lanes::at(right + entry(j, n, k));
    for (int i = 0; i < Rows; ++i) {
      const Lanes here = Lanes::at(left + entry(i, n, k));
      for (int j = 0; j < Columns; ++j) sums[i][j].subtract(here, others[j]);
    }
  }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) sums[i][j].put(to + entry(i, n, j));
}

// Some columns after the other, less what those before them explain.
bool lane_cholesky(double* a, int n) {
  for (int first = 0; first < n; first += B) {
    const int last = first + B < n ? first + B : n;
    const double* before = a + entry(first, n, 0);
    for (int i = first; i < n; ++i) {
      if (i >= last && last - first == B && i + B <= n) {
        subtract_products<B, B>(a + entry(i, n, 0), before, n, first, a + entry(i, n, first));
        i += B - 1;
        continue;
      }
      for (int j = first; j < last && j <= i; ++j)
        subtract_products<1, 1>(a + entry(i, n, 0), a + entry(j, n, 0), n, first, a + entry(i, n, j));
    }
    for (int j = first; j < last; ++j) {
      subtract_products<1, 1>(a + entry(j, n, first), a + entry(j, n, first), n, j - first, a + entry(j, n, j));
      double* diagonal = a + entry(j, n, j);
      for (int r = 0; r < kLaneRows; ++r)
        if (!(diagonal[r] > 0.0)) return false;
      for (int r = 0; r < kLaneRows; ++r) diagonal[r] = 1.0 / std::sqrt(diagonal[r]);
      const Lanes inverse = Lanes::at(diagonal);
      for (int i = j + 1; i < n; ++i) {
        Lanes found = Lanes::at(a + entry(i, n, j));
        for (int k = first; k < j; ++k) found.subtract(Lanes::at(a + entry(i, n, k)), Lanes::at(a + entry(j, n, k)));
        found.multiply(inverse);
        found.put(a + entry(i, n, j));
      }
    }
  }
  return true;
}

void lane_half_solve(const double* l, int n, double* x) {
  for (int k = 0; k < n; ++k) {
    Lanes found = Lanes::at(x + k * kLaneRows);
    found.multiply(Lanes::at(l + entry(k, n, k)));
    found.put(x + k * kLaneRows);
    for (int i = k + 1; i < n; ++i) {
      Lanes rest = Lanes::at(x + i * kLaneRows);
      rest.subtract(Lanes::at(l + entry(i, n, k)), found);
      rest.put(x + i * kLaneRows);
    }
  }
}

void lane_transposed_solve(const double* l, int n, double* x) {
  for (int i = n - 1; i >= 0; --i) {
    Lanes found = Lanes::at(x + i * kLaneRows);
    found.multiply(Lanes::at(l + entry(i, n, i)));
    found.put(x + i * kLaneRows);
    for (int k = 0; k < i; ++k) {
      Lanes rest = Lanes::at(x + k * kLaneRows);
      rest.subtract(Lanes::at(l + entry(i, n, k)), found);
      rest.put(x + k * kLaneRows);
    }
  }
}

// Entry i of some columns of L^-1, of which the first is `column`: from entry `from` on all of them have the same
// terms.
template <int Columns>
inline void invert_line(const double* l, int n, int column, int from, int i, double* columns) {
  Lanes sums[Columns] = {};
  for (int c = 0; c < Columns; ++c)
    for (int k = column + c; k < from; ++k)
      sums[c].subtract(Lanes::at(l + entry(i, n, k)), Lanes::at(columns + entry(column + c, n, k)));
  for (int k = from; k < i; ++k) {
    const Lanes here = Lanes::at(l + entry(i, n, k));
    for (int c = 0; c < Columns; ++c) sums[c].subtract(here, Lanes::at(columns + entry(column + c, n, k)));
  }
  const Lanes inverse = Lanes::at(l + entry(i, n, i));
  for (int c = 0; c < Columns; ++c) {
    sums[c].multiply(inverse);
    sums[c].put(columns + entry(column + c, n, i));
  }
}

// L^-1, row j being its column j, from the diagonal on.
void lane_half_invert(const double* l, int n, double* columns) {
  constexpr int kColumns = 2 * B;
  for (int first = 0; first < n; first += kColumns) {
    const int last = first + kColumns < n ? first + kColumns : n;
    for (int j = first; j < last; ++j) {
      Lanes::at(l + entry(j, n, j)).put(columns + entry(j, n, j));
      for (int i = j + 1; i < last; ++i) invert_line<1>(l, n, j, j, i, columns);
    }
    for (int i = last; i < n; ++i) {
      if (last - first == kColumns)
        invert_line<kColumns>(l, n, first, last, i, columns);
      else
        for (int j = first; j < last; ++j) invert_line<1>(l, n, j, j, i, columns);
    }
  }
}

// out[a][b] += sum_i columns[a][i] * columns[b][i], i from `first` to `last`
template <int Rows, int Columns>
inline void add_products(const double* left, const double* right, int n, int first, int last, double* out) {
  Lanes sums[Rows][Columns];
  for (int a = 0; a < Rows; ++a)
    for (int b = 0; b < Columns; ++b) sums[a][b] = Lanes::at(out + entry(a, n, b));
  for (int i = first; i < last; ++i) {
    Lanes others[Columns];
    for (int b = 0; b < Columns; ++b) others[b] = Lanes::at(right + entry(b, n, i));
    for (int a = 0; a < Rows; ++a) {
      const Lanes here = Lanes::at(left + entry(a, n, i));
      for (int b = 0; b < Columns; ++b) sums[a][b].add(here, others[b]);
    }
  }
  for (int a = 0; a < Rows; ++a)
    for (int b = 0; b < Columns; ++b) sums[a][b].put(out + entry(a, n, b));
}

void lane_squared(const double* columns, int n, double* out) {
  for (int a = 0; a < n; ++a)
    for (int b = 0; b <= a; ++b) Lanes{}.put(out + entry(a, n, b));
  for (int first = 0; first < n; first += B) {
    const int last = first + B < n ? first + B : n;
    for (int b = 0; b < last; ++b) {
      const bool block = last - first == B && b + B <= first;
      // Before they have the same terms.
      for (int a = first; a < last; ++a)
        for (int c = b; c < (block ? b + B : b + 1); ++c)
          if (c <= a)
            add_products<1, 1>(columns + entry(a, n, 0), columns + entry(c, n, 0), n, a, block ? last : n,
                               out + entry(a, n, c));
      if (!block) continue;
      add_products<B, B>(columns + entry(first, n, 0), columns + entry(b, n, 0), n, last, n, out + entry(first, n, b));
      b += B - 1;
    }
  }
}

}  // namespace

void amclust::AMCLUST_ISA::fill_gaussians(Kernels& table) {
  table.dot_double = dot;
  table.add_scaled_double = add_scaled;
  table.add_rows_double = add_rows_double;
  table.add_outers_double = add_outers_double;
  table.cholesky = cholesky;
  table.cholesky_half_solve = cholesky_half_solve;
  table.cholesky_transposed_solve = cholesky_transposed_solve;
  table.cholesky_invert = cholesky_invert;
  table.lane_dots = lane_dots;
  table.lane_products = lane_products;
  table.lane_cholesky = lane_cholesky;
  table.lane_half_solve = lane_half_solve;
  table.lane_transposed_solve = lane_transposed_solve;
  table.lane_half_invert = lane_half_invert;
  table.lane_squared = lane_squared;
}
