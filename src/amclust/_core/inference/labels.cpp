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
// With more memories their products with each other are not kept.
constexpr int kMaxKept = 2048;
// Beyond this, an exponential is too large for one thing less to matter, and soon for double.
constexpr double kLargeExponent = 40.0;
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
  if (memories.shape.for_sparse && k <= kMaxKept && memories.kp <= memories.ld) products_.resize(k, memories.kp);
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
  Buffer closeness(memories_.kp);
  for (int i = 0; i < count; ++i) {
    kernels().logits(products.row(i), 1, memories_.kp, bias_.data(), factor_, closeness.data());
    const Surroundings around = look_around(unknown[i], closeness.data());
    const std::lock_guard<std::mutex> lock(mutex_);
    if (gaps_[unknown[i]].load(std::memory_order_relaxed) != kUnknown) continue;
    around_[unknown[i]] = around;
    if (keeps_products()) std::copy_n(products.row(i), memories_.kp, products_.row(unknown[i]));
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
  // The weight of a memory may be next to nothing beside the others.
  const double below = static_cast<double>(top_) - memories_.log_weights[memory];
  around.log_others = below < kLargeExponent ? std::log(std::max(0.0, total_weight_ * std::exp(below) - 1.0))
                                             : std::log(total_weight_) + below;
  around.slack = kSlack * (reach_ * reach_ + square);
  return around;
}

bool Certificates::certify(const NearestTwo& found, int row, Few& few) {
  const float gap = gaps_[found.which[row]].load(std::memory_order_acquire);
  if (found.closeness[row] - found.second[row] >= gap) return true;
  gather(found, row, few);
  return certify(few, 0.5) || certify(few, 0.75);
}

Certificates::Few::Few(const Certificates& certificates)
    : memories(kernels().lanes),
      gaps(kernels().lanes),
      apart(kernels().lanes),
      kept(kernels().lanes),
      share(kernels().lanes),
      products(kernels().lanes, kernels().lanes) {
  if (!certificates.keeps_products()) rows.resize(kernels().lanes, certificates.memories_.ld);
}

void Certificates::gather(const NearestTwo& found, int row, Few& few) {
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
  if (keeps_products()) {
    find(few.memories.data(), few.n);
    for (int i = 0; i < few.n; ++i)
      for (int j = 0; j < few.n; ++j) few.products(i, j) = products_(few.memories[i], few.memories[j]);
  } else {
    for (int i = 0; i < few.n; ++i) std::copy_n(rows_.row(few.memories[i]), memories_.ld, few.rows.row(i));
    kernels().dots(few.rows.data(), memories_.ld, few.n, few.rows.data(), few.n, lanes, few.products.data());
  }
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
  const double others = std::exp(around.log_others - beta * kept);
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
  const double slack = around.slack, beta = memories_.beta, far = around.far, others = around.log_others,
               near = around.neighbours[0].distance;
  if (!(near > slack)) return kNever;
  // What is left of a gap beyond itself is concave wherever it is positive: its top, then its lower root.
  const auto surplus = [&](double g) {
    const double q = 1.0 / (1.0 + std::exp(beta * g - others));
    return near - slack - q * (near + far) - g;
  };
  const double c = 1.0 / (beta * (near + far));
  if (others == -std::numeric_limits<double>::infinity()) return static_cast<float>(slack);
  if (c >= 0.25) return surplus(0.0) >= 0.0 ? static_cast<float>(slack) : kNever;
  const double q = 2.0 * c / (1.0 + std::sqrt(1.0 - 4.0 * c));
  double low = 0.0, high = std::max(0.0, (others + std::log((1.0 - q) / q)) / beta);
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
      few_(certificates),
      products_(kRows, memories_.kp),
      logits_(kRows, memories_.kp),
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
  start(rows, densify);
  carry(labels);
}

// The states of the rows that are uncertain, and their products with the memories.
void Labeller::start(const RowBlock& rows, const Densify& densify) {
  const int n = static_cast<int>(uncertain_.size());
  if (certificates_.keeps_products()) {
    squares_.assign(n, 0.0);
    for (int i = 0; i < n; ++i) {
      const int row = uncertain_[i];
      if (i < row) std::copy_n(products_.row(row), memories_.kp, products_.row(i));
      for (std::int32_t e = rows.starts[row]; e < rows.starts[row + 1]; ++e)
        squares_[i] += static_cast<double>(rows.values[e]) * rows.values[e];
    }
    return;
  }
  states_.fit(kRows, memories_.ld);
  if (rows.is_sparse())
    densify(uncertain_, states_);
  else
    for (int i = 0; i < n; ++i) std::copy_n(rows.dense.row(uncertain_[i]), memories_.ld, states_.row(i));
  memories_.panel.products(states_.block(0, n), products_);
}

