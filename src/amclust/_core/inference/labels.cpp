#include "inference/labels.hpp"

#include "energies/registry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace amclust {
namespace {

constexpr float kUnknown = -1.0f, kNever = std::numeric_limits<float>::infinity();
// Rounding, in units of the squares that are compared.
constexpr double kSlack = 4e-6;
// Memberships whose logits are so far below the largest are lost in the rounding of float32.
constexpr float kLost = 24.0f;

double distance(const float* a, const std::vector<double>& b) {
  double square = 0.0;
  for (std::size_t j = 0; j < b.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

// The largest of n values, n a multiple of the lanes.
float largest(const float* values, int n) {
  float lanes[4] = {values[0], values[0], values[0], values[0]};
  for (int i = 0; i < n; i += 4)
    for (int l = 0; l < 4; ++l) lanes[l] = values[i + l] > lanes[l] ? values[i + l] : lanes[l];
  return std::max(std::max(lanes[0], lanes[1]), std::max(lanes[2], lanes[3]));
}

}  // namespace

Certificates::Certificates(const Memories& memories)
    : memories_(memories), bias_(memories.kp), rows_(memories.k, memories.ld), around_(memories.k), gaps_(memories.k) {
  const int k = memories.k, d = memories.d;
  with_energy(memories.metric, [&](auto energy) {
    factor_ = energy.closeness(1.0f, 0.0f);
    for (int m = 0; m < memories.kp; ++m) bias_[m] = m < k ? energy.closeness(0.0f, memories.square_norms[m]) : -1e30f;
  });
  kernels().to_rows(memories.values.data(), d, k, memories.kp, memories.ld, rows_.data());
  for (std::atomic<float>& gap : gaps_) gap.store(k > 1 ? kUnknown : 0.0f, std::memory_order_relaxed);
  std::vector<double> mean(d, 0.0);
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < d; ++j) mean[j] += rows_(m, j) / static_cast<double>(k);
  top_ = *std::max_element(memories.log_weights.data(), memories.log_weights.data() + k);
  for (int m = 0; m < k; ++m) {
    from_mean_.push_back(distance(rows_.row(m), mean));
    reach_ = std::max(reach_, from_mean_.back());
    total_weight_ += std::exp(static_cast<double>(memories.log_weights[m]) - top_);
  }
}

void Certificates::find(const std::int32_t* which, int n) {
  std::vector<int> unknown;
  for (int i = 0; i < n; ++i)
    if (gaps_[which[i]].load(std::memory_order_acquire) == kUnknown) unknown.push_back(which[i]);
  if (unknown.empty()) return;
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  const int count = static_cast<int>(unknown.size());
  Matrix rows(count, memories_.ld), products(count, memories_.kp);
  for (int i = 0; i < count; ++i) std::copy_n(rows_.row(unknown[i]), memories_.ld, rows.row(i));
  kernels().products(rows.data(), memories_.ld, count, memories_.d, memories_.values.data(), memories_.kp,
                     products.data());
  kernels().logits(products.data(), count, memories_.kp, bias_.data(), factor_, products.data());
  for (int i = 0; i < count; ++i) {
    const Surroundings around = look_around(unknown[i], products.row(i));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (gaps_[unknown[i]].load(std::memory_order_relaxed) != kUnknown) continue;
    around_[unknown[i]] = around;
    // Last: whoever sees the gap sees the rest, too.
    gaps_[unknown[i]].store(least_gap(around), std::memory_order_release);
  }
}

// From the closeness of all memories at this one.
Certificates::Surroundings Certificates::look_around(int memory, const float* closeness) const {
  const float square = memories_.square_norms[memory];
  const float own = with_energy(memories_.metric, [&](auto energy) { return energy.closeness(square, square); });
  const bool spherical = with_energy(memories_.metric, [](auto energy) { return energy.on_sphere; });
  Surroundings around;
  std::fill_n(around.neighbours, kNeighbours, Neighbour{-1, std::numeric_limits<double>::infinity()});
  for (int m = 0; m < memories_.k; ++m) {
    const double distance = static_cast<double>(own) - closeness[m];
    if (m == memory || !(distance < around.neighbours[kNeighbours - 1].distance)) continue;
    int at = kNeighbours - 1;
    for (; at > 0 && distance < around.neighbours[at - 1].distance; --at)
      around.neighbours[at] = around.neighbours[at - 1];
    around.neighbours[at] = {m, distance};
  }
  around.far = (spherical ? 0.5 : 1.0) * std::pow(from_mean_[memory] + reach_, 2);
  around.others =
      std::max(0.0, total_weight_ * std::exp(static_cast<double>(top_) - memories_.log_weights[memory]) - 1.0);
  around.slack = kSlack * (reach_ * reach_ + square);
  return around;
}

bool Certificates::certify(const NearestTwo& found, int row, Few& few) const {
  const float gap = gaps_[found.which[row]].load(std::memory_order_acquire);
  if (found.closeness[row] - found.second[row] >= gap) return true;
  gather(found, row, few);
  return certify(few, 0.5) || certify(few, 0.75);
}

Certificates::Few::Few(int ld)
    : memories(kernels().lanes),
      gaps(kernels().lanes),
      apart(kernels().lanes),
      kept(kernels().lanes),
      share(kernels().lanes),
      rows(kernels().lanes, ld),
      products(kernels().lanes, kernels().lanes) {}

void Certificates::gather(const NearestTwo& found, int row, Few& few) const {
  const int lanes = kernels().lanes, nearest = found.which[row];
  const float* first = found.by_lane + static_cast<std::ptrdiff_t>(row) * 2 * lanes;
  const std::int32_t* which = found.lane_which + static_cast<std::ptrdiff_t>(row) * lanes;
  const float closeness = found.closeness[row];
  // What is second in its lane is not known by name; so whatever is not closer than that need not be.
  float beyond = largest(first + lanes, lanes);
  const float least = std::max(beyond, closeness - (kLost + top_ - memories_.log_weights[nearest]) / memories_.beta);
  few.n = 1;
  few.memories[0] = nearest;
  for (int l = 0; l < lanes; ++l) {
    if (which[l] == nearest) continue;
    if (first[l] > least) {
      few.memories[few.n] = which[l];
      few.gaps[few.n++] = static_cast<double>(closeness) - first[l];
    } else {
      beyond = std::max(beyond, first[l]);
    }
  }
  few.outside = static_cast<double>(closeness) - beyond;
  if (few.n == 2) {  // the usual case, and mostly known
    for (const Neighbour& one : around_[nearest].neighbours)
      if (one.memory == few.memories[1]) {
        few.apart[1] = one.distance;
        return;
      }
  }
  if (few.n == 1) return;
  for (int i = 0; i < few.n; ++i) std::copy_n(rows_.row(few.memories[i]), memories_.ld, few.rows.row(i));
  kernels().dots(few.rows.data(), memories_.ld, few.n, few.rows.data(), few.n, lanes, few.products.data());
  for (int i = 1; i < few.n; ++i) few.apart[i] = between(few, 0, i);
}

double Certificates::between(const Few& few, int a, int b) const {
  const double squares = memories_.square_norms[few.memories[a]] + memories_.square_norms[few.memories[b]];
  return factor_ * (0.5 * squares - few.products(a, b));
}

// `held`: the part of distances at which gaps are cut.
bool Certificates::certify(Few& few, double held) const {
  const int nearest = few.memories[0];
  const Surroundings& around = around_[nearest];
  const double beta = memories_.beta;
  const auto first = few.memories.begin(), last = first + few.n;
  const auto* next = std::find_if(around.neighbours, around.neighbours + kNeighbours - 1,
                                  [&](const Neighbour& one) { return std::find(first, last, one.memory) == last; });
  const double kept = std::min(few.outside - around.slack, held * next->distance);
  if (!(kept > 0.0)) return false;
  const double others = around.others * std::exp(-beta * kept);
  double total = 1.0 + others, pulled = 0.0;
  for (int i = 1; i < few.n; ++i) {
    few.kept[i] = std::min(few.gaps[i] - around.slack, held * few.apart[i]);
    if (!(few.kept[i] > 0.0)) return false;
    const double weight = memories_.log_weights[few.memories[i]] - memories_.log_weights[nearest];
    few.share[i] = std::exp(weight - beta * few.kept[i]);
    total += few.share[i];
    pulled += few.share[i] * few.apart[i];
  }
  const double lost = others * around.far + around.slack;
  if (next->distance - pulled - lost < total * kept) return false;
  for (int i = 1; i < few.n; ++i) {
    double sum = lost + few.share[i] * few.apart[i];
    for (int j = 1; j < few.n; ++j)
      if (j != i) sum += few.share[j] * std::max(0.0, few.apart[j] - between(few, j, i));
    if (few.apart[i] - sum < total * few.kept[i]) return false;
  }
  return true;
}

float Certificates::least_gap(const Surroundings& around) const {
  const double slack = around.slack, beta = memories_.beta, far = around.far, others = around.others,
               near = around.neighbours[0].distance;
  if (!(near > slack)) return kNever;
  // What is left of a gap beyond itself is concave wherever it is positive: its top, then its lower root.
  const auto surplus = [&](double g) {
    const double rest = others * std::exp(-beta * g), q = rest / (1.0 + rest);
    return near - slack - q * (near + far) - g;
  };
  const double c = 1.0 / (beta * (near + far));
  if (!(others > 0.0)) return static_cast<float>(slack);
  if (c >= 0.25) return surplus(0.0) >= 0.0 ? static_cast<float>(slack) : kNever;
  const double q = 2.0 * c / (1.0 + std::sqrt(1.0 - 4.0 * c));
  double low = 0.0, high = std::max(0.0, (std::log(others) + std::log((1.0 - q) / q)) / beta);
  if (surplus(high) < 0.0) return kNever;
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    (surplus(middle) >= 0.0 ? high : low) = middle;
  }
  return static_cast<float>(high + slack);
}

