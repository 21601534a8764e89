// Memories with covariances, by which missing values are completed.
#include "inference/gaussians.hpp"
#include "bindings/bind.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace amclust::bindings {
namespace {

using namespace nb::literals;

GaussianMemories with_precisions(const In<double, 1>& parts, const In<double, 2>& means,
                                 const In<double, 3>& precisions) {
  GaussianMemories out;
  out.m = static_cast<int>(means.shape(0));
  out.d = static_cast<int>(means.shape(1));
  out.n_covariances = static_cast<int>(precisions.shape(0));
  out.parts = vector(parts, out.m, "parts");
  out.means = vector(means, means.size(), "means");
  out.precisions = vector(precisions, precisions.shape(0) * out.d * out.d, "precisions");
  check(out);
  return out;
}

GaussianMemories with_factors(const In<double, 1>& parts, const In<double, 2>& means, const In<double, 2>& loadings,
                              const In<double, 1>& noise) {
  GaussianMemories out;
  out.m = static_cast<int>(means.shape(0));
  out.d = static_cast<int>(means.shape(1));
  out.rank = static_cast<int>(loadings.shape(1));
  if (!out.rank) throw std::invalid_argument("loadings must have at least one factor");
  out.parts = vector(parts, out.m, "parts");
  out.means = vector(means, means.size(), "means");
  out.loadings = vector(loadings, static_cast<std::size_t>(out.d) * out.rank, "loadings");
  out.noise = vector(noise, out.d, "noise");
  check(out);
  return out;
}

struct BoundSums {
  GaussianSums found;
  std::size_t m, d, n_covariances, rank;
};

// About how many operations a row takes.
std::int64_t operations(const GaussianMemories& g) {
  const std::int64_t d = g.d;
  return g.rank ? d * g.rank * (g.rank + g.m) : d * d * (g.n_covariances + 1) + d * g.m;
}

void check_rows(const HeldRows& held, const GaussianMemories& memories) {
  if (held.data.features != memories.d) throw std::invalid_argument("the memories do not fit the rows");
  if (!held.data.has_missing) throw std::invalid_argument("the rows must be read as rows that may lack values");
}

BoundSums sum_rows(const HeldRows& held, const GaussianMemories& memories, const Indices& indices,
                   const Weights& weights, int threads) {
  check_rows(held, memories);
  const TrainingRows which = some_rows(held.data, indices, weights);
  BoundSums out{{},
                static_cast<std::size_t>(memories.m),
                static_cast<std::size_t>(memories.d),
                static_cast<std::size_t>(memories.n_covariances),
                static_cast<std::size_t>(memories.rank)};
  supervised(threads, which.size * operations(memories), [&](Team& team, Control& control) {
    out.found = gaussian_sums(held.data, which, memories, team, control);
  });
  return out;
}

Completions complete_rows(const HeldRows& held, const GaussianMemories& memories, const Indices& indices, int threads,
                          bool variances) {
  check_rows(held, memories);
  const TrainingRows which = some_rows(held.data, indices, std::nullopt);
  Completions out;
  supervised(threads, which.size * operations(memories), [&](Team& team, Control& control) {
    out = complete(held.data, which.rows, which.size, memories, variances, team, control);
  });
  return out;
}

using Writable = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Where missing values of rows go; the core looks whether there is a place for each of a row.
Gaps gaps_of(const HeldRows& held, const In<std::int64_t, 1>& starts, const Writable& values, const In<double, 1>& low,
             const In<double, 1>& high) {
  const std::size_t n = static_cast<std::size_t>(held.data.rows), d = static_cast<std::size_t>(held.data.features);
  if (low.size() != d || high.size() != d) throw std::invalid_argument("one range per feature");
  for (std::size_t j = 0; j < d; ++j)
    if (!(low.data()[j] <= high.data()[j])) throw std::invalid_argument("ranges must not be empty");
  const auto size = static_cast<std::int64_t>(values.size());
  if (starts.size() != n + 1 || starts.data()[0] != 0 || starts.data()[n] != size)
    throw std::invalid_argument("places must start at 0 and end with their values");
  for (std::size_t i = 0; i < n; ++i)
    if (starts.data()[i + 1] < starts.data()[i]) throw std::invalid_argument("places must not go back");
  return {starts.data(), values.data(), low.data(), high.data()};
}

void fill_rows(const HeldRows& held, const std::vector<const GaussianMemories*>& mixtures, const Indices& indices,
               const In<double, 1>& low, const In<double, 1>& high, const In<std::int64_t, 1>& starts,
               const Writable& values, int threads) {
  if (mixtures.empty()) throw std::invalid_argument("there is nothing to fill by");
  std::int64_t work = 0;
  for (const GaussianMemories* memories : mixtures) {
    check_rows(held, *memories);
    work += operations(*memories);
  }
  const TrainingRows which = some_rows(held.data, indices, std::nullopt);
  const Gaps gaps = gaps_of(held, starts, values, low, high);
  supervised(threads, which.size * work, [&](Team& team, Control& control) {
    fill(held.data, which.rows, which.size, mixtures, gaps, team, control);
  });
}

void draw_rows(const HeldRows& held, const GaussianMemories& memories, const Indices& indices, std::uint64_t seed,
               const In<double, 1>& low, const In<double, 1>& high, const In<std::int64_t, 1>& starts,
               const Writable& values, int threads) {
  check_rows(held, memories);
  const TrainingRows which = some_rows(held.data, indices, std::nullopt);
  const Gaps gaps = gaps_of(held, starts, values, low, high);
  supervised(threads, which.size * operations(memories), [&](Team& team, Control& control) {
    draw(held.data, which.rows, which.size, memories, seed, gaps, team, control);
  });
}

}  // namespace

