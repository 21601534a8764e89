// A random order of 0 ... n - 1 that takes no memory: a Feistel network on the bits of the index, walked on until it
// lands inside. Any index of the order can be had at once, and it depends on nothing but the key.
#pragma once

#include "random.hpp"

#include <cstdint>

namespace amclust {

class RandomOrder {
 public:
  RandomOrder(std::uint64_t seed, std::uint32_t pass, std::uint64_t n) : n_(n) {
    half_ = 1;
    while ((std::uint64_t{1} << (2 * half_)) < n) ++half_;
    mask_ = (std::uint64_t{1} << half_) - 1;
    Random random(seed, Purpose::order, pass);
    for (std::uint32_t& key : keys_) key = static_cast<std::uint32_t>(random.bits());
  }
  std::uint64_t operator[](std::uint64_t index) const {
    do index = shuffle(index);
    while (index >= n_);
    return index;
  }

 private:
  std::uint64_t shuffle(std::uint64_t x) const {
    std::uint64_t left = x >> half_, right = x & mask_;
    for (std::uint32_t key : keys_) {
      std::uint64_t mixed = (right ^ key) * 0x9E3779B97F4A7C15ull;
      mixed ^= mixed >> 29;
      mixed *= 0xBF58476D1CE4E5B9ull;
      mixed ^= mixed >> 32;
      const std::uint64_t next = left ^ (mixed & mask_);
      left = right;
      right = next;
    }
    return (left << half_) | right;
  }
  std::uint64_t n_, mask_;
  int half_;
  std::uint32_t keys_[4];
};

}  // namespace amclust
