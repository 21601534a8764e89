// The table of one instruction set.
#include "kernels/entry.hpp"

#include "kernels/simd.hpp"

const amclust::Kernels* AMCLUST_ENTRY(kernel_table)() {
  static const amclust::Kernels table = [] {
    amclust::Kernels t{};
    t.name = AMCLUST_TEXT(AMCLUST_ISA);
    t.lanes = W;
    AMCLUST_ENTRY(fill_products)(t);
    AMCLUST_ENTRY(fill_memberships)(t);
    AMCLUST_ENTRY(fill_moving)(t);
    AMCLUST_ENTRY(fill_free)(t);
    AMCLUST_ENTRY(fill_silhouette)(t);
    AMCLUST_ENTRY(fill_adam)(t);
    AMCLUST_ENTRY(fill_statistics)(t);
    return t;
  }();
  return &table;
}
