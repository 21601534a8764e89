// Loops in blocks of sizes known when compiled, the remainder too.
#pragma once

#include <type_traits>

namespace {

template <int Rest, class F>
inline void for_rest(int n, int at, const F& f) {
  if constexpr (Rest > 0) {
    if (n - at == Rest)
      f(std::integral_constant<int, Rest>{}, at);
    else
      for_rest<Rest - 1>(n, at, f);
  }
}

// Cuts first ... n - 1 into as many blocks of `Size` as fit, then of the next smaller size, ...; what is left is one
// block. Calls f(size, start) for each, the size being a std::integral_constant.
template <int Size, int... Smaller, class F>
inline void for_blocks(int n, const F& f, int first = 0) {
  int at = first;
  for (; at + Size <= n; at += Size) f(std::integral_constant<int, Size>{}, at);
  if constexpr (sizeof...(Smaller) > 0)
    for_blocks<Smaller...>(n, f, at);
  else
    for_rest<Size - 1>(n, at, f);
}

}  // namespace
