// Plain structs as tuples, for pickle. Each lists its fields once, by a structured binding: a field that is added to a
// struct and not to its list does not compile. What is bound to Python itself goes as such.
#pragma once

#include "bindings/arrays.hpp"
#include "energies/registry.hpp"
#include "training/plan.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace amclust::bindings {

template <class Struct>
struct Fields;  // of(s): references to all fields

template <>
struct Fields<NetworkParameters> {
  template <class Self>
  static auto of(Self& s) {
    auto& [k, d, memories, log_weights, energy, beta, step_size, n_steps] = s;
    return std::tie(k, d, memories, log_weights, energy, beta, step_size, n_steps);
  }
};

template <>
struct Fields<ObjectiveSettings> {
  template <class Self>
  static auto of(Self& s) {
    auto& [name, seed, mask_prob, fill, anchor, neighbours, tie] = s;
    return std::tie(name, seed, mask_prob, fill, anchor, neighbours, tie);
  }
};

template <>
struct Fields<ScheduleSettings> {
  template <class Self>
  static auto of(Self& s) {
    auto& [learning_rate, lr_factor, min_lr, tol, max_epochs, patience, early_stopping, enough_epochs] = s;
    return std::tie(learning_rate, lr_factor, min_lr, tol, max_epochs, patience, early_stopping, enough_epochs);
  }
};

template <>
struct Fields<OptimizerState> {
  template <class Self>
  static auto of(Self& s) {
    auto& [moments, weight_moments, steps, energy_moments] = s;
    return std::tie(moments, weight_moments, steps, energy_moments);
  }
};

template <>
struct Fields<Plan> {
  template <class Self>
  static auto of(Self& s) {
    auto& [network, objective, schedule, batch_size, learn_weights, reseed, measure_first, starts_separated,
           whole_epochs, exact, keep, optimizer, energy, pause_at, earlier] = s;
    return std::tie(network, objective, schedule, batch_size, learn_weights, reseed, measure_first, starts_separated,
                    whole_epochs, exact, keep, optimizer, energy, pause_at, earlier);
  }
};

template <class Struct>
nb::tuple state_of(const Struct& value);
template <class Struct>
void set_state(Struct& value, const nb::tuple& state);

inline nb::object field_state(const std::vector<float>& values) { return nb::cast(array(values)); }
inline nb::object field_state(EnergyKind energy) { return nb::cast(energy_name(energy)); }
inline nb::object field_state(Keep keep) { return nb::cast(static_cast<int>(keep)); }
inline nb::object field_state(const OptimizerState& state) { return state_of(state); }
template <class T>
nb::object field_state(const std::optional<T>& value) {
  return value ? nb::cast(*value) : nb::none();
}
template <class T>
nb::object field_state(const T& value) {
  return nb::cast(value);
}

inline void set_field(std::vector<float>& values, nb::handle state) {
  const auto given = nb::cast<In<float, 1>>(state);
  values.assign(given.data(), given.data() + given.size());
}
inline void set_field(EnergyKind& energy, nb::handle state) { energy = find_energy(nb::cast<std::string>(state)); }
inline void set_field(Keep& keep, nb::handle state) {
  const int value = nb::cast<int>(state);
  if (value < 0 || value > static_cast<int>(Keep::mean)) throw std::invalid_argument("this is no state of a plan");
  keep = static_cast<Keep>(value);
}
inline void set_field(OptimizerState& value, nb::handle state) { set_state(value, nb::cast<nb::tuple>(state)); }
template <class T>
void set_field(std::optional<T>& value, nb::handle state) {
  value.reset();
  if (!state.is_none()) value = nb::cast<T>(state);
}
template <class T>
void set_field(T& value, nb::handle state) {
  value = nb::cast<T>(state);
}

template <class Struct>
nb::tuple state_of(const Struct& value) {
  return std::apply([](const auto&... field) { return nb::make_tuple(field_state(field)...); },
                    Fields<Struct>::of(value));
}

template <class Struct>
void set_state(Struct& value, const nb::tuple& state) {
  auto fields = Fields<Struct>::of(value);
  if (state.size() != std::tuple_size_v<decltype(fields)>)
    throw std::invalid_argument("this pickle is of another version of amclust");
  std::size_t at = 0;
  std::apply([&](auto&... field) { (set_field(field, state[at++]), ...); }, fields);
}

// Makes a bound struct picklable.
template <class Class>
void bind_pickle(Class& bound) {
  using Struct = typename Class::Type;
  bound.def("__getstate__", [](const Struct& value) { return state_of(value); })
      .def("__setstate__", [](Struct& place, const nb::tuple& state) {
        Struct value;
        set_state(value, state);
        if constexpr (std::is_same_v<Struct, NetworkParameters>) check(value);
        new (&place) Struct(std::move(value));
      });
}

}  // namespace amclust::bindings