Labeller::Labeller(Certificates& certificates)
    : certificates_(certificates),
      memories_(certificates.memories()),
      few_(memories_.ld),
      products_(kRows, memories_.kp),
      closeness_(kRows),
      second_(kRows),
      by_lane_(static_cast<std::size_t>(kRows) * 2 * kernels().lanes),
      nearest_(kRows),
      lane_which_(static_cast<std::size_t>(kRows) * kernels().lanes),
      found_{closeness_.data(), second_.data(), nearest_.data(), by_lane_.data(), lane_which_.data()} {}

void Labeller::label(const RowBlock& rows, const Densify& densify, std::int32_t* labels) {
  memories_.panel.nearest_two(rows, certificates_.closeness_bias(), certificates_.closeness_factor(), products_,
                              found_);
  certificates_.find(nearest_.data(), rows.n);
  uncertain_.clear();
  for (int i = 0; i < rows.n; ++i) {
    labels[i] = nearest_[i];
    if (!certificates_.certify(found_, i, few_)) uncertain_.push_back(i);
  }
  if (uncertain_.empty()) return;
  states_.fit(kRows, memories_.ld);
  if (rows.is_sparse())
    densify(uncertain_, states_);
  else
    for (std::size_t i = 0; i < uncertain_.size(); ++i)
      std::copy_n(rows.dense.row(uncertain_[i]), memories_.ld, states_.row(static_cast<int>(i)));
  carry(labels);
}

