// Every table of kernels that this machine runs, the emulated one among them; and test data.
#pragma once

#include "buffer.hpp"
#include "energies/registry.hpp"
#include "kernels/kernels.hpp"
#include "random.hpp"

#include <cmath>
#include <initializer_list>
#include <vector>

namespace tests {

const std::vector<const amclust::Kernels*>& tables();

// Names that use_instruction_set takes on this machine.
std::vector<const char*> instruction_sets();

// Memory counts that meet every remainder of the lanes: 4, 8 and 16.
constexpr std::initializer_list<int> kMemoryCounts{1, 2, 3, 7, 8, 10, 16, 17, 70};

constexpr amclust::EnergyKind kEuclidean = amclust::kind_of<amclust::Euclidean>;
constexpr amclust::EnergyKind kCosine = amclust::kind_of<amclust::Cosine>;

// Every energy there is.
inline std::vector<amclust::EnergyKind> energies() {
  std::vector<amclust::EnergyKind> out;
  for (const std::string& name : amclust::energy_names()) out.push_back(amclust::find_energy(name));
  return out;
}

class Source {
 public:
  explicit Source(std::uint64_t seed) : random_(seed, amclust::Purpose::sample) {}
  double uniform(double low, double high) { return low + (high - low) * random_.uniform(); }
  // Near enough to normal: variance 1, within +-3.5.
  float normal() {
    double sum = 0.0;
    for (int i = 0; i < 12; ++i) sum += random_.uniform();
    return static_cast<float>(sum - 6.0);
  }
  int below(int n) { return static_cast<int>(random_.below(static_cast<std::uint32_t>(n))); }
  void fill(float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = normal();
  }

 private:
  amclust::Random random_;
};

// [rows][stride] of which the first `columns` are filled and the rest is zero.
inline amclust::Buffer matrix(Source& source, int rows, int columns, int stride) {
  amclust::Buffer out(static_cast<std::size_t>(rows) * stride);
  for (int i = 0; i < rows; ++i) source.fill(out.data() + static_cast<std::ptrdiff_t>(i) * stride, columns);
  return out;
}

}  // namespace tests
