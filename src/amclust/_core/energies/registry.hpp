// All energies there are: a new one is its header and its name in this list.
#pragma once

#include "energies/cosine.hpp"
#include "energies/euclidean.hpp"

#include <string>
#include <type_traits>
#include <vector>

namespace amclust {
namespace {

template <class... Energies>
struct EnergyList {};

using AllEnergies = EnergyList<Euclidean, Cosine>;

template <class F, class First, class... Rest>
auto with_energy_among(EnergyList<First, Rest...>, std::int32_t place, F&& f) {
  if constexpr (sizeof...(Rest) > 0)
    if (place > 0) return with_energy_among(EnergyList<Rest...>{}, place - 1, f);
  return f(First{});
}

// f(energy), a call of its own for each energy: the argument's type is the policy.
template <class F>
auto with_energy(EnergyKind kind, F&& f) {
  return with_energy_among(AllEnergies{}, static_cast<std::int32_t>(kind), f);
}

template <class Energy, class First, class... Rest>
constexpr std::int32_t place_among(EnergyList<First, Rest...>) {
  if constexpr (std::is_same_v<Energy, First>)
    return 0;
  else
    return 1 + place_among<Energy>(EnergyList<Rest...>{});
}

template <class Energy>
constexpr EnergyKind kind_of{place_among<Energy>(AllEnergies{})};

}  // namespace

// In the list's order.
std::vector<std::string> energy_names();
const char* energy_name(EnergyKind kind);
// Throws std::invalid_argument for a name that is not known.
EnergyKind find_energy(const std::string& name);

}  // namespace amclust
