// Every row times a matrix. What comes of a row hangs on no other row, as it may with BLAS: answers have the same bits
// in whatever blocks rows come.
#pragma once

#include "team.hpp"

#include <algorithm>
#include <cstdint>

namespace amclust {

// rows [n][d], matrix [d][d], out [n][d]
inline void map_rows(const double* rows, std::int64_t n, int d, const double* matrix, double* out, Team& team) {
  constexpr int kParts = 64;
  team.run(kParts, [&](int part, int) {
    for (std::int64_t i = n * part / kParts; i < n * (part + 1) / kParts; ++i) {
      check_interrupt();
      double* to = out + i * d;
      std::fill(to, to + d, 0.0);
      for (int j = 0; j < d; ++j) {
        const double x = rows[i * d + j], *row = matrix + static_cast<std::int64_t>(j) * d;
        for (int k = 0; k < d; ++k) to[k] += x * row[k];
      }
    }
  });
}

}  // namespace amclust
