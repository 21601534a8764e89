#include "training/exact_steps.hpp"

#include "energies/registry.hpp"
#include "random.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace amclust {
namespace {

constexpr int kBlock = 64;
// Rows wait for a search until a block is full, and then those of the last block too.
constexpr int kWaiting = 2 * kBlock;
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
// Sums follow the rows that change memory where these are at most this part of all rows.
constexpr std::int64_t kChangedPart = 4;
// They are made anew where so little is left of what was in them that rounding would show.
constexpr double kLeast = 1e-6;
constexpr float kFar = std::numeric_limits<float>::infinity();
// Bias of memories that are nobody's nearest.
constexpr float kNobody = -1e30f;

inline double square_distance(const float* a, const float* b, int n) {
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
  Matrix rows, products;  // [kWaiting][ld], [kWaiting][kp]
  Buffer norms, closeness, second;
  std::vector<double> own;  // squared distance of each loaded row from the memory it had
  std::vector<std::int32_t> nearest;
  SparseEntries entries;
  MissingMarks missing;
  Filler filler;
  std::vector<std::int64_t> places;  // training rows that wait for a search
  int waiting = 0;
  std::vector<std::int64_t> which;
  std::vector<double> mean;
  Matrix split;  // [kSplitRows][ld]

  Worker(const Dataset& data, const Memories& memories)
      : norms(kWaiting),
        closeness(kWaiting),
        second(kWaiting),
        own(kWaiting),
        nearest(kWaiting),
        places(kWaiting),
        which(kWaiting),
        mean(memories.d) {
    if (!memories.shape.for_sparse) rows.resize(kWaiting, memories.ld);
    products.resize(kWaiting, memories.shape.for_sparse || memories.shape.by_features ? memories.kp : 0);
    if (data.has_missing) missing.fit(kWaiting, memories.d);
  }
};

// Of one part of the rows.
struct ExactSteps::Part {
  double loss = 0.0;                    // of the rows that were searched, less what was known of it
  std::vector<double> losses, removal;  // by memory, where all rows are searched
  std::vector<Change> changes;
};
struct ExactSteps::Change {
  std::int32_t at, from;
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

// Rows sorted by memory: counted first, then added.
struct ExactSteps::RowsByMemory {
  std::vector<std::int64_t> starts;  // those of memory m: order[starts[m]] ...
  std::vector<std::int32_t> order;

  explicit RowsByMemory(int k) : starts(static_cast<std::size_t>(k) + 1, 0) {}
  void count(int memory) { ++starts[static_cast<std::size_t>(memory) + 1]; }
  void reserve() {
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    next_.assign(starts.begin(), starts.end() - 1);
    order.resize(static_cast<std::size_t>(starts.back()));
  }
  void add(int memory, std::int32_t row) { order[static_cast<std::size_t>(next_[memory]++)] = row; }

