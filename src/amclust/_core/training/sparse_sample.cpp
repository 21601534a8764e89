#include "training/sparse_sample.hpp"

#include "energies/registry.hpp"
#include "team.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace amclust {

SparseSample::SparseSample(const Dataset& data, std::vector<std::int64_t> rows, std::vector<double> row_weights)
    : which(std::move(rows)),
      weights(std::move(row_weights)),
      data_(data),
      narrow_weights_(weights.begin(), weights.end()) {
  SparseEntries all;
  std::vector<float> norms(which.size());
  data.load_entries(which.data(), n(), all, norms.data());
  std::vector<std::int32_t> number(data.features, 0);
  for (const std::int32_t column : all.columns) ++number[column];
  for (int j = 0; j < data.features; ++j) {
    const bool shared = number[j] > 1;
    number[j] = shared ? static_cast<std::int32_t>(columns_.size()) : -1;
    if (shared) columns_.push_back(j);
  }
  int d = static_cast<int>(columns_.size());
  starts_.push_back(0);
  for (int i = 0; i < n(); ++i) {
    double alone = 0.0;
    for (std::int32_t e = all.starts[i]; e < all.starts[i + 1]; ++e) {
      if (number[all.columns[e]] < 0) {
        alone += static_cast<double>(all.values[e]) * all.values[e];
        continue;
      }
      entries_.push_back(all.values[e]);
      at_.push_back(number[all.columns[e]]);
    }
    if (alone > 0.0) {
      entries_.push_back(static_cast<float>(std::sqrt(alone)));
      at_.push_back(d++);
    }
    starts_.push_back(static_cast<std::int32_t>(entries_.size()));
  }

  d = std::max(d, 1);  // also of rows without entries
  rows_.rows = n();
  rows_.features = d;
  rows_.storage = Storage::sparse;
  rows_.sparse = {entries_.data(), false, at_.data(), starts_.data(), false};
  rows_.set_units(data.metric, std::vector<double>(d, 0.0).data(), std::vector<float>(d, 1.0f).data());
  norms_.resize(which.size());
  std::vector<std::int64_t> some(kBlock);
  for (int first = 0; first < n(); first += kBlock) {
    const int count = std::min(kBlock, n() - first);
    std::iota(some.begin(), some.end(), first);
    rows_.load_entries(some.data(), count, blocks_.emplace_back(), norms_.data() + first);
  }
}

SparseSample::Distances::Distances(const SparseSample& sample, int max_picks)
    : sample_(sample), panel_(sample.rows().features, padded(max_picks, kernels().lanes)) {
  values_.resize(static_cast<int>(sample.blocks_.size()) * kBlock, panel_.width());
}

void SparseSample::Distances::compute(const std::vector<int>& picks) {
  panel_.clear();
  for (std::size_t c = 0; c < picks.size(); ++c)
    panel_.set(static_cast<int>(c), sample_.block_of(picks[c]).block(), picks[c] % kBlock);
  check_interrupt();
  for (std::size_t b = 0; b < sample_.blocks_.size(); ++b)
    panel_.products(sample_.blocks_[b].block(), values_.row(static_cast<int>(b) * kBlock));
  for (int i = 0; i < sample_.n(); ++i) {
    if (i % kBlock == 0) check_interrupt();
    for (std::size_t c = 0; c < picks.size(); ++c) {
      const float both = sample_.norms_[i] + sample_.norms_[picks[c]];
      float& value = values_(i, static_cast<int>(c));
      value = both - 2.0f * value;
      if (!(value > kCancels * both))
        value = square_between(sample_.block_of(i).block(), i % kBlock, sample_.block_of(picks[c]).block(),
                               picks[c] % kBlock);
    }
  }
}

Matrix SparseSample::squares_between(const std::vector<int>& picks) const {
  constexpr int kWidth = 16;
  const int count = static_cast<int>(picks.size());
  Matrix out(count, padded(count, kernels().lanes));
  Distances distances(*this, kWidth);
  for (int first = 0; first < count; first += kWidth) {
    const std::vector<int> some(picks.begin() + first, picks.begin() + std::min(count, first + kWidth));
    distances.compute(some);
    for (int i = 0; i < count; ++i)
      for (std::size_t c = 0; c < some.size(); ++c)
        out(i, first + static_cast<int>(c)) = distances.at(picks[i], static_cast<int>(c));
  }
  return out;
}

std::vector<float> SparseSample::means(const std::vector<int>& rows, const std::vector<int>& labels, int k) const {
  const int d = rows_.features;
  std::vector<double> sums(static_cast<std::size_t>(k) * d, 0.0), sizes(k, 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowBlock block = block_of(rows[i]).block();
    const int row = rows[i] % kBlock;
    double* sum = sums.data() + static_cast<std::size_t>(labels[i]) * d;
    for (std::int32_t e = block.starts[row]; e < block.starts[row + 1]; ++e)
      sum[block.columns[e]] += weights[rows[i]] * block.values[e];
    sizes[labels[i]] += weights[rows[i]];
  }
  std::vector<float> out(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<float>(sums[i] / std::max(sizes[i / d], 1e-300));
  return out;
}

std::vector<float> SparseSample::lift(const std::vector<std::int32_t>& labels, const std::vector<float>& memories,
                                      int k) const {
  const int d = data_.features, own = rows_.features, shared = static_cast<int>(columns_.size());
  const float* origin = data_.origin();
  std::vector<float> out(static_cast<std::size_t>(k) * d, 0.0f);
  std::vector<double> sizes(k, 0.0);
  for (int i = 0; i < n(); ++i) sizes[labels[i]] += weights[i];
  SparseEntries entries;
  float norm = 0.0f;
  for (int i = 0; i < n(); ++i) {
    data_.load_entries(&which[i], 1, entries, &norm);
    const float share = static_cast<float>(weights[i] / std::max(sizes[labels[i]], 1e-300));
    float* to = out.data() + static_cast<std::size_t>(labels[i]) * d;
    for (std::size_t e = 0; e < entries.values.size(); ++e) to[entries.columns[e]] += share * entries.values[e];
  }
  const bool spherical = with_energy(data_.metric, [](auto energy) { return energy.on_sphere; });
  for (int m = 0; m < k; ++m) {
    float* to = out.data() + static_cast<std::size_t>(m) * d;
    const float* memory = memories.data() + static_cast<std::size_t>(m) * own;
    // On the sphere a memory is a direction: it becomes as long as the mean is.
    double length = 1.0;
    if (spherical && sizes[m] > 0.0) {
      double mean = 0.0, known = 0.0;
      for (const std::int32_t column : columns_) mean += static_cast<double>(to[column]) * to[column];
      for (int j = 0; j < shared; ++j) known += static_cast<double>(memory[j]) * memory[j];
      length = known > 0.0 ? std::sqrt(mean / known) : 0.0;
    }
    for (int j = 0; j < shared; ++j) to[columns_[j]] = static_cast<float>(length * memory[j]);
    for (int j = 0; origin && j < d; ++j) to[j] += origin[j];
  }
  return out;
}

}  // namespace amclust
