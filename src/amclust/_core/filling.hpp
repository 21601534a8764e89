// Missing values, filled by the memories: the observed coordinates stay, the missing ones move. They start where the
// memories would have them that the observed coordinates alone attract to, so that nothing is assumed about them.
#pragma once

#include "buffer.hpp"
#include "memories.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

class Filler {
 public:
  // rows [n][ld] with any number at the missing coordinates; missing [n][d] marks them. They are replaced by where the
  // dynamics carries them.
  void fill(const Memories& memories, float* rows, const std::uint8_t* missing, int n);

 private:
  void start(const Memories& memories, float* row, const std::uint8_t* missing);
  void tile(const Memories& memories, float* rows, const std::uint8_t* missing, const int* which, int used);

  std::vector<std::int32_t> feature_, winner_;
  Buffer start_, zero_, state_, products_, loss_, scratch_, gathered_, logits_;
};

}  // namespace amclust