 private:
  std::vector<std::int64_t> next_;
};

struct ExactSteps::Gain {
  double moved = 0.0;  // weight * squared distance of a move
  double loss = 0.0;   // by how much the loss changes
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
      upper_(lower_.size()),
      travelled_(memories_.k, 0.0),
      sums_(static_cast<std::size_t>(memories_.k) * memories_.d),
      sizes_(memories_.k, 0.0),
      losses_(memories_.k, 0.0),
      removal_(memories_.k, 0.0),
      half_gap_(memories_.k, 0.0f),
      jumped_(memories_.k, 0),
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
      bias_[m] = m < memories_.k ? energy.closeness(0.0f, memories_.square_norms[m]) : kNobody;
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

// Of the n loaded rows, those that stay with their memory, as its distance shows, leave; returns how many are left.
int ExactSteps::keep_sure(Worker& worker, int n, Part& part) {
  int unsure = 0;
  for (int i = 0; i < n; ++i) {
    const std::int64_t at = worker.places[i];
    const int own = labels_[at];
    const double square = square_distance(worker.rows.row(i), centres_.row(own), memories_.d);
    const double away = std::sqrt(square) * (1.0 + kSlack);
    if (away < std::max(static_cast<double>(half_gap_[own]), lower_[at] - drift_ * (1.0 + kRounding))) {
      upper_[at] = static_cast<float>(away - travelled_[own]);
      if (jumped_[own]) part.loss += weight(at) * square;
      continue;
    }
    if (i > unsure) std::copy_n(worker.rows.row(i), memories_.ld, worker.rows.row(unsure));
    worker.own[unsure] = jumped_[own] ? 0.0 : square;
    worker.places[unsure++] = at;
  }
  return unsure;
}

// Searches the nearest two memories of the waiting rows.
void ExactSteps::search(Worker& worker, bool search_all, Part& part) {
  int n = std::exchange(worker.waiting, 0);
  if (!n) return;
  RowBlock rows = load(worker, worker.places.data(), n);
  if (!search_all) {
    n = keep_sure(worker, n, part);
    if (!n) return;
    rows = worker.rows.block(0, n);
  }
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
        by_entries_ ? square(worker.closeness[i]) : square_distance(rows.dense.row(i), centres_.row(now), memories_.d);
    if (labels_[at] != now) {
      if (summed_) part.changes.push_back({static_cast<std::int32_t>(at), labels_[at]});
      labels_[at] = now;
    }
    if (!lower_.empty()) {
      const double least = std::max(0.0, next - kRounding * (norm + memories_.square_norms[now]));
      lower_[at] = static_cast<float>(std::sqrt(least) * (1.0 - kSlack) + drift_);
      upper_[at] = static_cast<float>(std::sqrt(own) * (1.0 + kSlack) - travelled_[now]);
    }
    part.loss += weight(at) * (search_all ? own : own - worker.own[i]);
    if (!search_all) continue;
    part.losses[now] += weight(at) * own;
    part.removal[now] += weight(at) * std::max(0.0, next - own);
  }
}

// Every row to its nearest memory; `search_all`: whatever the bounds say.
void ExactSteps::assign(bool search_all) {
  search_all = search_all || lower_.empty();
  if (search_all) {  // all bounds and losses are found anew
    drift_ = loss_ = 0.0;
    std::fill(travelled_.begin(), travelled_.end(), 0.0);
    std::fill(losses_.begin(), losses_.end(), 0.0);
    std::fill(removal_.begin(), removal_.end(), 0.0);
  }
  // How far memories have come, and what rounding may have added to bounds meanwhile.
  std::vector<float> reach(memories_.k);
  for (int m = 0; m < memories_.k; ++m)
    reach[m] = static_cast<float>(travelled_[m] + kRounding * (travelled_[m] + drift_));
  const auto drift = static_cast<float>(drift_);
  const auto is_sure = [&](std::int64_t at) {
    const int own = labels_[at];
    return upper_[at] + reach[own] < std::max(half_gap_[own], lower_[at] - drift);
  };
  std::vector<Part> parts(kParts);
  team_.run(kParts, [&](int index, int member) {
    Part& part = parts[index];
    Worker& worker = *workers_[member];
    worker.waiting = 0;
    part.losses.assign(search_all ? memories_.k : 0, 0.0);
    part.removal.assign(search_all ? memories_.k : 0, 0.0);
    const std::int64_t last = rows_.size * (index + 1) / kParts;
    for (std::int64_t first = rows_.size * index / kParts; first < last && !stopped(); first += kBlock) {
      for (std::int64_t at = first; at < std::min(first + kBlock, last); ++at) {
        worker.places[worker.waiting] = at;
        worker.waiting += search_all || !is_sure(at);
      }
      if (worker.waiting >= kBlock) search(worker, search_all, part);
    }
    search(worker, search_all, part);
  });
  for (const Part& part : parts) {
    loss_ += part.loss;
    for (std::size_t m = 0; m < part.losses.size(); ++m) {
      losses_[m] += part.losses[m];
      removal_[m] += part.removal[m];
    }
  }
  loss_ = std::max(0.0, loss_);
  measured_ = search_all;
  std::fill(jumped_.begin(), jumped_.end(), 0);
  update_sums(parts);
}

// Sums follow the rows that changed their memory, where these are few and no value of a row hangs on the memories;
// otherwise the next average makes them anew.
void ExactSteps::update_sums(const std::vector<Part>& parts) {
  std::int64_t changes = 0;
  for (const Part& part : parts) changes += static_cast<std::int64_t>(part.changes.size());
  summed_ = summed_ && !data_.has_missing && kChangedPart * changes <= rows_.size;
  if (!summed_) std::fill(changed_.begin(), changed_.end(), 1);
  if (!summed_ || !changes) return;
  RowsByMemory rows(memories_.k);
  for (const Part& part : parts)
    for (const Change& change : part.changes) {
      rows.count(change.from);
      rows.count(labels_[change.at]);
      changed_[change.from] = changed_[labels_[change.at]] = 1;
    }
  rows.reserve();
  for (const Part& part : parts)
    for (const Change& change : part.changes) {
      rows.add(change.from, ~change.at);
      rows.add(labels_[change.at], change.at);
    }
  summed_ = add_rows(rows);
  if (!summed_) std::fill(changed_.begin(), changed_.end(), 1);
}

void ExactSteps::sum_all() {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(sizes_.begin(), sizes_.end(), 0.0);
  RowsByMemory rows(memories_.k);
  for (const std::int32_t label : labels_) rows.count(label);
  rows.reserve();
  for (std::size_t at = 0; at < labels_.size(); ++at) rows.add(labels_[at], static_cast<std::int32_t>(at));
  summed_ = add_rows(rows);
}

// Adds rows to the sums of their memories, and takes those away that are given as ~row; false where rounding may be
// much of what is left.
bool ExactSteps::add_rows(const RowsByMemory& rows) {
  std::vector<char> lost(memories_.k, 0);
  team_.run(memories_.k, [&](int memory, int member) {
    if (stopped()) return;
    double gone = 0.0;
    std::int64_t places[kBlock];
    for (std::int64_t first = rows.starts[memory]; first < rows.starts[memory + 1]; first += kBlock) {
      const int n = static_cast<int>(std::min<std::int64_t>(kBlock, rows.starts[memory + 1] - first));
      const std::int32_t* signed_rows = rows.order.data() + first;
      for (int i = 0; i < n; ++i) places[i] = signed_rows[i] < 0 ? ~signed_rows[i] : signed_rows[i];
      const RowBlock block = load(*workers_[member], places, n);
      double* sum = sums_.data() + static_cast<std::ptrdiff_t>(memory) * memories_.d;
      for (int i = 0; i < n; ++i) {
        const double w = signed_rows[i] < 0 ? -static_cast<double>(weight(places[i])) : weight(places[i]);
        sizes_[memory] += w;
        gone -= std::min(w, 0.0);
        if (block.is_sparse()) {
          for (std::int32_t e = block.starts[i]; e < block.starts[i + 1]; ++e)
            sum[block.columns[e]] += w * block.values[e];
          continue;
        }
        const float* x = block.dense.row(i);
        for (int j = 0; j < memories_.d; ++j) sum[j] += w * x[j];
      }
    }
    lost[memory] = sizes_[memory] < kLeast * gone;
  });
  return std::find(lost.begin(), lost.end(), 1) == lost.end();
}

// The mean of a memory's rows takes its place.
ExactSteps::Gain ExactSteps::average_one(Worker& worker, int memory) {
  const int d = memories_.d;
  const double total = sizes_[memory], *sum = sums_.data() + static_cast<std::ptrdiff_t>(memory) * d;
  if (!(total > 0.0)) return {};
  const float* origin = by_entries_ ? data_.origin() : nullptr;
  double square = 0.0;
  for (int j = 0; j < d; ++j) {
    worker.mean[j] = sum[j] / total + (origin ? origin[j] : 0.0);
    square += worker.mean[j] * worker.mean[j];
  }
  const double unit = spherical_ ? (square > 0.0 ? 1.0 / std::sqrt(square) : 0.0) : 1.0;
  if (!(unit > 0.0)) return {};
  const MatrixView<float> to = memories_.coordinates();
  double moved = 0.0, loss = 0.0;
  for (int j = 0; j < d; ++j) {
    const double mean = worker.mean[j], before = centres_(memory, j), value = mean * unit;
    to(j, memory) = static_cast<float>(value);
    moved += (value - before) * (value - before);
    loss += (value - before) * (value + before - 2.0 * mean);
  }
  return {total * moved, total * loss};
}

// Every memory whose rows changed to their mean; returns by how much the loss falls.
double ExactSteps::average() {
  if (!summed_) sum_all();
  const Matrix before = centres();
  std::vector<Gain> gains(memories_.k);
  team_.run(memories_.k, [&](int memory, int member) {
    if (changed_[memory] && !stopped()) gains[memory] = average_one(*workers_[member], memory);
  });
  refresh();
  std::fill(changed_.begin(), changed_.end(), 0);
  move_bounds(before);
  double moved = 0.0;
  for (const Gain& gain : gains) {
    moved += gain.moved;
    loss_ += gain.loss;
  }
  return moved;
}

Matrix ExactSteps::centres() const {
  Matrix out(memories_.k, memories_.ld);
  std::copy_n(centres_.data(), static_cast<std::size_t>(memories_.k) * memories_.ld, out.data());
  return out;
}

// Bounds follow the memories: most have moved a little, and those that have jumped may be anywhere.
void ExactSteps::move_bounds(const Matrix& before) {
  if (lower_.empty()) return;
  double farthest = 0.0;
  for (int m = 0; m < memories_.k; ++m) {
    if (jumped_[m]) continue;
    const double moved = std::sqrt(square_distance(before.row(m), centres_.row(m), memories_.ld)) * (1.0 + kSlack);
    travelled_[m] += moved;
    farthest = std::max(farthest, moved);
  }
  drift_ += farthest;
  // How far the nearest other memory is, where that costs little beside the rows.
  std::fill(half_gap_.begin(), half_gap_.end(), 0.0f);
  if (memories_.k > 1 && std::int64_t{8} * memories_.k <= rows_.size) {
    half_gap_ = gaps(bias_.data(), true);
    for (float& gap : half_gap_) gap *= 0.5f;
  }
  if (std::find(jumped_.begin(), jumped_.end(), 1) == jumped_.end()) return;
  Buffer bias;
  bias.copy_from(bias_);
  for (int m = 0; m < memories_.k; ++m)
    if (!jumped_[m]) bias[m] = kNobody;
  const std::vector<float> to_jumped = gaps(bias.data(), false);
  team_.run(kParts, [&](int part, int) {
    for (std::int64_t at = rows_.size * part / kParts; at < rows_.size * (part + 1) / kParts; ++at) {
      const int own = labels_[at];
      const double away = to_jumped[own] - (upper_[at] + travelled_[own] + kRounding * (travelled_[own] + drift_));
      lower_[at] = jumped_[own] ? 0.0f : std::min(lower_[at], static_cast<float>(away + drift_));
      if (jumped_[own]) upper_[at] = kFar;
    }
  });
}

// At least how far the nearest memory is from each; `others`: the nearest but itself.
std::vector<float> ExactSteps::gaps(const float* bias, bool others) {
  std::vector<float> out(memories_.k, 0.0f);
  const int blocks = (memories_.k + kBlock - 1) / kBlock;
  team_.run(blocks, [&](int block, int member) {
    Worker& worker = *workers_[member];
    const int first = block * kBlock, n = std::min(kBlock, memories_.k - first);
    memories_.panel.nearest_two(centres_.block(first, n), bias, factor_, worker.products,
                                {worker.closeness.data(), worker.second.data(), worker.nearest.data(), nullptr});
    for (int i = 0; i < n; ++i) {
      if (others && worker.nearest[i] != first + i) continue;
      const float closeness = others ? worker.second[i] : worker.closeness[i];
      const double own = memories_.square_norms[first + i], other = memories_.square_norms[worker.nearest[i]];
      const double square = (spherical_ ? 2.0 - 2.0 * closeness : own - closeness) - kRounding * (own + other);
      if (square > 0.0) out[first + i] = static_cast<float>(std::sqrt(square) * (1.0 - kSlack));
    }
  });
  return out;
}

bool ExactSteps::step(double tolerance) {
  const double gained = average();
  assign(false);
  return is_little(gained, tolerance);
}

// Where memories explain but a small part of the scatter, as among the words of texts, that part is what counts.
bool ExactSteps::is_little(double gained, double tolerance) {
  return gained <= tolerance * loss_ && gained <= tolerance * explained();
}

// By how much the loss is below that of a single memory.
double ExactSteps::explained() {
  if (!summed_) sum_all();
  const int d = memories_.d;
  std::vector<double> all(d, 0.0);
  double parts = 0.0, whole = 0.0;
  for (int m = 0; m < memories_.k; ++m) {
    if (!(sizes_[m] > 0.0)) continue;
    const double* sum = sums_.data() + static_cast<std::ptrdiff_t>(m) * d;
    double square = 0.0;
    for (int j = 0; j < d; ++j) {
      square += sum[j] * sum[j];
      all[j] += sum[j];
    }
    parts += spherical_ ? 2.0 * std::sqrt(square) : square / sizes_[m];
  }
  for (const double sum : all) whole += sum * sum;
  return std::max(0.0, parts - (spherical_ ? 2.0 * std::sqrt(whole) : whole / total_weight_));
}

double ExactSteps::measure_loss() {
  if (!measured_ && !stopped()) assign(true);
  return loss_;
}

void ExactSteps::settle(int steps, double tolerance) {
  for (int i = 0; i < steps && !stopped(); ++i)
    if (step(tolerance)) break;
}

// At most so many rows of a memory decide on its split.
int ExactSteps::split_rows() const { return std::max(2, std::min(kSplitRows, kSplitNumbers / memories_.ld)); }

ExactSteps::Split ExactSteps::split(Worker& worker, int memory, const std::int32_t* rows, int n, double size,
                                    std::uint64_t seed, std::uint32_t round) const {
  Split best;
  best.memory = memory;
  if (n < 2) return best;
  const int ld = memories_.ld, d = memories_.d;
  worker.split.fit(split_rows(), ld);
  std::vector<double> weights(n), square(n);
  double sampled = 0.0, loss = 0.0;
  for (int at = 0; at < n; at += kBlock) {
    const int count = std::min(kBlock, n - at);
    std::int64_t places[kBlock];
    std::copy_n(rows + at, count, places);
    load_dense(worker, places, count, worker.split.block(at, count));
    for (int i = 0; i < count; ++i) {
      weights[at + i] = weight(places[i]);
      square[at + i] = square_distance(worker.split.row(at + i), centres_.row(memory), ld);
      sampled += weights[at + i];
      loss += weights[at + i] * square[at + i];
    }
  }
  if (!(loss > 0.0)) return best;
  const double scale = size / sampled;
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
  // Of each memory, at most so many rows at equal steps.
  const std::vector<std::int64_t> all = counts();
  const std::int64_t most = split_rows();
  RowsByMemory some(memories_.k);
  for (int m = 0; m < memories_.k; ++m) some.starts[m + 1] = std::min(all[m], most);
  some.reserve();
  std::vector<std::int64_t> seen(memories_.k, 0), taken(memories_.k, 0);
  for (std::size_t at = 0; at < labels_.size(); ++at) {
    const int m = labels_[at];
    if (seen[m]++ != all[m] * taken[m] / std::min(all[m], most)) continue;
    ++taken[m];
    some.add(m, static_cast<std::int32_t>(at));
  }
  const std::vector<double> size = sizes();
  std::vector<Split> splits(memories_.k);
  team_.run(memories_.k, [&](int memory, int member) {
    splits[memory].memory = memory;
    const std::int64_t first = some.starts[memory];
    if (!stopped())
      splits[memory] = split(*workers_[member], memory, some.order.data() + first,
                             static_cast<int>(some.starts[memory + 1] - first), size[memory], seed, round);
  });
  std::stable_sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) { return a.gain > b.gain; });
  return splits;
}

