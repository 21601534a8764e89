#include "objectives/chunked.hpp"

#include <algorithm>

namespace amclust {

int part_rows(int batch_size) {
  constexpr int kMostParts = 16;
  const int rows = (batch_size + kMostParts - 1) / kMostParts;
  return std::max(kBlockRows, (rows + kBlockRows - 1) / kBlockRows * kBlockRows);
}

void note_candidates(const Batch& batch, int first, int n, const float* badness, std::vector<Candidate>& out) {
  constexpr int kGroup = 8;
  for (int i = 0; i < n; i += kGroup) {
    const float* group = badness + i;
    const int worst = static_cast<int>(std::max_element(group, group + std::min(kGroup, n - i)) - group);
    out.push_back({group[worst], batch.rows[first + i + worst]});
  }
}

Evaluation ChunkedObjective::evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) {
  const int rows = part_rows(batch.size);
  const int parts = (batch.size + rows - 1) / rows;
  while (static_cast<int>(workspaces_.size()) < team.size()) workspaces_.push_back(make_workspace());
  gradient.memories.resize(memories.values.size());
  gradient.bias.resize(memories.kp);
  parts_.resize(parts);
  outers_.resize(parts);

  struct PartResult {
    double loss = 0.0;
    std::vector<double> wins;
    std::vector<Candidate> candidates;
  };
  std::vector<PartResult> results(parts);
  team.run(parts, [&](int index, int member) {
    Gradient& part = parts == 1 ? gradient : parts_[index];
    part.memories.resize(memories.values.size());
    part.bias.resize(memories.kp);
    part.memories.zero();
    part.bias.zero();
    if (parts == 1)
      outers_[index].attach(memories.shape, gradient.memories.data());
    else
      outers_[index].reset(memories.shape);
    PartResult& result = results[index];
    result.wins.assign(memories.k, 0.0);
    BlockOutput out{0.0, &result.wins, &result.candidates, part.memories.data(), &outers_[index], part.bias.data()};
    const int end = std::min(batch.size, (index + 1) * rows);
    for (int first = index * rows; first < end; first += kBlockRows)
      block(batch, first, std::min(kBlockRows, end - first), memories, *workspaces_[member], out);
    result.loss = out.loss;
  });

  Evaluation total;
  total.wins.assign(memories.k, 0.0);
  for (const PartResult& result : results) {
    total.loss += result.loss;
    for (int m = 0; m < memories.k; ++m) total.wins[m] += result.wins[m];
    total.candidates.insert(total.candidates.end(), result.candidates.begin(), result.candidates.end());
  }
  if (parts > 1) {
    const auto add = [&](float* out, std::size_t begin, std::size_t end, auto pick) {
      for (std::size_t i = begin; i < end; ++i) out[i] = 0.0f;
      for (const Gradient& part : parts_) {
        const float* in = pick(part);
        for (std::size_t i = begin; i < end; ++i) out[i] += in[i];
      }
    };
    add(gradient.bias.data(), 0, gradient.bias.size(), [](const Gradient& g) { return g.bias.data(); });
    const std::size_t size = gradient.memories.size();
    team.run(parts, [&](int index, int) {
      add(gradient.memories.data(), size * index / parts, size * (index + 1) / parts,
          [](const Gradient& g) { return g.memories.data(); });
      const std::size_t outer_size = outers_[0].size();
      for (int other = 1; other < parts; ++other)
        outers_[0].absorb(outers_[other], outer_size * index / parts, outer_size * (index + 1) / parts);
    });
  }
  outers_[0].add_to(gradient.memories.data());
  finish_gradient(memories, gradient);
  return total;
}

}  // namespace amclust
