// Missing values, filled by the memories: the observed coordinates stay, the missing ones move. They start where the
// memories would have them that the observed coordinates alone attract to, so that nothing is assumed about them; or
// where they are, which is what a network trained by completion expects of the mask value.
#pragma once

#include "buffer.hpp"
#include "matrix.hpp"
#include "memories.hpp"

#include <cstdint>
#include <vector>

namespace amclust {

class Filler {
 public:
  // rows [n][ld] with a start value at the missing coordinates (any number with from_observed); missing [n][d] marks
  // them. They are replaced by where the dynamics carries them.
  void fill(const Memories& memories, MatrixView<float> rows, MatrixView<const std::uint8_t> missing,
            bool from_observed);

 private:
  void start(const Memories& memories, float* row, const std::uint8_t* missing);
  void tile(const Memories& memories, MatrixView<float> rows, MatrixView<const std::uint8_t> missing,
            const std::vector<int>& which);

  std::vector<std::int32_t> feature_, winner_;
  Matrix start_, zero_, state_;  // [n_moving][lanes]
  Matrix products_, gathered_;   // [lanes][kp], [lanes][ld]
  Buffer loss_, scratch_, logits_;
};

}  // namespace amclust
