#include "training/exact_steps.hpp"

#include "energies/registry.hpp"
#include "random.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace amclust {
namespace {

constexpr int kBlock = 64;
// Sums are over fixed parts of the rows, so that they do not depend on the number of threads.
constexpr int kParts = 16;
// Rounding of distances, relative.
constexpr float kSlack = 1e-4f;
// The same of squared distances from products, in units of the squared lengths.
constexpr double kRounding = 1e-6;
// A split is tried on at most so many rows of a memory, with so many rounds.
constexpr int kSplitRows = 512, kSplitNumbers = 1 << 22, kSplitRounds = 4, kSplitTries = 2;
// Moves are tried where the gain is at least this part of the cost (both are estimates, the cost an upper bound), and
// stay where the loss has fallen by this part after a few steps; otherwise this much fewer are tried.
constexpr double kMoveMargin = 0.6, kMoveGain = 1e-4;
constexpr int kMoveSteps = 3, kFewerMoves = 4;

double square_distance(const float* a, const float* b, int n) {
  float lanes[8] = {};
  int j = 0;
  for (; j + 8 <= n; j += 8)
    for (int l = 0; l < 8; ++l) lanes[l] += (a[j + l] - b[j + l]) * (a[j + l] - b[j + l]);
  double sum = 0.0;
  for (; j < n; ++j) sum += static_cast<double>(a[j] - b[j]) * (a[j] - b[j]);
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

// What a thread needs.
struct ExactSteps::Worker {
  Matrix rows, products;  // [kBlock][ld], [kBlock][kp]
  Buffer norms, closeness, second;
  std::vector<std::int32_t> nearest;
  SparseEntries entries;
  MissingMarks missing;
  Filler filler;
  std::vector<std::int64_t> places;  // training rows to be searched, at most kBlock
  std::vector<std::int64_t> which;
  std::vector<double> sum;
  Matrix split;  // [kSplitRows][ld]

  Worker(const Dataset& data, const Memories& memories)
      : norms(kBlock), closeness(kBlock), second(kBlock), nearest(kBlock), which(kBlock), sum(memories.d) {
    if (!memories.shape.for_sparse) rows.resize(kBlock, memories.ld);
    products.resize(kBlock, memories.shape.for_sparse || memories.shape.by_features ? memories.kp : 0);
    if (data.has_missing) missing.fit(kBlock, memories.d);
  }
};

// Over one part of the rows.
struct ExactSteps::Sums {
  double loss = 0.0;
  std::vector<double> losses, removal;  // by memory, where all rows are searched
  std::vector<char> changed;
};

// A memory in two, and a memory that could take the second part.
struct ExactSteps::Split {
  int memory = 0;
  double gain = 0.0;
  std::vector<float> first, second;
};
struct ExactSteps::Move {
  int memory;
  const Split* split;
};

ExactSteps::ExactSteps(const Dataset& data, const TrainingRows& rows, const NetworkParameters& start, const float* fill,
                       Team& team, const Control* control)
    : data_(data),
      rows_(rows),
      fill_(fill),
      team_(team),
      control_(control),
      memories_(start.prepared(static_cast<double>(rows.size))),
      centres_(memories_.k, memories_.ld),
      bias_(memories_.kp),
      spherical_(with_energy(start.energy, [](auto energy) { return energy.on_sphere; })),
      by_entries_(data.gives_entries()),
      labels_(rows.size, 0),
      lower_(by_entries_ || data.has_missing ? 0 : rows.size),
      losses_(memories_.k, 0.0),
      removal_(memories_.k, 0.0),
      half_gap_(memories_.k, 0.0f),
      changed_(memories_.k, 1) {
  if (by_entries_) memories_.shape.take_sparse(data.origin());
  for (int i = 0; i < team.size(); ++i) workers_.push_back(std::make_unique<Worker>(data, memories_));
  for (std::int64_t at = 0; at < rows.size; ++at) total_weight_ += weight(at);
  refresh();
  assign(true);
}

ExactSteps::~ExactSteps() = default;

// Brings everything up to date with the memories' values.
void ExactSteps::refresh() {
  memories_.refresh(false);
  kernels().to_rows(memories_.values.data(), memories_.d, memories_.k, memories_.kp, memories_.ld, centres_.data());
  with_energy(memories_.metric, [&](auto energy) {
    factor_ = energy.closeness(1.0f, 0.0f);
    for (int m = 0; m < memories_.kp; ++m)
      bias_[m] = m < memories_.k ? energy.closeness(0.0f, memories_.square_norms[m]) : -1e30f;
  });
}

RowBlock ExactSteps::load(Worker& worker, const std::int64_t* places, int n) const {
  if (by_entries_) {
    for (int i = 0; i < n; ++i) worker.which[i] = row(places[i]);
    data_.load_entries(worker.which.data(), n, worker.entries, worker.norms.data());
    return worker.entries.block();
  }
  const auto rows = worker.rows.block(0, n);
  load_dense(worker, places, n, rows);
  return rows;
}

void ExactSteps::load_dense(Worker& worker, const std::int64_t* places, int n, MatrixView<float> out) const {
  for (int i = 0; i < n; ++i) worker.which[i] = row(places[i]);
  data_.load(worker.which.data(), n, fill_, out.data, memories_.ld, worker.missing.data());
  if (data_.has_missing) worker.filler.fill(memories_, out, worker.missing.view(), true);
}

// Searches the nearest two memories of the waiting rows.
void ExactSteps::search(Worker& worker, Sums& sums) {
  const int n = static_cast<int>(worker.places.size());
  if (!n) return;
  const RowBlock rows = load(worker, worker.places.data(), n);
  if (!by_entries_) kernels().norms(rows.dense.data, memories_.ld, n, worker.norms.data());
  memories_.panel.nearest_two(rows, bias_.data(), factor_, worker.products,
                              {worker.closeness.data(), worker.second.data(), worker.nearest.data(), nullptr});
  for (int i = 0; i < n; ++i) {
    const std::int64_t at = worker.places[i];
    const int now = worker.nearest[i];
    const double norm = worker.norms[i];
    const auto square = [&](float closeness) {
      return std::max(0.0, spherical_ ? 1.0 + norm - 2.0 * closeness : norm - closeness);
    };
    const double next = square(worker.second[i]);
    const double own =
        by_entries_ ? square(worker.closeness[i]) : square_distance(rows.dense.row(i), centres_.row(now), memories_.ld);
    if (labels_[at] != now) {
      sums.changed[labels_[at]] = sums.changed[now] = 1;
      labels_[at] = now;
    }
    if (!lower_.empty()) {
      const double least = std::max(0.0, next - kRounding * (norm + memories_.square_norms[now]));
      lower_[at] = static_cast<float>(std::sqrt(least) * (1.0 - kSlack) + drift_);
    }
    sums.loss += weight(at) * own;
    sums.losses[now] += weight(at) * own;
    sums.removal[now] += weight(at) * std::max(0.0, next - own);
  }
  worker.places.clear();
}

void ExactSteps::assign_some(Worker& worker, std::int64_t first, int n, bool search_all, Sums& sums) {
  if (search_all) {
    worker.places.resize(n);
    std::iota(worker.places.begin(), worker.places.end(), first);
    return search(worker, sums);
  }
  std::int64_t places[kBlock];
  std::iota(places, places + n, first);
  const RowBlock rows = load(worker, places, n);
  std::vector<std::int64_t> unsure;
  for (int i = 0; i < n; ++i) {
    const std::int64_t at = first + i;
    const int own = labels_[at];
    const double square = square_distance(rows.dense.row(i), centres_.row(own), memories_.ld);
    const double away = std::sqrt(square) * (1.0 + kSlack);
    if (away < std::max(static_cast<double>(half_gap_[own]), lower_[at] - drift_))
      sums.loss += weight(at) * square;
    else
      unsure.push_back(at);
  }
  worker.places = std::move(unsure);
  search(worker, sums);
}

// Every row to its nearest memory; `search_all`: whatever the bounds say.
void ExactSteps::assign(bool search_all) {
  search_all = search_all || lower_.empty();
  if (search_all) drift_ = 0.0;  // all bounds are found anew
  std::vector<Sums> sums(kParts);
  const std::int64_t blocks = (rows_.size + kBlock - 1) / kBlock;
  team_.run(kParts, [&](int part, int member) {
    Sums& mine = sums[part];
    mine.losses.assign(memories_.k, 0.0);
    mine.removal.assign(memories_.k, 0.0);
    mine.changed.assign(memories_.k, 0);
    for (std::int64_t b = blocks * part / kParts; b < blocks * (part + 1) / kParts && !stopped(); ++b) {
      const std::int64_t first = b * kBlock;
      assign_some(*workers_[member], first, static_cast<int>(std::min<std::int64_t>(kBlock, rows_.size - first)),
                  search_all, mine);
    }
  });
  loss_ = 0.0;
  if (search_all) {
    std::fill(removal_.begin(), removal_.end(), 0.0);
    std::fill(losses_.begin(), losses_.end(), 0.0);
  }
  for (const Sums& part : sums) {
    loss_ += part.loss;
    for (int m = 0; m < memories_.k; ++m) {
      changed_[m] = changed_[m] || part.changed[m];
      if (!search_all) continue;
      removal_[m] += part.removal[m];
      losses_[m] += part.losses[m];
    }
  }
}

void ExactSteps::sort_by_memory() {
  starts_.assign(static_cast<std::size_t>(memories_.k) + 1, 0);
  for (const std::int32_t label : labels_) ++starts_[static_cast<std::size_t>(label) + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  order_.resize(labels_.size());
  std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
  for (std::size_t at = 0; at < labels_.size(); ++at)
    order_[static_cast<std::size_t>(next[labels_[at]]++)] = static_cast<std::int32_t>(at);
}

// The mean of a memory's rows takes its place; returns weight * squared distance of the move.
double ExactSteps::average_one(Worker& worker, int memory) {
  const int d = memories_.d;
  std::vector<double>& sum = worker.sum;
  std::fill(sum.begin(), sum.end(), 0.0);
  double total = 0.0;
  std::int64_t places[kBlock];
  for (std::int64_t first = starts_[memory]; first < starts_[memory + 1]; first += kBlock) {
    const int n = static_cast<int>(std::min<std::int64_t>(kBlock, starts_[memory + 1] - first));
    std::copy_n(order_.data() + first, n, places);
    const RowBlock rows = load(worker, places, n);
    for (int i = 0; i < n; ++i) {
      const double w = weight(places[i]);
      total += w;
      if (rows.is_sparse()) {
        for (std::int32_t e = rows.starts[i]; e < rows.starts[i + 1]; ++e) sum[rows.columns[e]] += w * rows.values[e];
        continue;
      }
      const float* x = rows.dense.row(i);
      for (int j = 0; j < d; ++j) sum[j] += w * x[j];
    }
  }
  if (!(total > 0.0)) return 0.0;
  const float* origin = by_entries_ ? data_.origin() : nullptr;
  double square = 0.0, moved = 0.0;
  for (int j = 0; j < d; ++j) {
    sum[j] = sum[j] / total + (origin ? origin[j] : 0.0);
    square += sum[j] * sum[j];
  }
  const double unit = spherical_ ? (square > 0.0 ? 1.0 / std::sqrt(square) : 0.0) : 1.0;
  if (!(unit > 0.0)) return 0.0;
  const MatrixView<float> to = memories_.coordinates();
  for (int j = 0; j < d; ++j) {
    const double value = sum[j] * unit;
    moved += (value - centres_(memory, j)) * (value - centres_(memory, j));
    to(j, memory) = static_cast<float>(value);
  }
  return total * moved;
}

// Every memory whose rows changed to their mean; returns by how much the loss falls.
double ExactSteps::average() {
  sort_by_memory();
  Matrix before(memories_.k, memories_.ld);
  std::copy_n(centres_.data(), static_cast<std::size_t>(memories_.k) * memories_.ld, before.data());
  std::vector<double> gained(memories_.k, 0.0);
  team_.run(memories_.k, [&](int memory, int member) {
    if ((changed_[memory] || data_.has_missing) && !stopped()) gained[memory] = average_one(*workers_[member], memory);
  });
  refresh();
  double farthest = 0.0;
  for (int m = 0; m < memories_.k; ++m)
    if (changed_[m] || data_.has_missing)
      farthest = std::max(farthest, square_distance(before.row(m), centres_.row(m), memories_.ld));
  drift_ += std::sqrt(farthest) * (1.0 + kSlack);
  std::fill(changed_.begin(), changed_.end(), 0);
  // How far the nearest other memory is, where that costs little beside the rows.
  std::fill(half_gap_.begin(), half_gap_.end(), 0.0f);
  if (!lower_.empty() && memories_.k > 1 && std::int64_t{8} * memories_.k <= rows_.size) {
    const int blocks = (memories_.k + kBlock - 1) / kBlock;
    team_.run(blocks, [&](int block, int member) {
      Worker& worker = *workers_[member];
      const int first = block * kBlock, n = std::min(kBlock, memories_.k - first);
      memories_.panel.nearest_two(centres_.block(first, n), bias_.data(), factor_, worker.products,
                                  {worker.closeness.data(), worker.second.data(), worker.nearest.data(), nullptr});
      for (int i = 0; i < n; ++i) {
        const double own = memories_.square_norms[first + i];
        const double square =
            (spherical_ ? 2.0 - 2.0 * worker.second[i] : own - worker.second[i]) - 2.0 * kRounding * own;
        if (worker.nearest[i] == first + i && square > 0.0)
          half_gap_[first + i] = static_cast<float>(0.5 * std::sqrt(square) * (1.0 - kSlack));
      }
    });
  }
  return std::accumulate(gained.begin(), gained.end(), 0.0);
}

bool ExactSteps::step(double tolerance) {
  const double gained = average();
  assign(false);
  return gained <= tolerance * loss_;
}

void ExactSteps::settle(int steps, double tolerance) {
  for (int i = 0; i < steps && !stopped(); ++i)
    if (step(tolerance)) break;
}

ExactSteps::Split ExactSteps::split(Worker& worker, int memory, std::uint64_t seed, std::uint32_t round) const {
  Split best;
  best.memory = memory;
  const std::int64_t size = starts_[memory + 1] - starts_[memory];
  const int ld = memories_.ld, d = memories_.d, most = std::max(2, std::min(kSplitRows, kSplitNumbers / ld));
  const int n = static_cast<int>(std::min<std::int64_t>(size, most));
  if (n < 2) return best;
  worker.split.fit(most, ld);
  std::vector<double> weights(n), square(n);
  double scale = 0.0, sampled = 0.0, loss = 0.0;
  for (int at = 0; at < n; at += kBlock) {
    const int count = std::min(kBlock, n - at);
    std::int64_t places[kBlock];
    for (int i = 0; i < count; ++i) places[i] = order_[static_cast<std::size_t>(starts_[memory] + size * (at + i) / n)];
    load_dense(worker, places, count, worker.split.block(at, count));
    for (int i = 0; i < count; ++i) {
      weights[at + i] = weight(places[i]);
      square[at + i] = square_distance(worker.split.row(at + i), centres_.row(memory), ld);
      sampled += weights[at + i];
      loss += weights[at + i] * square[at + i];
    }
  }
  for (std::int64_t i = starts_[memory]; i < starts_[memory + 1]; ++i) scale += weight(order_[i]);
  if (!(loss > 0.0)) return best;
  scale /= sampled;
  Random random(seed, Purpose::reseed, round, static_cast<std::uint32_t>(memory));
  for (int attempt = 0; attempt < kSplitTries; ++attempt) {
    double target = random.uniform() * loss;
    int pick = 0;
    for (int i = 0; i < n; ++i) {
      if (weights[i] * square[i] <= 0.0) continue;
      pick = i;
      if ((target -= weights[i] * square[i]) < 0.0) break;
    }
    std::vector<float> parts[2] = {{centres_.row(memory), centres_.row(memory) + ld},
                                   {worker.split.row(pick), worker.split.row(pick) + ld}};
    double left = loss;
    for (int r = 0; r < kSplitRounds; ++r) {
      std::vector<double> sums[2] = {std::vector<double>(d, 0.0), std::vector<double>(d, 0.0)};
      double sizes[2] = {};
      left = 0.0;
      for (int i = 0; i < n; ++i) {
        const float* x = worker.split.row(i);
        const double first = square_distance(x, parts[0].data(), ld), second = square_distance(x, parts[1].data(), ld);
        const int side = second < first;
        left += weights[i] * std::min(first, second);
        sizes[side] += weights[i];
        for (int j = 0; j < d; ++j) sums[side][j] += weights[i] * x[j];
      }
      if (!(sizes[0] > 0.0 && sizes[1] > 0.0) || r + 1 == kSplitRounds) break;
      for (int side = 0; side < 2; ++side) {
        double square = 0.0;
        for (int j = 0; j < d; ++j) square += sums[side][j] * sums[side][j];
        const double length = spherical_ && square > 0.0 ? std::sqrt(square) : sizes[side];
        for (int j = 0; j < d; ++j) parts[side][j] = static_cast<float>(sums[side][j] / length);
      }
    }
    const double gain = scale * (loss - left);
    if (gain <= best.gain) continue;
    best.gain = gain;
    best.first = parts[0];
    best.second = parts[1];
  }
  return best;
}

// What splitting each memory would gain, the most first.
std::vector<ExactSteps::Split> ExactSteps::find_splits(std::uint64_t seed, std::uint32_t round) {
  sort_by_memory();
  std::vector<Split> splits(memories_.k);
  team_.run(memories_.k, [&](int memory, int member) {
    splits[memory].memory = memory;
    if (!stopped()) splits[memory] = split(*workers_[member], memory, seed, round);
  });
  std::stable_sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) { return a.gain > b.gain; });
  return splits;
}

// Which memories could go where, the best first: a hardly needed one to the second half of a split.
std::vector<ExactSteps::Move> ExactSteps::find_moves(const std::vector<Split>& splits, bool only_empty) {
  const int k = memories_.k;
  const auto is_empty = [&](int memory) { return starts_[memory + 1] == starts_[memory]; };
  std::vector<int> needless;
  for (int m = 0; m < k; ++m)
    if (!only_empty || is_empty(m)) needless.push_back(m);
  std::stable_sort(needless.begin(), needless.end(),
                   [&](int a, int b) { return is_empty(a) != is_empty(b) ? is_empty(a) : removal_[a] < removal_[b]; });
  // Where a memory goes, its rows fall to a neighbour: that one stays for now.
  std::vector<char> stays(k, 0);
  std::vector<Move> moves;
  for (const Split& split : splits) {
    if (!(split.gain > 0.0) || static_cast<int>(moves.size()) >= std::max(1, k / 4)) break;
    if (stays[split.memory]) continue;
    const auto free = std::find_if(needless.begin(), needless.end(),
                                   [&](int memory) { return !stays[memory] && memory != split.memory; });
    if (free == needless.end()) break;
    const int memory = *free;
    if (!is_empty(memory) && split.gain < kMoveMargin * removal_[memory]) break;
    stays[split.memory] = stays[memory] = 1;
    if (!is_empty(memory)) stays[neighbour(memory)] = 1;
    moves.push_back({memory, &split});
  }
  return moves;
}

int ExactSteps::neighbour(int memory) {
  float closeness = 0.0f, second = 0.0f;
  std::int32_t nearest = 0;
  Worker& worker = *workers_[0];
  const float own = bias_[memory];
  bias_[memory] = -1e30f;
  memories_.panel.nearest_two(centres_.block(memory, 1), bias_.data(), factor_, worker.products,
                              {&closeness, &second, &nearest, nullptr});
  bias_[memory] = own;
  return nearest;
}

void ExactSteps::make_moves(const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    memories_.set_one(move.split->memory, move.split->first.data());
    memories_.set_one(move.memory, move.split->second.data());
    changed_[move.split->memory] = changed_[move.memory] = 1;
  }
  refresh();
  assign(true);
}

