#include "tables.hpp"

#if defined(AMCLUST_HAVE_EMULATED16)
namespace amclust::emulated16 {
const Kernels* kernel_table();
}
#endif

namespace tests {

std::vector<const char*> instruction_sets() {
  std::vector<const char*> names;
  for (const char* name : {"avx512", "avx2", "baseline"})
    if (amclust::use_instruction_set(name)) names.push_back(name);
  amclust::use_instruction_set("best");
  return names;
}

const std::vector<const amclust::Kernels*>& tables() {
  static const std::vector<const amclust::Kernels*> all = [] {
    std::vector<const amclust::Kernels*> found;
    for (const char* name : instruction_sets()) {
      amclust::use_instruction_set(name);
      found.push_back(&amclust::kernels());
    }
#if defined(AMCLUST_HAVE_EMULATED16)
    if (amclust::use_instruction_set("avx2")) found.push_back(amclust::emulated16::kernel_table());
#endif
    amclust::use_instruction_set("best");
    return found;
  }();
  return all;
}

}  // namespace tests
