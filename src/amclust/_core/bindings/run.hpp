// Calls from Python into the core. The GIL is released while it works; the calling thread takes it back now and then
// to look for Ctrl-C and to hand on progress.
#pragma once

#include "team.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>

namespace amclust::bindings {

namespace nb = nanobind;

// Runs the work without the GIL; Ctrl-C comes back as KeyboardInterrupt. progress: a callable or None.
void run(nb::object progress, const std::function<void(Control&)>& work);

// How many threads so many operations are worth.
int team_size(int threads, std::int64_t work);

}  // namespace amclust::bindings
