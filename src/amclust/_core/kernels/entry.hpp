// The functions by which kernel files add themselves to the table of their instruction set. Each build of the kernels
// has a namespace of its own, amclust::avx2, ...
#pragma once

#include "kernels/kernels.hpp"

#if !defined(AMCLUST_ISA) || !defined(AMCLUST_ISA_NAME)
#error "AMCLUST_ISA (avx512, avx2 or baseline) and AMCLUST_ISA_NAME, the same as text, are set by the build"
#endif

namespace amclust::AMCLUST_ISA {

void fill_products(Kernels&);
void fill_nearest(Kernels&);
void fill_sparse(Kernels&);
void fill_memberships(Kernels&);
void fill_moving(Kernels&);
void fill_free(Kernels&);
void fill_silhouette(Kernels&);
void fill_adam(Kernels&);
void fill_statistics(Kernels&);
void fill_gaussians(Kernels&);

const Kernels* kernel_table();

}  // namespace amclust::AMCLUST_ISA
