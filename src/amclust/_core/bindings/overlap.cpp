// How much memories overlap.
#include "inference/overlap.hpp"
#include "bindings/bind.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace amclust::bindings {
namespace {

struct FoundOverlap {
  Overlap sums;
  std::size_t memories, labels;
};

FoundOverlap find_overlap(const NetworkParameters& network, const HeldRows& held, const In<float, 1>& fill,
                          int n_nearest, const Indices& indices, const Weights& weights,
                          const std::optional<In<std::int32_t, 1>>& labels, int n_labels, int threads) {
  const Dataset& data = held.data;
  const TrainingRows which = some_rows(data, indices, weights);
  check(network);
  check_energy(network, data);
  if (network.d != data.features || fill.size() != static_cast<std::size_t>(network.d))
    throw std::invalid_argument("the network does not fit the rows");
  if (n_nearest < 1 || n_nearest >= network.k)
    throw std::invalid_argument("n_nearest must be at least 1 and below the number of memories");
  if (n_labels < 0 || (labels && static_cast<std::int64_t>(labels->size()) != which.size))
    throw std::invalid_argument("labels must have one entry per row");
  if (labels && std::any_of(labels->data(), labels->data() + labels->size(), [&](int l) { return l >= n_labels; }))
    throw std::out_of_range("a label is out of range");
  FoundOverlap found{{}, static_cast<std::size_t>(network.k), static_cast<std::size_t>(n_labels)};
  supervised([&](Control& control) {
    Memories memories = network.prepared(static_cast<double>(which.size));
    if (data.gives_entries()) memories.shape.take_sparse(data.origin());
    memories.refresh(false);
    Team team(team_size(threads, which.size * static_cast<std::int64_t>(network.k) * network.d));
    found.sums = overlap(data, which, fill.data(), memories, n_nearest, labels ? labels->data() : nullptr, n_labels,
                         team, control);
  });
  return found;
}

}  // namespace

void bind_overlap(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<FoundOverlap>(m, "Overlap", "How much memories overlap, by the rows that belong to several.")
      .def_prop_ro(
          "between", [](const FoundOverlap& o) { return array(o.sums.between, o.memories, o.memories); }, kOwned)
      .def_prop_ro(
          "mass", [](const FoundOverlap& o) { return array(o.sums.mass); }, "What belongs to each memory.", kOwned)
      .def_prop_ro(
          "by_label", [](const FoundOverlap& o) { return array(o.sums.by_label, o.labels, o.memories); },
          "The same over the rows of each label.", kOwned);
  m.def("overlap", &find_overlap, "network"_a, "rows"_a, "fill"_a, "n_nearest"_a, "indices"_a.none() = nb::none(),
        "weights"_a.none() = nb::none(), "labels"_a.none() = nb::none(), "n_labels"_a = 0, "threads"_a = 1);
}

}  // namespace amclust::bindings
