// The silhouette coefficient of labelings, and of single rows.
#include "inference/silhouette.hpp"
#include "bindings/bind.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <stdexcept>

namespace amclust::bindings {
namespace {

void check_labels(const std::int32_t* labels, std::size_t size, int k) {
  if (k < 1 || static_cast<std::size_t>(k) > std::max<std::size_t>(size, 1))
    throw std::invalid_argument("k must be at least 1 and at most the number of labels");
  for (std::size_t i = 0; i < size; ++i)
    if (labels[i] < 0 || labels[i] >= k) throw std::out_of_range("a label is out of range");
}

// Means of the labelings; `values` may be null.
std::vector<double> silhouettes(const HeldRows& held, const TrainingRows& which, const std::int32_t* labels,
                                int labelings, int k, int threads, double* values) {
  check_labels(labels, static_cast<std::size_t>(labelings) * which.size, k);
  std::vector<double> out;
  supervised(threads, which.size * which.size * held.data.features, [&](Team& team, Control& control) {
    out = exact_silhouette(held.data, which.rows, static_cast<int>(which.size), which.weights, labels, labelings, k,
                           team, control, values);
  });
  return out;
}

Out<double, 1> silhouette_scores(const HeldRows& held, const In<std::int64_t, 1>& indices, const Weights& weights,
                                 const In<std::int32_t, 2>& labels, int k, int threads) {
  const TrainingRows which = some_rows(held.data, indices, weights);
  if (static_cast<std::int64_t>(labels.shape(1)) != which.size)
    throw std::invalid_argument("labels must have one column per row");
  return array(silhouettes(held, which, labels.data(), static_cast<int>(labels.shape(0)), k, threads, nullptr));
}

Out<double, 1> silhouette_values(const HeldRows& held, const In<std::int64_t, 1>& indices, const Weights& weights,
                                 const In<std::int32_t, 1>& labels, int k, int threads) {
  const TrainingRows which = some_rows(held.data, indices, weights);
  if (static_cast<std::int64_t>(labels.size()) != which.size)
    throw std::invalid_argument("labels must have one entry per row");
  std::vector<double> values(labels.size());
  silhouettes(held, which, labels.data(), 1, k, threads, values.data());
  return array(std::move(values));
}

}  // namespace

void bind_silhouette(nb::module_& m) {
  using namespace nb::literals;
  m.def("silhouette", &silhouette_scores, "rows"_a, "indices"_a, "weights"_a.none(), "labels"_a, "k"_a, "threads"_a);
  m.def("silhouette_values", &silhouette_values, "rows"_a, "indices"_a, "weights"_a.none(), "labels"_a, "k"_a,
        "threads"_a);
}

}  // namespace amclust::bindings
