#pragma once

#include <nanobind/nanobind.h>

namespace amclust::bindings {

void bind_silhouette(nanobind::module_& m);

}  // namespace amclust::bindings
