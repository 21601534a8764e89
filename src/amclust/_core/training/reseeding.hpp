// Where memories of empty clusters begin anew: on badly represented rows.
#pragma once

#include <cstdint>
#include <vector>

namespace amclust {

// Draws `count` of the candidates, each once, with chances as their badness; fewer when no badness is left.
std::vector<std::int64_t> draw_reseeds(std::uint64_t seed, std::uint32_t epoch, std::vector<float> badness, int count);

}  // namespace amclust
