// Labels within size limits.
#include "training/size_limits.hpp"

#include "bindings/bind.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace amclust::bindings {
namespace {

using Cheapest = std::tuple<Out<std::int32_t, 1>, Out<float, 1>, Out<float, 1>>;

Cheapest cheapest(const In<float, 2>& costs, const In<double, 1>& prices, int threads) {
  const std::size_t n = costs.shape(0), k = costs.shape(1);
  if (k < 1 || prices.size() != k) throw std::invalid_argument("prices must have one entry per memory");
  std::vector<std::int32_t> labels(n);
  std::vector<float> margins(n), own(n);
  supervised(threads, static_cast<std::int64_t>(n * k), [&](Team& team, Control&) {
    find_cheapest(costs.data(), static_cast<std::int64_t>(n), static_cast<int>(k), prices.data(), team, labels.data(),
                  margins.data(), own.data());
  });
  return {array(std::move(labels)), array(std::move(margins)), array(std::move(own))};
}

LimitedLabels limited(const In<float, 2>& costs, const In<std::int32_t, 1>& labels,
                      const std::optional<In<double, 1>>& weights, const In<double, 1>& prices,
                      const In<double, 1>& sizes, double reach, double least, double most) {
  const std::size_t n = costs.shape(0), k = costs.shape(1);
  if (k < 1) throw std::invalid_argument("there are no memories");
  if (weights && weights->size() != n) throw std::invalid_argument("weights must have one entry per row");
  std::vector<std::int32_t> start = vector(labels, n, "labels");
  if (std::any_of(start.begin(), start.end(),
                  [&](std::int32_t label) { return label < 0 || static_cast<std::size_t>(label) >= k; }))
    throw std::out_of_range("a label is out of range");
  UndecidedRows rows{costs.data(), weights ? weights->data() : nullptr, static_cast<std::int64_t>(n),
                     static_cast<int>(k)};
  std::vector<double> price = vector(prices, k, "prices"), size = vector(sizes, k, "sizes");
  LimitedLabels out;
  supervised([&](Control& control) {
    out = limit_sizes(rows, std::move(start), std::move(price), std::move(size), reach, {least, most}, control);
  });
  return out;
}

}  // namespace

void bind_size_limits(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<LimitedLabels>(m, "LimitedLabels", "Labels within size limits, and the prices that go with them.")
      .def_prop_ro(
          "labels", [](const LimitedLabels& found) { return array(found.labels); }, kOwned)
      .def_prop_ro(
          "prices", [](const LimitedLabels& found) { return array(found.prices); }, kOwned)
      .def_prop_ro(
          "sizes", [](const LimitedLabels& found) { return array(found.sizes); }, "Of all rows.", kOwned)
      .def_ro("complete", &LimitedLabels::complete, "False: rows are needed that were not given.");
  m.def("cheapest", &cheapest, "costs"_a, "prices"_a, "threads"_a = 1,
        "Return for each row where cost - price is least, by how much it is less than elsewhere, and the cost there.");
  m.def("limit_sizes", &limited, "costs"_a, "labels"_a, "weights"_a.none(), "prices"_a, "sizes"_a, "reach"_a, "least"_a,
        "most"_a,
        "Move rows between clusters until all sizes are within limits, at the least cost. `labels` are where cost - "
        "price is least; `sizes` are of all rows, also of those that are not given since their margins are above "
        "`reach`.");
}

}  // namespace amclust::bindings
