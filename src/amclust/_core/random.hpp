// The core's own counter-based generator: Philox4x32-10 (Salmon et al., 2011). A draw is a function of the seed and of
// what it is for, never of what was drawn before, so threads cannot change it.
#pragma once

#include <array>
#include <cstdint>

namespace amclust {

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * counter[0], b = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

enum class Purpose : std::uint32_t {
  seeding = 1,
  order = 2,
  mask = 3,
  reseed = 4,
  sample = 5,
  reference = 6,
  draw = 7
};

// A stream of draws for one purpose; `a` and `b` tell its uses apart (epoch and row, say). Philox makes the stream's
// key, the draws are SplitMix64 of key and counter: a tenth of Philox's price where a row needs hundreds of them.
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose, std::uint32_t a = 0, std::uint32_t b = 0) {
    const auto block = philox({0, static_cast<std::uint32_t>(purpose), a, b},
                              {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    state_ = (std::uint64_t{block[0]} << 32) | block[1];
  }

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // Two numbers uniform in 0 ... first - 1 and 0 ... second - 1 from one word.
  void below(std::uint32_t first, std::uint32_t second, std::uint32_t out[2]) {
    const std::uint64_t word = bits();
    out[0] = static_cast<std::uint32_t>(((word >> 32) * first) >> 32);
    out[1] = static_cast<std::uint32_t>(((word & 0xFFFFFFFFull) * second) >> 32);
  }
  // Uniform in 0 ... n - 1 (multiply and shift; the bias is under n / 2^32).
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((bits() >> 32) * n) >> 32); }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace amclust
