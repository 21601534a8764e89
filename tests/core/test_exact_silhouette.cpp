// The silhouette coefficient against its definition.
#include "blobs.hpp"
#include "check.hpp"
#include "inference/silhouette.hpp"

#include <limits>

namespace {

using amclust::Control;
using amclust::Dataset;
using amclust::Team;

std::vector<double> native(const Dataset& data, const std::vector<std::int64_t>& which, const float* weights,
                           const std::vector<std::int32_t>& labels, int labelings, int k, int threads) {
  std::vector<double> out;
  amclust::Monitor monitor;
  amclust::supervise(monitor, [&](Control& control) {
    Team team(threads);
    out = amclust::exact_silhouette(data, which.data(), static_cast<int>(which.size()), weights, labels.data(),
                                    labelings, k, team, control);
  });
  return out;
}

// Copies are written out; distances over the features that both rows have, scaled up.
double by_definition(const tests::Rows& rows, const std::vector<std::int64_t>& which, const std::int32_t* labels,
                     int k) {
  const std::size_t n = which.size();
  const auto distance = [&](std::size_t a, std::size_t b) {
    double square = 0.0;
    int common = 0;
    for (int j = 0; j < rows.d; ++j) {
      const double x = rows.values[static_cast<std::size_t>(which[a]) * rows.d + j];
      const double y = rows.values[static_cast<std::size_t>(which[b]) * rows.d + j];
      if (std::isnan(x) || std::isnan(y)) continue;
      square += (x - y) * (x - y);
      ++common;
    }
    return std::sqrt(square * rows.d / common);
  };
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> sum(k, 0.0), count(k, 0.0);
    for (std::size_t o = 0; o < n; ++o) {
      if (o == i) continue;
      sum[labels[o]] += distance(i, o);
      count[labels[o]] += 1.0;
    }
    if (count[labels[i]] == 0.0) continue;
    double outside = std::numeric_limits<double>::infinity();
    for (int m = 0; m < k; ++m)
      if (m != labels[i] && count[m] > 0.0) outside = std::min(outside, sum[m] / count[m]);
    const double inside = sum[labels[i]] / count[labels[i]];
    total += (outside - inside) / std::max(outside, inside);
  }
  return total / static_cast<double>(n);
}

void equals_its_definition() {
  for (const char* name : tests::instruction_sets()) {
    amclust::use_instruction_set(name);
    for (const bool with_missing : {false, true})
      for (const int n : {5, 16, 63, 130}) {
        check::describe(name, ": n=", n, with_missing ? " missing" : "");
        tests::Rows rows = tests::Rows::blobs(n, 5, 3, 1.0, 2);
        if (with_missing) rows.remove_values(0.3, 3);
        const Dataset data = rows.dataset();
        tests::Source source(9);
        std::vector<std::int64_t> which;
        std::vector<std::int32_t> labels;
        for (int i = n; i-- > 0;) which.push_back(i);
        for (int i = 0; i < n; ++i) labels.push_back(static_cast<std::int32_t>(which[i] % 3));
        for (int i = 0; i < n; ++i) labels.push_back(i < 4 ? i : source.below(4));
        for (int i = 0; i < n; ++i) labels.push_back(2);  // one cluster
        const auto one = native(data, which, nullptr, labels, 3, 4, 1);
        CHECK_NEAR(one[0], by_definition(rows, which, labels.data(), 4), 1e-4);
        CHECK_NEAR(one[1], by_definition(rows, which, labels.data() + n, 4), 1e-4);
        CHECK(std::isnan(one[2]));
        const auto several = native(data, which, nullptr, labels, 3, 4, 3);
        CHECK(several[0] == one[0] && several[1] == one[1]);
      }
  }
  amclust::use_instruction_set("best");
}

void a_weight_is_a_number_of_copies() {
  check::describe("weights");
  const tests::Rows rows = tests::Rows::blobs(30, 3, 3, 1.5, 4);
  std::vector<std::int64_t> which, copies;
  std::vector<std::int32_t> labels, copied_labels;
  std::vector<float> weights;
  for (int i = 0; i < 30; ++i) {
    which.push_back(i);
    labels.push_back(i % 3);
    weights.push_back(static_cast<float>(i % 4));
    for (int c = 0; c < i % 4; ++c) {
      copies.push_back(i);
      copied_labels.push_back(i % 3);
    }
  }
  CHECK_NEAR(native(rows.dataset(), which, weights.data(), labels, 1, 3, 1)[0],
             by_definition(rows, copies, copied_labels.data(), 3), 1e-4);
}

}  // namespace

int main() {
  equals_its_definition();
  a_weight_is_a_number_of_copies();
  return check::finish();
}