// Steps of the dynamics for the rows that are uncertain, as long as they are.
void Labeller::carry(std::int32_t* labels) {
  const bool has_states = !certificates_.keeps_products();
  for (int t = 0; t < memories_.n_steps && !uncertain_.empty(); ++t) {
    const int n = static_cast<int>(uncertain_.size());
    step(n);
    kernels().largest_two(products_.data(), n, memories_.kp, certificates_.closeness_bias(),
                          certificates_.closeness_factor(), found_);
    certificates_.find(nearest_.data(), n);
    int left = 0;
    for (int i = 0; i < n; ++i) {
      labels[uncertain_[i]] = nearest_[i];
      if (certificates_.certify(found_, i, few_)) continue;
      if (left < i) {
        if (has_states)
          std::copy_n(states_.row(i), memories_.ld, states_.row(left));
        else
          squares_[left] = squares_[i];
        std::copy_n(products_.row(i), memories_.kp, products_.row(left));
        uncertain_[left] = uncertain_[i];
      }
      ++left;
    }
    uncertain_.resize(left);
  }
}

// One step of n states, whose products with the memories are known, before and after.
void Labeller::step(int n) {
  const bool has_states = !certificates_.keeps_products();
  with_energy(memories_.metric, [&](auto energy) {
    const float keep = energy.on_sphere ? 1.0f : 1.0f - memories_.step_size;
    kernels().logits(products_.data(), n, memories_.kp, memories_.bias.data(), energy.logit_factor(memories_.beta),
                     logits_.data());
    if (!has_states) find_shared(n);
    for (int i = 0; i < n; ++i) {
      share_out(logits_.row(i));
      has_states ? move_state(i, keep, energy.on_sphere) : move_products(i, keep, energy.on_sphere);
    }
  });
  if (has_states) memories_.panel.products(states_.block(0, n), products_);
}

// How much of each memory a step adds to a state; those that are lost in the rounding of float32 are passed over.
void Labeller::share_out(const float* logits) {
  constexpr int kChunk = 16;  // looked at together: most have nothing
  const int kp = memories_.kp;
  const float top = largest(logits, kp), least = top - kLost;
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
  for (Share& share : shares_) share.value = memories_.step_size * (share.value / total);
}

// The products of all memories that a step of n states adds, together.
void Labeller::find_shared(int n) {
  shared_.clear();
  for (int i = 0; i < n; ++i) {
    share_out(logits_.row(i));
    for (const Share& share : shares_) shared_.push_back(share.memory);
  }
  certificates_.find(shared_.data(), static_cast<int>(shared_.size()));
}

void Labeller::move_state(int row, float keep, bool on_sphere) {
  const int ld = memories_.ld;
  float* v = states_.row(row);
  for (int j = 0; j < ld; ++j) v[j] *= keep;
  for (const Share& share : shares_) {
    const float* memory = certificates_.memory_rows().row(share.memory);
    for (int j = 0; j < ld; ++j) v[j] += share.value * memory[j];
  }
  if (!on_sphere) return;
  double square = 0.0;
  for (int j = 0; j < ld; ++j) square += static_cast<double>(v[j]) * v[j];
  const float inverse = square > 0.0 ? static_cast<float>(1.0 / std::sqrt(square)) : 0.0f;
  for (int j = 0; j < ld; ++j) v[j] *= inverse;
}

// The same without the state itself: it is a sum of the row and of memories, whose products are known.
void Labeller::move_products(int row, float keep, bool on_sphere) {
  float* products = products_.row(row);
  double with_state = 0.0, with_each_other = 0.0;
  for (const Share& share : shares_) with_state += static_cast<double>(share.value) * products[share.memory];
  for (int m = 0; m < memories_.kp; ++m) products[m] *= keep;
  for (const Share& share : shares_) {
    const float* among = certificates_.products_of(share.memory);
    for (int m = 0; m < memories_.kp; ++m) products[m] += share.value * among[m];
    for (const Share& other : shares_)
      with_each_other += static_cast<double>(share.value) * other.value * among[other.memory];
  }
  if (!on_sphere) return;
  const double square = squares_[row] * keep * keep + 2.0 * keep * with_state + with_each_other;
  const float inverse = square > 0.0 ? static_cast<float>(1.0 / std::sqrt(square)) : 0.0f;
  for (int m = 0; m < memories_.kp; ++m) products[m] *= inverse;
  squares_[row] = square > 0.0 ? 1.0 : 0.0;
}

}  // namespace amclust
