// Small dense algebra in double: what memories with covariances do to a row (inference/gaussians.cpp).
#include "kernels/entry.hpp"
#include "kernels/simd.hpp"

#include <cmath>
#include <cstddef>

namespace {

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

void dots_double(const double* lines, int n, const double* x, int count, double* out) {
  for (int i = 0; i < count; ++i) out[i] = dot(lines + static_cast<std::ptrdiff_t>(i) * n, x, n);
}

void add_outer_double(double factor, const double* x, int n, double* out) {
  for (int i = 0; i < n; ++i) add_scaled(factor * x[i], x, i + 1, out + static_cast<std::ptrdiff_t>(i) * n);
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

void cholesky_solve(const double* l, int n, double* x) {
  cholesky_half_solve(l, n, x);
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
      out[static_cast<std::ptrdiff_t>(i) * n + j] =
          dot(columns + static_cast<std::ptrdiff_t>(i) * n + i, columns + static_cast<std::ptrdiff_t>(j) * n + i, n - i);
}

}  // namespace

void amclust::AMCLUST_ISA::fill_gaussians(Kernels& table) {
  table.dot_double = dot;
  table.add_scaled_double = add_scaled;
  table.dots_double = dots_double;
  table.add_outer_double = add_outer_double;
  table.cholesky = cholesky;
  table.cholesky_half_solve = cholesky_half_solve;
  table.cholesky_solve = cholesky_solve;
  table.cholesky_invert = cholesky_invert;
}