void bind_gaussians(nb::module_& m) {
  nb::class_<GaussianMemories>(m, "GaussianMemories", "Memories with covariances, which complete rows by regression.")
      .def_static("with_precisions", &with_precisions, "parts"_a, "means"_a, "precisions"_a,
                  "Memories that share one covariance, or have one each, given by the inverses.")
      .def_static("with_factors", &with_factors, "parts"_a, "means"_a, "loadings"_a, "noise"_a,
                  "Memories that share loadings * loadings' + diag(noise).")
      .def_ro("rank", &GaussianMemories::rank, "How many factors there are; 0: covariances are full.");

  const auto numbers = [](auto field) { return [field](const BoundSums& s) { return array(s.found.*field); }; };
  nb::class_<BoundSums>(m, "GaussianSums", "What expectation and maximisation makes the next memories of.")
      .def_prop_ro("weight", [](const BoundSums& s) { return s.found.weight; })
      .def_prop_ro("likelihood", [](const BoundSums& s) { return s.found.likelihood; })
      .def_prop_ro("sizes", numbers(&GaussianSums::sizes), kOwned)
      .def_prop_ro(
          "sums", [](const BoundSums& s) { return array(s.found.sums, s.m, s.d); }, kOwned)
      .def_prop_ro(
          "squares", [](const BoundSums& s) { return array(s.found.squares, s.n_covariances, s.d, s.d); },
          "About zero, with the conditional covariances of what is missing; not with factors.", kOwned)
      .def_prop_ro(
          "factor_squares", [](const BoundSums& s) { return array(s.found.factor_squares, s.d, s.rank, s.rank); },
          "Only with factors.", kOwned)
      .def_prop_ro(
          "factor_values", [](const BoundSums& s) { return array(s.found.factor_values, s.d, s.rank); }, kOwned)
      .def_prop_ro("value_squares", numbers(&GaussianSums::value_squares), kOwned)
      .def_prop_ro("column_weights", numbers(&GaussianSums::column_weights), kOwned);
  m.def("gaussian_sums", &sum_rows, "rows"_a, "memories"_a, "indices"_a.none(), "weights"_a.none(), "threads"_a);

  nb::class_<Completions>(m, "Completions", "The missing values of rows, one row after the other.")
      .def_prop_ro(
          "starts", [](const Completions& c) { return array(c.starts); }, kOwned)
      .def_prop_ro(
          "means", [](const Completions& c) { return array(c.means); }, kOwned)
      .def_prop_ro("variances", [](const Completions& c) { return array(c.variances); }, kOwned);
  m.def("complete_rows", &complete_rows, "rows"_a, "memories"_a, "indices"_a.none(), "threads"_a, "variances"_a = true,
        "Return the conditional means and variances of what is missing.");
  m.def("fill_rows", &fill_rows, "rows"_a, "mixtures"_a, "indices"_a.none(), "low"_a, "high"_a, "starts"_a, "values"_a,
        "threads"_a, "Put the conditional means of what is missing, averaged over mixtures, into `values`.");
  m.def("draw_rows", &draw_rows, "rows"_a, "memories"_a, "indices"_a.none(), "seed"_a, "low"_a, "high"_a, "starts"_a,
        "values"_a, "threads"_a,
        "Put draws of what is missing into `values`: of a memory by how much a row belongs to it, and then by its "
        "conditional distribution.");
}

}  // namespace amclust::bindings
