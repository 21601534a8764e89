// Between Python's arrays and dicts and the core's types.
#pragma once

#include "rows/dataset.hpp"
#include "training/trainer.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <vector>

namespace amclust::bindings {

namespace nb = nanobind;

using FloatVector = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DoubleVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntMatrix = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntVector = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

// A Dataset that keeps the arrays it reads from alive.
struct HeldDataset {
  Dataset data;
  std::vector<nb::object> held;
};

HeldDataset dense_dataset(nb::object rows);
HeldDataset sparse_dataset(nb::object values, nb::object indices, nb::object indptr, int features);

TrainingRows training_rows(const Dataset& data, const std::optional<RowNumbers>& rows,
                           const std::optional<FloatVector>& weights);
RunSettings run_settings(nb::dict run, const Dataset& data);
nb::dict run_record(RunRecord&& record, const RunSettings& settings, int features);

// A NumPy array that owns its memory.
template <class T>
nb::object array(std::vector<T>&& values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}

template <class T>
nb::object array(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return array(std::move(values), {size});
}

}  // namespace amclust::bindings
