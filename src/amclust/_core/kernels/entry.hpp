// Names the functions by which a kernel file adds itself to its instruction set's table: fill_products_avx2, ...
#pragma once

#include "kernels/kernels.hpp"

#ifndef AMCLUST_ISA
#error "AMCLUST_ISA (avx512, avx2 or baseline) is set by the build"
#endif

#define AMCLUST_JOIN2(a, b) a##_##b
#define AMCLUST_JOIN(a, b) AMCLUST_JOIN2(a, b)
#define AMCLUST_ENTRY(name) AMCLUST_JOIN(name, AMCLUST_ISA)
#define AMCLUST_TEXT2(a) #a
#define AMCLUST_TEXT(a) AMCLUST_TEXT2(a)

void AMCLUST_ENTRY(fill_products)(amclust::Kernels&);
void AMCLUST_ENTRY(fill_memberships)(amclust::Kernels&);
void AMCLUST_ENTRY(fill_moving)(amclust::Kernels&);
void AMCLUST_ENTRY(fill_free)(amclust::Kernels&);
void AMCLUST_ENTRY(fill_silhouette)(amclust::Kernels&);
void AMCLUST_ENTRY(fill_adam)(amclust::Kernels&);
void AMCLUST_ENTRY(fill_statistics)(amclust::Kernels&);
