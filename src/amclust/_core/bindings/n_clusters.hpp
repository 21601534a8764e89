#pragma once

#include <nanobind/nanobind.h>

namespace amclust::bindings {

void bind_n_clusters(nanobind::module_& m);

}  // namespace amclust::bindings
