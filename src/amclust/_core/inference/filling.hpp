// Missing values, filled by the memories: the observed coordinates stay, the missing ones move. They start where the
// memories would have them that the observed coordinates alone attract to, so that nothing is assumed about them; or
// where they are, which is what a network trained by completion expects of the mask value.
#pragma once

#include "buffer.hpp"
#include "memories.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

class Filler {
 public:
  // rows [n][ld] with a start value at the missing coordinates (any number with from_observed); missing [n][d] marks
  // them. They are replaced by where the dynamics carries them.
  void fill(const Memories& memories, float* rows, const std::uint8_t* missing, int n, bool from_observed);

 private:
  void start(const Memories& memories, float* row, const std::uint8_t* missing);
  void tile(const Memories& memories, float* rows, const std::uint8_t* missing, const int* which, int used);

  std::vector<std::int32_t> feature_, winner_;
  Buffer start_, zero_, state_, products_, loss_, scratch_, gathered_, logits_;
};

}  // namespace amclust