// Steps of the dynamics for the rows that are uncertain, as long as they are.
void Labeller::carry(std::int32_t* labels) {
  for (int t = 0; t < memories_.n_steps && !uncertain_.empty(); ++t) {
    const int n = static_cast<int>(uncertain_.size());
    if (t == 0) memories_.panel.products(states_.block(0, n), products_);
    step(n);
    memories_.panel.products(states_.block(0, n), products_);
    kernels().largest_two(products_.data(), n, memories_.kp, certificates_.closeness_bias(),
                          certificates_.closeness_factor(), found_);
    certificates_.find(nearest_.data(), n);
    int left = 0;
    for (int i = 0; i < n; ++i) {
      labels[uncertain_[i]] = nearest_[i];
      if (certificates_.certify(found_, i, few_)) continue;
      if (left < i) {
        std::copy_n(states_.row(i), memories_.ld, states_.row(left));
        std::copy_n(products_.row(i), memories_.kp, products_.row(left));
        uncertain_[left] = uncertain_[i];
      }
      ++left;
    }
    uncertain_.resize(left);
  }
}

// One step of n states, whose products with the memories are known.
void Labeller::step(int n) {
  const int kp = memories_.kp, ld = memories_.ld;
  with_energy(memories_.metric, [&](auto energy) {
    const float keep = energy.on_sphere ? 1.0f : 1.0f - memories_.step_size;
    kernels().logits(products_.data(), n, kp, memories_.bias.data(), energy.logit_factor(memories_.beta),
                     products_.data());
    for (int i = 0; i < n; ++i) {
      float* v = states_.row(i);
      for (int j = 0; j < ld; ++j) v[j] *= keep;
      pull(v, products_.row(i), largest(products_.row(i), kp));
      if (!energy.on_sphere) continue;
      double square = 0.0;
      for (int j = 0; j < ld; ++j) square += static_cast<double>(v[j]) * v[j];
      const float inverse = square > 0.0 ? static_cast<float>(1.0 / std::sqrt(square)) : 0.0f;
      for (int j = 0; j < ld; ++j) v[j] *= inverse;
    }
  });
}

// Adds the memories to a state, by their memberships; those that are lost in the rounding of float32 are passed over.
// `top` is the largest of the logits.
void Labeller::pull(float* state, const float* logits, float top) {
  constexpr int kChunk = 16;  // looked at together: most have nothing
  const int kp = memories_.kp, ld = memories_.ld;
  const float least = top - kLost;
  shares_.clear();
  float total = 0.0f;
  for (int first = 0; first < kp; first += kChunk) {
    const int last = std::min(kp, first + kChunk);
    int some = 0;
    for (int m = first; m < last; ++m) some |= logits[m] >= least;
    if (!some) continue;
    for (int m = first; m < last; ++m) {
      if (logits[m] < least) continue;
      shares_.push_back({m, std::exp(logits[m] - top)});
      total += shares_.back().value;
    }
  }
  for (const Share& share : shares_) {
    const float pull = memories_.step_size * (share.value / total);
    const float* memory = certificates_.memory_rows().row(share.memory);
    for (int j = 0; j < ld; ++j) state[j] += pull * memory[j];
  }
}

}  // namespace amclust
