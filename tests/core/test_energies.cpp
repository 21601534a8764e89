// The energies: names and kinds, and that the parts of a policy are parts of one energy.
#include "check.hpp"
#include "energies/registry.hpp"
#include "tables.hpp"

#include <cstring>
#include <set>
#include <stdexcept>

namespace {

using tests::Source;

constexpr int kFeatures = 6;

std::vector<double> vector_of(Source& source, bool on_sphere) {
  std::vector<double> out(kFeatures);
  double square = 0.0;
  for (double& x : out) square += std::pow(x = source.normal(), 2);
  if (on_sphere)
    for (double& x : out) x /= std::sqrt(square);
  return out;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (int j = 0; j < kFeatures; ++j) sum += a[j] * b[j];
  return sum;
}

// With one memory the log-sum-exp is its logit, and the energy what the coordinates' attractions sum to.
template <class Energy>
void check_parts(Energy energy) {
  check::describe(energy.name);
  Source source(3);
  for (const float beta : {0.3f, 2.0f, 11.0f}) {
    const std::vector<double> x = vector_of(source, energy.on_sphere);
    std::vector<double> memory = vector_of(source, energy.on_sphere);
    const auto logit = [&] {
      return energy.bias(0.0f, beta, static_cast<float>(dot(memory, memory))) +
             energy.logit_factor(beta) * dot(x, memory);
    };
    double attraction = 0.0;
    for (int j = 0; j < kFeatures; ++j)
      attraction += energy.attraction(static_cast<float>(x[j]), static_cast<float>(memory[j]));
    CHECK_NEAR(energy.energy(static_cast<float>(logit()), beta, static_cast<float>(dot(x, x))), -attraction, 1e-4);
    CHECK_NEAR(energy.bias(0.7f, beta, 1.0f) - energy.bias(0.0f, beta, 1.0f), 0.7, 1e-5);
    if constexpr (!energy.on_sphere) {
      constexpr double h = 1e-2;
      for (int j = 0; j < kFeatures; ++j) {
        const double before = memory[j], slope = -energy.bias_slope(beta) * before + energy.logit_factor(beta) * x[j];
        memory[j] = before + h;
        const double high = logit();
        memory[j] = before - h;
        const double low = logit();
        memory[j] = before;
        CHECK_NEAR((high - low) / (2.0 * h), slope, 2e-2 * beta);
      }
    }
    // The nearer of two memories is the closer one, by the distance that is reported.
    const std::vector<double> other = vector_of(source, energy.on_sphere);
    const auto distance = [&](const std::vector<double>& to) {
      if constexpr (energy.distance_by_difference)
        return dot(x, x) - 2.0 * dot(x, to) + dot(to, to);
      else
        return static_cast<double>(energy.distance(static_cast<float>(dot(x, to))));
    };
    const auto closeness = [&](const std::vector<double>& to) {
      return energy.closeness(static_cast<float>(dot(x, to)), static_cast<float>(dot(to, to)));
    };
    CHECK_EQUAL(distance(memory) < distance(other), closeness(memory) > closeness(other));
  }
}

}  // namespace

int main() {
  const std::vector<std::string> names = amclust::energy_names();
  CHECK_EQUAL(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const std::string& name : names) {
    const amclust::EnergyKind kind = amclust::find_energy(name);
    CHECK_EQUAL(name, std::string(amclust::energy_name(kind)));
    amclust::with_energy(kind, [&](auto energy) {
      CHECK_EQUAL(name, std::string(energy.name));
      CHECK(amclust::kind_of<decltype(energy)> == kind);
      check_parts(energy);
    });
  }
  CHECK(amclust::EnergyKind{} == tests::kEuclidean);
  CHECK_THROWS(std::invalid_argument, amclust::find_energy("manhattan"));
  return check::finish();
}
