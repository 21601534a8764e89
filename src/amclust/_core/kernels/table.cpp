// The table of one instruction set.
#include "kernels/entry.hpp"

#include "kernels/simd.hpp"

const amclust::Kernels* amclust::AMCLUST_ISA::kernel_table() {
  static const Kernels table = [] {
    Kernels t{};
    t.name = AMCLUST_ISA_NAME;
    t.lanes = W;
    fill_products(t);
    fill_nearest(t);
    fill_sparse(t);
    fill_memberships(t);
    fill_moving(t);
    fill_free(t);
    fill_silhouette(t);
    fill_adam(t);
    fill_statistics(t);
    fill_gaussians(t);
    return t;
  }();
  return &table;
}
