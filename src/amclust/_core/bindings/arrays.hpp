// Between NumPy's arrays and the core's vectors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace amclust::bindings {

namespace nb = nanobind;

// What comes in: C order, read only.
template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

// What goes out.
template <class T, int N>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<N>>;

// Of properties that are arrays: they bring an owner of their own.
constexpr auto kOwned = nb::rv_policy::automatic;

// An array that owns its memory.
template <class T, class... Lengths>
Out<T, sizeof...(Lengths)> array(std::vector<T> values, Lengths... lengths) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T, sizeof...(Lengths)>(owned->data(), {static_cast<std::size_t>(lengths)...}, owner);
}

template <class T>
Out<T, 1> array(std::vector<T> values) {
  const std::size_t size = values.size();
  return array(std::move(values), size);
}

// A copy of an array that must have so many entries.
template <class Array>
auto vector(const Array& values, std::size_t size, const char* name) {
  if (values.size() != size) throw std::invalid_argument(std::string(name) + " has the wrong size");
  using Value = std::remove_cv_t<std::remove_pointer_t<decltype(values.data())>>;
  return std::vector<Value>(values.data(), values.data() + values.size());
}

}  // namespace amclust::bindings
