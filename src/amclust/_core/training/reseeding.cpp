#include "training/reseeding.hpp"

#include "random.hpp"

namespace amclust {

std::vector<std::int64_t> draw_reseeds(std::uint64_t seed, std::uint32_t epoch, std::vector<float> badness, int count) {
  std::vector<std::int64_t> picks;
  Random random(seed, Purpose::reseed, epoch);
  while (static_cast<int>(picks.size()) < count) {
    double total = 0.0;
    for (const float b : badness) total += b;
    if (!(total > 0.0)) break;
    double target = random.uniform() * total;
    std::size_t pick = 0;
    while (pick + 1 < badness.size() && (target -= badness[pick]) >= 0.0) ++pick;
    badness[pick] = 0.0f;
    picks.push_back(static_cast<std::int64_t>(pick));
  }
  return picks;
}

}  // namespace amclust