bool ExactSteps::relocate(std::uint64_t seed, std::uint32_t round) {
  if (memories_.k < 2 || stopped()) return false;
  assign(true);
  const double before = loss_;
  const std::vector<Split> splits = find_splits(seed, round);
  std::vector<Move> moves = find_moves(splits, false);
  Buffer saved;
  saved.copy_from(memories_.values);
  // Costs and gains are estimates, and moves meet: fewer are tried where many were too many.
  while (!moves.empty() && !stopped()) {
    make_moves(moves);
    settle(kMoveSteps, 0.0);
    if (loss_ < (1.0 - kMoveGain) * before) return true;
    memories_.values.copy_from(saved);
    std::fill(changed_.begin(), changed_.end(), 1);
    refresh();
    moves.resize(moves.size() / kFewerMoves);
  }
  if (!stopped()) assign(true);
  return false;
}

bool ExactSteps::fill_empty(std::uint64_t seed) {
  constexpr std::uint32_t kTries = 20, kRound = 1u << 20;
  for (std::uint32_t attempt = 0; empty() && attempt < kTries && !stopped(); ++attempt) {
    assign(true);
    const std::vector<Split> splits = find_splits(seed, kRound + attempt);
    const std::vector<Move> moves = find_moves(splits, true);
    if (moves.empty()) break;
    make_moves(moves);
  }
  return empty() == 0;
}

std::vector<float> ExactSteps::memories_by_row() const {
  std::vector<float> out(static_cast<std::size_t>(memories_.k) * memories_.d);
  memories_.get(out.data());
  return out;
}

std::vector<double> ExactSteps::sizes() const {
  std::vector<double> out(memories_.k, 0.0);
  for (std::size_t at = 0; at < labels_.size(); ++at) out[labels_[at]] += weight(static_cast<std::int64_t>(at));
  return out;
}

int ExactSteps::empty() const {
  std::vector<char> has(memories_.k, 0);
  for (const std::int32_t label : labels_) has[label] = 1;
  return static_cast<int>(std::count(has.begin(), has.end(), 0));
}

}  // namespace amclust
