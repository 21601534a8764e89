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

// One column after the other, each taken from all that follow: sums that wait for each other would take the time.
bool lane_cholesky(double* a, int n) {
  for (int k = 0; k < n; ++k) {
    double* diagonal = a + entry(k, n, k);
    for (int r = 0; r < kLaneRows; ++r)
      if (!(diagonal[r] > 0.0)) return false;
    for (int r = 0; r < kLaneRows; ++r) diagonal[r] = 1.0 / std::sqrt(diagonal[r]);
    const Lanes inverse = Lanes::at(diagonal);
    for (int i = k + 1; i < n; ++i) {
      Lanes column = Lanes::at(a + entry(i, n, k));
      column.multiply(inverse);
      column.put(a + entry(i, n, k));
      for (int j = k + 1; j <= i; ++j) {
        Lanes rest = Lanes::at(a + entry(i, n, j));
        rest.subtract(column, Lanes::at(a + entry(j, n, k)));
        rest.put(a + entry(i, n, j));
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

// L^-1, row j being its column j, from the diagonal on.
void lane_half_invert(const double* l, int n, double* columns) {
  for (int j = 0; j < n; ++j) {
    Lanes::at(l + entry(j, n, j)).put(columns + entry(j, n, j));
    for (int i = j + 1; i < n; ++i) {
      Lanes sum = {};
      for (int k = j; k < i; ++k) sum.subtract(Lanes::at(l + entry(i, n, k)), Lanes::at(columns + entry(j, n, k)));
      sum.multiply(Lanes::at(l + entry(i, n, i)));
      sum.put(columns + entry(j, n, i));
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
}
