#include "exact_silhouette.hpp"

#include "buffer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace amclust {

std::vector<double> exact_silhouette(const Dataset& data, const std::int64_t* which, int n, const float* fill,
                                     const float* weights, const std::int32_t* labels, int labelings, int k,
                                     float* row_values, Team& team, Control& control) {
  const Kernels& kernel = kernels();
  const int d = data.features, ld = padded(d, kernel.lanes);
  constexpr int kQueries = 16;  // a multiple of every lane count
  constexpr int kOthers = 64;
  Buffer rows(static_cast<std::size_t>(n) * ld);
  std::vector<std::uint8_t> missing(data.has_missing ? static_cast<std::size_t>(n) * d : 0);
  data.load(which, n, fill, rows.data(), ld, missing.data());

  std::vector<double> sizes(static_cast<std::size_t>(labelings) * k, 0.0);
  for (int r = 0; r < labelings; ++r)
    for (int i = 0; i < n; ++i)
      sizes[static_cast<std::size_t>(r) * k + labels[static_cast<std::size_t>(r) * n + i]] += weights ? weights[i] : 1.0;

  const int panels = (n + kQueries - 1) / kQueries;
  std::vector<double> sums(static_cast<std::size_t>(panels) * labelings, 0.0);
  team.run(panels, [&](int panel, int) {
    if (control.stopped()) return;
    const int first = panel * kQueries, queries = std::min(kQueries, n - first);
    Buffer columns(static_cast<std::size_t>(d) * kQueries), block(static_cast<std::size_t>(kOthers) * kQueries);
    Buffer totals(static_cast<std::size_t>(labelings) * k * kQueries);
    for (int c = 0; c < queries; ++c)
      for (int j = 0; j < d; ++j)
        columns[static_cast<std::size_t>(j) * kQueries + c] = rows[static_cast<std::size_t>(first + c) * ld + j];
    for (int other = 0; other < n; other += kOthers) {
      const int count = std::min(kOthers, n - other);
      kernel.distances(rows.data() + static_cast<std::ptrdiff_t>(other) * ld, ld, count, d, columns.data(), kQueries,
                       block.data());
      for (int i = 0; i < count; ++i) {
        float* distance = block.data() + static_cast<std::ptrdiff_t>(i) * kQueries;
        const float weight = weights ? weights[other + i] : 1.0f;
        for (int c = 0; c < kQueries; ++c) distance[c] = weight * std::sqrt(distance[c]);
        for (int r = 0; r < labelings; ++r) {
          const std::int32_t label = labels[static_cast<std::size_t>(r) * n + other + i];
          float* total = totals.data() + (static_cast<std::ptrdiff_t>(r) * k + label) * kQueries;
          for (int c = 0; c < kQueries; ++c) total[c] += distance[c];
        }
      }
    }
    for (int r = 0; r < labelings; ++r) {
      const double* size = sizes.data() + static_cast<std::ptrdiff_t>(r) * k;
      for (int c = 0; c < queries; ++c) {
        const int i = first + c;
        const std::int32_t own = labels[static_cast<std::size_t>(r) * n + i];
        const double weight = weights ? weights[i] : 1.0, rest = size[own] - std::min(1.0, weight);
        double inside = 0.0, outside = std::numeric_limits<double>::infinity(), value = 0.0;
        for (int m = 0; m < k; ++m) {
          const double total = totals[(static_cast<std::size_t>(r) * k + m) * kQueries + c];
          if (m == own) {
            inside = rest > 0.0 ? total / rest : 0.0;
          } else if (size[m] > 0.0) {
            outside = std::min(outside, total / size[m]);
          }
        }
        if (rest > 1e-9 * size[own] && std::isfinite(outside) && std::max(inside, outside) > 0.0)
          value = (outside - inside) / std::max(inside, outside);
        sums[static_cast<std::size_t>(panel) * labelings + r] += weight * value;
        if (row_values) row_values[static_cast<std::size_t>(r) * n + i] = static_cast<float>(value);
      }
    }
  });

  std::vector<double> out(labelings, 0.0);
  for (int r = 0; r < labelings; ++r) {
    double total = 0.0, weight = 0.0;
    int living = 0;
    for (int panel = 0; panel < panels; ++panel) total += sums[static_cast<std::size_t>(panel) * labelings + r];
    for (int m = 0; m < k; ++m) {
      const double size = sizes[static_cast<std::size_t>(r) * k + m];
      weight += size;
      living += size > 0.0;
    }
    out[r] = living < 2 ? std::numeric_limits<double>::quiet_NaN() : total / weight;
  }
  return out;
}

}  // namespace amclust
