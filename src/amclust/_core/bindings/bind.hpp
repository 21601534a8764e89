// The parts of amclust._native; each file here binds what its name says.
#pragma once

#include "bindings/arrays.hpp"
#include "rows/dataset.hpp"
#include "team.hpp"
#include "training/plan.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace amclust::bindings {

void bind_rows(nb::module_& m);
void bind_training(nb::module_& m);
void bind_runs(nb::module_& m);
void bind_inference(nb::module_& m);
void bind_silhouette(nb::module_& m);
void bind_n_clusters(nb::module_& m);
void bind_gaussians(nb::module_& m);
void bind_size_limits(nb::module_& m);

// Rows, and the arrays that they are read from.
struct HeldRows {
  Dataset data;
  std::vector<nb::object> held;
};

using Indices = std::optional<In<std::int64_t, 1>>;
using Weights = std::optional<In<float, 1>>;

// Which rows are meant, with their weights; the indices are checked.
TrainingRows some_rows(const Dataset& data, const Indices& indices, const Weights& weights);

// Rows must lie where the network's energy has them.
void check_energy(const NetworkParameters& network, const Dataset& data);

using Progress = nb::typed<nb::callable, void(int, int, double)>;

// Runs the work without the GIL; the calling thread takes it back now and then to look for Ctrl-C (which comes back as
// KeyboardInterrupt) and to hand on progress.
void supervised(const std::function<void(Control&)>& work, nb::object progress = nb::none());
// The same for work of about so many operations, by a team of as many threads as these are worth, at most `threads`.
// What takes a moment is done at once on the calling thread: no thread is woken for microseconds.
void supervised(int threads, std::int64_t operations, const std::function<void(Team&, Control&)>& work);

}  // namespace amclust::bindings
