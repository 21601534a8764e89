// Numbers too small for full precision become zero while this lives, on the thread that made it. Memberships fall to
// them, and processors take a hundred times as long over a product with one.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace amclust {

class NoSubnormals {
 public:
  NoSubnormals() : before_(get()) { set(before_ | kFlush); }
  ~NoSubnormals() { set(before_); }
  NoSubnormals(const NoSubnormals&) = delete;
  NoSubnormals& operator=(const NoSubnormals&) = delete;

 private:
#if defined(__SSE2__)
  using State = unsigned int;
  static constexpr State kFlush = 0x8040;  // results, and operands
  static State get() { return _mm_getcsr(); }
  static void set(State state) { _mm_setcsr(state); }
#elif defined(__aarch64__)
  using State = std::uint64_t;
  static constexpr State kFlush = State{1} << 24;
  static State get() {
    State state;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void set(State state) { __asm__ __volatile__("msr fpcr, %0" : : "r"(state)); }
#else
  using State = int;
  static constexpr State kFlush = 0;
  static State get() { return 0; }
  static void set(State) {}
#endif
  State before_;
};

}  // namespace amclust
