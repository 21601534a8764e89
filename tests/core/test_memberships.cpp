// Logits, softmax and its adjoint of every table against plain loops in double.
#include "check.hpp"
#include "tables.hpp"

namespace {

using amclust::Buffer;
using amclust::Kernels;
using amclust::padded;
using tests::Source;

constexpr float kNever = -1e30f;  // what the padding of the logits holds

struct Logits {
  Buffer values;
  int n, k, kp;
  float at(int i, int m) const { return values[static_cast<std::size_t>(i) * kp + m]; }
};

Logits make(Source& source, const Kernels& kernel, int n, int k, double scale, double shift) {
  const int kp = padded(k, kernel.lanes);
  Logits out{Buffer(static_cast<std::size_t>(padded(n, kernel.lanes)) * kp), n, k, kp};
  for (int i = 0; i < n; ++i)
    for (int m = 0; m < kp; ++m)
      out.values[static_cast<std::size_t>(i) * kp + m] =
          m < k ? static_cast<float>(shift + scale * source.normal()) : kNever;
  return out;
}

void check_softmax(const Kernels& kernel, int n, int k, double scale, double shift) {
  check::describe(kernel.name, ": softmax, n=", n, " k=", k, " scale=", scale, " shift=", shift);
  Source source(static_cast<std::uint64_t>(n * 1000 + k));
  Logits logits = make(source, kernel, n, k, scale, shift), p{Buffer(), n, k, logits.kp};
  Buffer log_total(padded(n, kernel.lanes));
  p.values.copy_from(logits.values);
  kernel.softmax(p.values.data(), n, k, logits.kp, log_total.data());
  for (int i = 0; i < n; ++i) {
    double top = logits.at(i, 0), total = 0.0, sum = 0.0;
    for (int m = 0; m < k; ++m) top = std::max(top, static_cast<double>(logits.at(i, m)));
    for (int m = 0; m < k; ++m) total += std::exp(logits.at(i, m) - top);
    for (int m = 0; m < k; ++m) {
      const double expected = std::exp(logits.at(i, m) - top) / total;
      CHECK_NEAR(p.at(i, m), expected, 1e-6 * expected + 1e-30);
      sum += p.at(i, m);
    }
    for (int m = k; m < logits.kp; ++m) CHECK_EQUAL(p.at(i, m), 0.0f);
    CHECK_NEAR(sum, 1.0, 1e-5);
    CHECK_NEAR(log_total[i], top + std::log(total), 1e-6 * (1.0 + std::abs(top)));
  }
  // The totals are optional.
  Buffer again;
  again.copy_from(logits.values);
  kernel.softmax(again.data(), n, k, logits.kp, nullptr);
  for (int i = 0; i < n * logits.kp; ++i) CHECK_EQUAL(again[i], p.values[i]);
}

void check_ties(const Kernels& kernel) {
  for (const int k : tests::kMemoryCounts) {
    check::describe(kernel.name, ": ties, k=", k);
    const int kp = padded(k, kernel.lanes);
    Buffer logits(static_cast<std::size_t>(kernel.lanes) * kp);
    for (int m = 0; m < kp; ++m) logits[m] = m < k ? -1e25f : kNever;
    kernel.softmax(logits.data(), 1, k, kp, nullptr);
    for (int m = 0; m < k; ++m) CHECK_NEAR(logits[m], 1.0 / k, 1e-6);
  }
}

void check_logits_and_adjoint(const Kernels& kernel, int n, int k) {
  check::describe(kernel.name, ": logits and adjoint, n=", n, " k=", k);
  Source source(static_cast<std::uint64_t>(k));
  const Logits products = make(source, kernel, n, k, 1.0, 0.0);
  Buffer bias(products.kp), out(products.values.size());
  source.fill(bias.data(), k);
  kernel.logits(products.values.data(), n, products.kp, bias.data(), 3.0f, out.data());
  for (int i = 0; i < n; ++i)
    for (int m = 0; m < k; ++m)
      CHECK_NEAR(out[static_cast<std::size_t>(i) * products.kp + m], bias[m] + 3.0 * products.at(i, m), 1e-5);

  kernel.softmax(out.data(), n, k, products.kp, nullptr);
  const Logits g = make(source, kernel, n, k, 1.0, 0.0);
  Buffer gradient(g.values.size());
  for (int i = 0; i < n; ++i)
    for (int m = 0; m < k; ++m) gradient[static_cast<std::size_t>(i) * g.kp + m] = g.at(i, m);
  Buffer apart(gradient.size());
  kernel.softmax_adjoint(out.data(), gradient.data(), n, g.kp, apart.data());
  kernel.softmax_adjoint(out.data(), gradient.data(), n, g.kp, gradient.data());  // in place
  for (int i = 0; i < n; ++i) {
    const float* p = out.data() + static_cast<std::ptrdiff_t>(i) * g.kp;
    double mean = 0.0;
    for (int m = 0; m < k; ++m) mean += static_cast<double>(p[m]) * static_cast<double>(g.at(i, m));
    for (int m = 0; m < k; ++m) {
      CHECK_NEAR(apart[static_cast<std::size_t>(i) * g.kp + m], p[m] * (g.at(i, m) - mean), 1e-5);
      CHECK_EQUAL(gradient[static_cast<std::size_t>(i) * g.kp + m], apart[static_cast<std::size_t>(i) * g.kp + m]);
    }
  }
}

}  // namespace

int main() {
  for (const Kernels* kernel : tests::tables()) {
    for (const int k : tests::kMemoryCounts)
      for (const int n : {1, 5, 16, 21}) {
        check_softmax(*kernel, n, k, 1.0, 0.0);
        check_softmax(*kernel, n, k, 20.0, -3000.0);
        check_softmax(*kernel, n, k, 1e5, 1e6);  // all but one vanish
        check_softmax(*kernel, n, k, 1e20, 1e21);
        check_softmax(*kernel, n, k, 1e-3, -80.0);
        check_logits_and_adjoint(*kernel, n, k);
      }
    check_ties(*kernel);
  }
  return check::finish();
}
