// Products, distances, norms, transposes and Adam of every table against plain loops in double.
#include "check.hpp"
#include "tables.hpp"

namespace {

using amclust::Buffer;
using amclust::Kernels;
using amclust::padded;
using tests::Source;

std::size_t at(int row, int stride, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(stride) + static_cast<std::size_t>(column);
}

struct Shape {
  int n, d, k;
};

// Remainders of the register blocks (rows by 6, 3, 2; features by 6, lanes; memories by 4, lanes) in every direction.
std::vector<Shape> shapes() {
  std::vector<Shape> out;
  for (const int k : tests::kMemoryCounts)
    for (const int d : {1, 5, 8, 13, 33, 50})
      for (const int n : {1, 4, 9, 20}) out.push_back({n, d, k});
  out.push_back({64, 200, 10});
  return out;
}

void check_shape(const Kernels& kernel, const Shape& shape) {
  const auto [n, d, k] = shape;
  check::describe(kernel.name, ": n=", n, " d=", d, " k=", k);
  const int kp = padded(k, kernel.lanes), ld = padded(d, kernel.lanes);
  Source source(static_cast<std::uint64_t>(n + 100 * d + 10000 * k));
  const Buffer rows = tests::matrix(source, n, d, ld), memories = tests::matrix(source, d, k, kp);
  Buffer by_memory(at(k, ld, 0));
  kernel.to_rows(memories.data(), d, k, kp, ld, by_memory.data());
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < ld; ++j) CHECK_EQUAL(by_memory[at(m, ld, j)], j < d ? memories[at(j, kp, m)] : 0.0f);

  Buffer products(at(n, kp, 0)), dots(at(n, kp, 0)), distances(at(n, kp, 0));
  for (Buffer* out : {&products, &dots, &distances})
    for (std::size_t i = 0; i < out->size(); ++i) (*out)[i] = 777.0f;  // nothing is added to
  kernel.products(rows.data(), ld, n, d, memories.data(), kp, products.data());
  kernel.dots(rows.data(), ld, n, by_memory.data(), k, kp, dots.data());
  kernel.distances(rows.data(), ld, n, d, memories.data(), kp, distances.data());
  for (int i = 0; i < n; ++i)
    for (int m = 0; m < kp; ++m) {
      double product = 0.0, distance = 0.0;
      for (int j = 0; j < d; ++j) {
        const double x = rows[at(i, ld, j)], r = memories[at(j, kp, m)];
        product += x * r;
        distance += (x - r) * (x - r);
      }
      CHECK_NEAR(products[at(i, kp, m)], product, 1e-5 * (1.0 + d));
      CHECK_NEAR(dots[at(i, kp, m)], product, 1e-5 * (1.0 + d));
      CHECK_NEAR(distances[at(i, kp, m)], distance, 1e-6 * distance + 1e-6);
    }

  // Transposes add to what is there.
  const Buffer coef = tests::matrix(source, n, k, kp);
  Buffer outer = tests::matrix(source, d, k, kp), outer_dots = tests::matrix(source, k, d, ld);
  Buffer outer_before, dots_before;
  outer_before.copy_from(outer);
  dots_before.copy_from(outer_dots);
  kernel.outer(rows.data(), ld, n, d, coef.data(), kp, outer.data());
  kernel.outer_dots(rows.data(), ld, n, coef.data(), k, kp, outer_dots.data());
  for (int j = 0; j < ld; ++j)
    for (int m = 0; m < k; ++m) {
      double sum = 0.0;
      for (int i = 0; i < n; ++i)
        sum += static_cast<double>(rows[at(i, ld, j)]) * static_cast<double>(coef[at(i, kp, m)]);
      if (j < d) CHECK_NEAR(outer[at(j, kp, m)], outer_before[at(j, kp, m)] + sum, 1e-5 * (1.0 + n));
      CHECK_NEAR(outer_dots[at(m, ld, j)], dots_before[at(m, ld, j)] + sum, 1e-5 * (1.0 + n));
    }
  Buffer sum;
  sum.copy_from(memories);
  kernel.add_from_rows(outer_dots.data(), d, k, kp, ld, sum.data());
  for (int j = 0; j < d; ++j)
    for (int m = 0; m < kp; ++m)
      CHECK_EQUAL(sum[at(j, kp, m)], m < k ? memories[at(j, kp, m)] + outer_dots[at(m, ld, j)] : 0.0f);
}

void check_norms(const Kernels& kernel) {
  Source source(3);
  for (const int k : tests::kMemoryCounts)
    for (const int d : {1, 3, 4, 9, 40}) {
      check::describe(kernel.name, ": norms, d=", d, " k=", k);
      const int kp = padded(k, kernel.lanes), ld = padded(d, kernel.lanes), n = 5;
      const Buffer rows = tests::matrix(source, n, d, ld), memories = tests::matrix(source, d, k, kp);
      Buffer row_norms(n), memory_norms(kp), out, factor(kp);
      kernel.norms(rows.data(), ld, n, row_norms.data());
      kernel.memory_dots(memories.data(), memories.data(), d, kp, memory_norms.data());
      for (int i = 0; i < n; ++i) {
        double square = 0.0;
        for (int j = 0; j < d; ++j) square += std::pow(static_cast<double>(rows[at(i, ld, j)]), 2);
        CHECK_NEAR(row_norms[i], square, 1e-6 * square);
      }
      source.fill(factor.data(), kp);
      out.copy_from(memories);
      kernel.subtract_scaled(memories.data(), factor.data(), d, kp, out.data());
      for (int m = 0; m < kp; ++m) {
        double square = 0.0;
        for (int j = 0; j < d; ++j) {
          const double value = memories[at(j, kp, m)];
          square += value * value;
          CHECK_NEAR(out[at(j, kp, m)], value - factor[m] * value, 1e-6 * (1.0 + std::abs(value)));
        }
        CHECK_NEAR(memory_norms[m], square, 1e-6 * square);
      }
      kernel.scale_memories(factor.data(), d, kp, out.data());
      kernel.memory_dots(memories.data(), out.data(), d, kp, memory_norms.data());
      for (int m = 0; m < kp; ++m) {  // out is now (1 - factor) factor times the memories
        double dot = 0.0;
        for (int j = 0; j < d; ++j) dot += std::pow(static_cast<double>(memories[at(j, kp, m)]), 2);
        dot *= (1.0 - factor[m]) * factor[m];
        CHECK_NEAR(memory_norms[m], dot, 1e-5 * (1.0 + std::abs(dot)));
      }
    }
}

