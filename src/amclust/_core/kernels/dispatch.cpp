// Chooses the table of the best instruction set that this machine runs.
#include "kernels/kernels.hpp"

#include <atomic>
#include <cstring>

namespace amclust::baseline {
const Kernels* kernel_table();
}
#if defined(AMCLUST_HAVE_AVX2)
namespace amclust::avx2 {
const Kernels* kernel_table();
}
#endif
#if defined(AMCLUST_HAVE_AVX512)
namespace amclust::avx512 {
const Kernels* kernel_table();
}
#endif

namespace amclust {
namespace {

#if defined(AMCLUST_HAVE_AVX2)
bool machine_has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

#if defined(AMCLUST_HAVE_AVX512)
bool machine_has_avx512() {
  return machine_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
#endif

const Kernels* find(const char* name) {
  const bool best = std::strcmp(name, "best") == 0;
#if defined(AMCLUST_HAVE_AVX512)
  if ((best || std::strcmp(name, "avx512") == 0) && machine_has_avx512()) return avx512::kernel_table();
#endif
#if defined(AMCLUST_HAVE_AVX2)
  if ((best || std::strcmp(name, "avx2") == 0) && machine_has_avx2()) return avx2::kernel_table();
#endif
  if (best || std::strcmp(name, "baseline") == 0) return baseline::kernel_table();
  return nullptr;
}

std::atomic<const Kernels*>& current() {
  static std::atomic<const Kernels*> table{find("best")};
  return table;
}

}  // namespace

const Kernels& kernels() { return *current().load(); }

bool use_instruction_set(const char* name) {
  const Kernels* table = find(name);
  if (!table) return false;
  current().store(table);
  return true;
}

}  // namespace amclust
