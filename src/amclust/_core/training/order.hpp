// Random orders of 0 ... n - 1; they depend on nothing but the seed and the pass.
#pragma once

#include "random.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace amclust {

// Takes no memory: a Feistel network on the bits of the index, walked on until it lands inside. Any index of the order
// can be had at once.
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
  // Of so many indices from `first` on. Those that are not inside yet go on together: no step waits for another.
  void get(std::int64_t first, std::int64_t count, std::int64_t* out) const {
    constexpr std::int64_t kAtOnce = 256;
    std::uint64_t states[kAtOnce];
    std::int32_t places[kAtOnce];
    for (std::int64_t from = 0; from < count; from += kAtOnce) {
      auto outside = static_cast<int>(std::min(kAtOnce, count - from));
      for (int i = 0; i < outside; ++i) {
        states[i] = static_cast<std::uint64_t>(first + from + i);
        places[i] = i;
      }
      while (outside) {
        int left = 0;
        for (int i = 0; i < outside; ++i) {
          const std::uint64_t x = shuffle(states[i]);
          const std::int32_t place = places[i];
          out[from + place] = static_cast<std::int64_t>(x);
          states[left] = x;
          places[left] = place;
          left += x >= n_;
        }
        outside = left;
      }
    }
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

// The order in which a pass goes through the rows. Few rows are shuffled in memory, which is quicker; many rows are not
// worth the memory.
class PassOrder {
 public:
  static constexpr std::int64_t kFewRows = 1 << 16;

  PassOrder(std::uint64_t seed, std::uint32_t pass, std::int64_t rows)
      : order_(seed, pass, static_cast<std::uint64_t>(rows)) {
    if (rows > kFewRows) return;
    shuffled_.resize(rows);
    std::iota(shuffled_.begin(), shuffled_.end(), 0u);
    Random random(seed, Purpose::order, pass);
    for (std::uint32_t left = static_cast<std::uint32_t>(rows); left > 1; --left)
      std::swap(shuffled_[left - 1], shuffled_[random.below(left)]);
  }
  std::int64_t operator[](std::int64_t at) const {
    if (shuffled_.empty()) return static_cast<std::int64_t>(order_[static_cast<std::uint64_t>(at)]);
    return shuffled_[at];
  }
  // Of so many indices from `first` on.
  void get(std::int64_t first, std::int64_t count, std::int64_t* out) const {
    if (shuffled_.empty())
      order_.get(first, count, out);
    else
      std::copy_n(shuffled_.begin() + first, count, out);
  }

 private:
  RandomOrder order_;
  std::vector<std::uint32_t> shuffled_;
};

}  // namespace amclust