void check_least(const Kernels& kernel) {
  constexpr int kWidth = 32;
  Source source(12);
  for (const int k : {1, 2, 5, 40}) {
    std::vector<float> values(static_cast<std::size_t>(k) * kWidth);
    for (float& value : values) value = static_cast<float>(source.below(7));  // many equals: the first wins
    std::int32_t found[kWidth];
    kernel.least(values.data(), k, kWidth, found);
    for (int c = 0; c < kWidth; ++c) {
      int expected = 0;
      for (int m = 1; m < k; ++m)
        if (values[static_cast<std::size_t>(m) * kWidth + c] < values[static_cast<std::size_t>(expected) * kWidth + c])
          expected = m;
      CHECK_EQUAL(found[c], expected);
    }
  }
}

// Distances come from differences: far from the origin nothing cancels.
void check_distances_far_away(const Kernels& kernel) {
  check::describe(kernel.name, ": far away");
  const int kp = padded(2, kernel.lanes), ld = padded(3, kernel.lanes);
  Buffer rows(ld), memories(at(3, kp, 0)), out(kp);
  for (int j = 0; j < 3; ++j) {
    rows[j] = 4096.0f;
    memories[at(j, kp, 0)] = 4096.0f;
    memories[at(j, kp, 1)] = 4097.0f;
  }
  kernel.distances(rows.data(), ld, 1, 3, memories.data(), kp, out.data());
  CHECK_EQUAL(out[0], 0.0f);
  CHECK_EQUAL(out[1], 3.0f);
}

void check_affine(const Kernels& kernel) {
  Source source(4);
  for (int d = 1; d <= 40; ++d) {
    check::describe(kernel.name, ": affine, d=", d);
    std::vector<float> row(d), offset(d), scale(d), out(d + 1, -7.0f), wide_out(d + 1, -7.0f);
    std::vector<double> wide(d);
    for (int j = 0; j < d; ++j) {
      row[j] = source.normal();
      wide[j] = row[j] + 1e-9;
      offset[j] = source.normal();
      scale[j] = source.normal();
    }
    row[d / 2] = std::nanf("");
    kernel.affine(row.data(), offset.data(), scale.data(), d, out.data());
    const std::vector<double> wide_offset(offset.begin(), offset.end());
    kernel.affine_double(wide.data(), wide_offset.data(), scale.data(), d, wide_out.data());
    for (int j = 0; j < d; ++j) {
      if (j == d / 2)
        CHECK(std::isnan(out[j]));
      else
        CHECK_EQUAL(out[j], (row[j] - offset[j]) * scale[j]);
      CHECK_EQUAL(wide_out[j], static_cast<float>((wide[j] - offset[j]) * scale[j]));
    }
    CHECK_EQUAL(out[d], -7.0f);  // not past the end
    CHECK_EQUAL(wide_out[d], -7.0f);
  }
}

void check_adam(const Kernels& kernel) {
  check::describe(kernel.name, ": adam");
  constexpr int n = 64;
  Source source(5);
  Buffer values(n), first(n), second(n), gradient(n);
  source.fill(values.data(), n);
  std::vector<double> value(n), m(n, 0.0), v(n, 0.0);
  for (int i = 0; i < n; ++i) value[i] = values[i];
  for (int step = 1; step <= 5; ++step) {
    source.fill(gradient.data(), n);
    gradient[0] = 0.0f;
    gradient[1] = 1e-12f;  // epsilon matters here
    amclust::AdamStep adam{0.1f, 0.9f, 0.999f, 1e-8f, 0.0f, 0.0f};
    adam.correction1 = static_cast<float>(1.0 / (1.0 - std::pow(0.9, step)));
    adam.correction2 = static_cast<float>(1.0 / (1.0 - std::pow(0.999, step)));
    kernel.adam(adam, gradient.data(), first.data(), second.data(), values.data(), n);
    for (int i = 0; i < n; ++i) {
      const double g = gradient[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      value[i] -= 0.1 * (m[i] * adam.correction1) / (std::sqrt(v[i] * adam.correction2) + 1e-8);
      CHECK_NEAR(values[i], value[i], 1e-5);
      CHECK_NEAR(first[i], m[i], 1e-6);
      CHECK_NEAR(second[i], v[i], 1e-6);
    }
  }
}

}  // namespace

int main() {
  for (const Kernels* kernel : tests::tables()) {
    for (const Shape& shape : shapes()) check_shape(*kernel, shape);
    check_norms(*kernel);
    check_distances_far_away(*kernel);
    check_least(*kernel);
    check_affine(*kernel);
    check_adam(*kernel);
  }
  CHECK(!amclust::use_instruction_set("sse9"));
  return check::finish();
}
