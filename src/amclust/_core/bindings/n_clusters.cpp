// The number of clusters, estimated.
#include "training/n_clusters.hpp"
#include "bindings/bind.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>

namespace amclust::bindings {
namespace {

void check(const In<float, 2>& rows, const std::vector<int>& numbers) {
  if (rows.shape(0) < 1 || rows.shape(1) < 1) throw std::invalid_argument("rows must not be empty");
  if (numbers.empty() || numbers.front() < 1) throw std::invalid_argument("numbers must be at least 1");
  if (std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<int>()) != numbers.end())
    throw std::invalid_argument("numbers must ascend");
}

NClustersEvidence estimate(const In<float, 2>& rows, const std::vector<int>& numbers, const NClustersSettings& settings,
                           std::uint64_t seed, int threads) {
  check(rows, numbers);
  NClustersEvidence out;
  supervised([&](Control& control) {
    Team team(std::max(1, threads));
    out = estimate_n_clusters(rows.data(), static_cast<int>(rows.shape(0)), static_cast<int>(rows.shape(1)), numbers,
                              settings, seed, team, control);
  });
  return out;
}

Out<std::int32_t, 2> partitions(const In<float, 2>& rows, const std::vector<int>& numbers,
                                const NClustersSettings& settings, std::uint64_t seed) {
  check(rows, numbers);
  std::vector<std::int32_t> labels;
  supervised([&](Control& control) {
    labels = merged_partitions(rows.data(), static_cast<int>(rows.shape(0)), static_cast<int>(rows.shape(1)), numbers,
                               settings, seed, control);
  });
  return array(std::move(labels), numbers.size(), rows.shape(0));
}

// A bound vector as an array of its own.
template <class T>
auto copied(std::vector<T> NClustersEvidence::* field) {
  return [field](const NClustersEvidence& evidence) { return array(std::vector<T>(evidence.*field)); };
}

}  // namespace

void bind_n_clusters(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<NClustersSettings>(m, "NClustersSettings")
      .def(nb::init<>())
      .def_rw("one_cluster", &NClustersSettings::one_cluster)
      .def_rw("resample", &NClustersSettings::resample)
      .def_rw("resampled_rows", &NClustersSettings::resampled_rows)
      .def_rw("min_resamples", &NClustersSettings::min_resamples)
      .def_rw("max_resamples", &NClustersSettings::max_resamples)
      .def_rw("overclustering", &NClustersSettings::overclustering)
      .def_rw("outliers", &NClustersSettings::outliers)
      .def_rw("first_rounds", &NClustersSettings::first_rounds)
      .def_rw("merging_rounds", &NClustersSettings::merging_rounds)
      .def_rw("scored_rounds", &NClustersSettings::scored_rounds);
  nb::class_<NClustersEvidence>(m, "NClustersEvidence")
      .def_prop_ro("silhouette", copied(&NClustersEvidence::silhouette), kOwned)
      .def_prop_ro("reference", copied(&NClustersEvidence::reference), kOwned)
      .def_prop_ro("adjusted", copied(&NClustersEvidence::adjusted), kOwned)
      .def_prop_ro("votes", copied(&NClustersEvidence::votes), kOwned)
      .def_prop_ro("n_clusters", [](const NClustersEvidence& evidence) {
        return evidence.n_clusters > 0 ? std::optional<int>(evidence.n_clusters) : std::nullopt;
      });
  m.def("estimate_n_clusters", &estimate, "rows"_a, "numbers"_a, "settings"_a, "seed"_a, "threads"_a);
  m.def("merged_partitions", &partitions, "rows"_a, "numbers"_a, "settings"_a, "seed"_a);
}

}  // namespace amclust::bindings
