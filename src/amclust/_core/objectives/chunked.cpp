#include "objectives/chunked.hpp"

#include <utility>

namespace amclust {

BatchParts::BatchParts(int batch_size) : batch_size_(batch_size) {
  constexpr int kMinParts = 2, kMaxParts = 16;
  // The sums of a part are cleared and added up, which costs as much as two rows.
  const int parts = std::clamp(batch_size / 2, kMinParts, kMaxParts);
  rows_ = std::max(kBlockRows, padded((batch_size + parts - 1) / parts, kBlockRows));
  count_ = (batch_size + rows_ - 1) / rows_;
}

void PartSums::reset(const Memories& memories, bool alone) {
  loss = 0.0;
  wins.assign(memories.k, 0.0);
  candidates.clear();
  gradient.memories.resize(memories.values.size());
  gradient.memories.zero();
  gradient.bias.resize(memories.kp);
  gradient.bias.zero();
  if (alone)
    outer.attach(memories.shape, gradient.memories.data());
  else
    outer.reset(memories.shape);
}

void PartSums::add(const PartSums& other, Slice slice) {
  slice.add(gradient.memories.data(), other.gradient.memories.data(), gradient.memories.size());
  slice.add(gradient.bias.data(), other.gradient.bias.data(), gradient.bias.size());
  slice.add(wins, other.wins, wins.size());
  outer.add(other.outer, slice);
  if (!slice.first()) return;
  loss += other.loss;
  candidates.insert(candidates.end(), other.candidates.begin(), other.candidates.end());
}

void note_candidates(const Batch& batch, BlockOfRows block, const float* badness, std::vector<Candidate>& out) {
  constexpr int kGroup = 8;
  for (int i = 0; i < block.n; i += kGroup) {
    const float* group = badness + i;
    const int worst = static_cast<int>(std::max_element(group, group + std::min(kGroup, block.n - i)) - group);
    out.push_back({group[worst], batch.rows[block.first + i + worst]});
  }
}

Evaluation ChunkedObjective::evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) {
  const BatchParts parts(batch.size);
  while (static_cast<int>(workspaces_.size()) < team.size()) workspaces_.push_back(make_workspace());
  const auto fill = [&](PartSums& sums, int part, int member) {
    sums.reset(memories, parts.count() == 1);
    parts.for_blocks(part, [&](BlockOfRows block) { add_block(batch, block, memories, *workspaces_[member], sums); });
  };
  PartSums& sums = parallel_reduce(team, parts_, parts.count(), memories.values.size(), fill);
  sums.outer.add_to(sums.gradient.memories.data());
  std::swap(gradient, sums.gradient);
  finish_gradient(memories, gradient);
  return {sums.loss, std::move(sums.wins), std::move(sums.candidates)};
}

}  // namespace amclust
