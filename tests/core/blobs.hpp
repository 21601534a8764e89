// Rows around a few centres, as the core takes them.
#pragma once

#include "rows/dataset.hpp"
#include "tables.hpp"

namespace tests {

struct Rows {
  int n, d;
  std::vector<float> values;

  amclust::Dataset dataset(amclust::EnergyKind metric = kEuclidean) const {
    amclust::Dataset out;
    out.rows = n;
    out.features = d;
    out.dense = {values.data(), false, d};
    const std::vector<double> offset(d, 0.0);
    const std::vector<float> scale(d, 1.0f);
    out.set_units(metric, offset.data(), scale.data());
    for (const float value : values) out.has_missing = out.has_missing || std::isnan(value);
    return out;
  }
  // Row i belongs to cluster i % k.
  static Rows blobs(int n, int d, int k, double spread, std::uint64_t seed) {
    Source source(seed);
    Rows out{n, d, std::vector<float>(static_cast<std::size_t>(n) * d)};
    std::vector<float> centres(static_cast<std::size_t>(k) * d);
    for (float& c : centres) c = 3.0f * source.normal();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < d; ++j)
        out.values[static_cast<std::size_t>(i) * d + j] =
            centres[static_cast<std::size_t>(i % k) * d + j] + static_cast<float>(spread) * source.normal();
    return out;
  }
  void remove_values(double share, std::uint64_t seed) {
    Source source(seed);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i % d != 0 && source.uniform(0.0, 1.0) < share) values[i] = std::nanf("");
  }
};

}  // namespace tests
