#include "energies/registry.hpp"

#include <algorithm>
#include <stdexcept>

namespace amclust {
namespace {

template <class... Energies>
std::vector<std::string> names_of(EnergyList<Energies...>) {
  return {Energies::name...};
}

}  // namespace

std::vector<std::string> energy_names() { return names_of(AllEnergies{}); }

const char* energy_name(EnergyKind kind) {
  return with_energy(kind, [](auto energy) { return energy.name; });
}

EnergyKind find_energy(const std::string& name) {
  const std::vector<std::string> names = energy_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string known;
    for (const std::string& one : names) known += (known.empty() ? "'" : ", '") + one + "'";
    throw std::invalid_argument("metric must be one of " + known + ", got '" + name + "'");
  }
  return static_cast<EnergyKind>(found - names.begin());
}

}  // namespace amclust