// Which memories could go where, the best first: a hardly needed one to the second half of a split.
std::vector<ExactSteps::Move> ExactSteps::find_moves(const std::vector<Split>& splits, bool only_empty) {
  const int k = memories_.k;
  const std::vector<std::int64_t> count = counts();
  const auto is_empty = [&](int memory) { return count[memory] == 0; };
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
  bias_[memory] = kNobody;
  memories_.panel.nearest_two(centres_.block(memory, 1), bias_.data(), factor_, worker.products,
                              {&closeness, &second, &nearest, nullptr});
  bias_[memory] = own;
  return nearest;
}

// Memories have other values, those of the moves far from before: every row goes to its nearest.
void ExactSteps::jump(const std::vector<Move>& moves) {
  const Matrix before = centres();
  for (const Move& move : moves) jumped_[move.split->memory] = jumped_[move.memory] = 1;
  std::fill(changed_.begin(), changed_.end(), 1);
  refresh();
  move_bounds(before);
  // What the rows of those that jump lose is found anew.
  for (int m = 0; m < memories_.k; ++m)
    if (jumped_[m]) loss_ -= losses_[m];
  assign(false);
}

// Needs the losses by memory of a search of all rows, the memories being where they were then.
void ExactSteps::make_moves(const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    memories_.set_one(move.split->memory, move.split->first.data());
    memories_.set_one(move.memory, move.split->second.data());
  }
  jump(moves);
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
    if (!is_little(before - loss_, kMoveGain)) return true;
    memories_.values.copy_from(saved);
    jump(moves);
    loss_ = before;
    measured_ = true;
    moves.resize(moves.size() / kFewerMoves);
  }
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

std::vector<std::int64_t> ExactSteps::counts() const {
  std::vector<std::int64_t> out(memories_.k, 0);
  for (const std::int32_t label : labels_) ++out[label];
  return out;
}

int ExactSteps::empty() const {
  const std::vector<std::int64_t> count = counts();
  return static_cast<int>(std::count(count.begin(), count.end(), 0));
}

}  // namespace amclust
