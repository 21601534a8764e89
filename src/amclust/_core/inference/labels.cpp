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
// Logits so far below the largest, and an upper bound of their exponential.
constexpr double kDeep = 30.0, kNext = 1e-13;

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
    : memories_(memories), bias_(memories.kp), rows_(memories.k, memories.ld), gaps_(memories.k), near_(memories.k) {
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

void Certificates::find(const std::int32_t* which, int n, MatrixView<float> scratch) {
  std::vector<int> unknown;
  for (int i = 0; i < n; ++i)
    if (gap(which[i]) == kUnknown) unknown.push_back(which[i]);
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  const int count = static_cast<int>(unknown.size());
  if (!count) return;
  Matrix rows(count, memories_.ld);
  for (int i = 0; i < count; ++i) std::copy_n(rows_.row(unknown[i]), memories_.ld, rows.row(i));
  std::vector<float> closeness(count), second(count);
  std::vector<std::int32_t> nearest(count);
  memories_.panel.nearest_two(rows, bias_.data(), factor_, scratch,
                              {closeness.data(), second.data(), nearest.data(), nullptr});
  for (int i = 0; i < count; ++i) {
    const float square = memories_.square_norms[unknown[i]];
    const float own = with_energy(memories_.metric, [&](auto energy) { return energy.closeness(square, square); });
    const double near = nearest[i] == unknown[i] ? static_cast<double>(own) - second[i] : 0.0;
    near_[unknown[i]].store(static_cast<float>(near), std::memory_order_relaxed);
    // After `near`: whoever sees the gap sees that, too.
    gaps_[unknown[i]].store(least_gap(unknown[i], near), std::memory_order_release);
  }
}

double Certificates::others(int memory) const {
  const double own = memories_.log_weights[memory];
  return std::max(0.0, total_weight_ * std::exp(top_ - own) - 1.0);
}

double Certificates::far(int memory) const {
  const bool spherical = with_energy(memories_.metric, [](auto energy) { return energy.on_sphere; });
  return (spherical ? 0.5 : 1.0) * std::pow(from_mean_[memory] + reach_, 2);
}

double Certificates::slack(int memory) const { return kSlack * (reach_ * reach_ + memories_.square_norms[memory]); }

bool Certificates::certify(const NearestTwo& found, int row, const float* coordinates) const {
  const int memory = found.which[row];
  if (found.closeness[row] - found.second[row] >= gap(memory)) return true;
  if (!found.by_lane) return false;
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * 2 * kernels().lanes;
  return certify_crowd(found.by_lane + at, found.closeness[row], memory, coordinates);
}

bool Certificates::certify_crowd(const float* by_lane, float closeness, int memory, const float* coordinates) const {
  const int lanes = kernels().lanes, rest = memories_.kp / lanes - 1;
  const double near = near_[memory].load(std::memory_order_relaxed), room = slack(memory), far = this->far(memory);
  const double held = 0.75 * near, beta = memories_.beta;
  if (!(held > room)) return false;
  const bool spherical = with_energy(memories_.metric, [](auto energy) { return energy.on_sphere; });
  double norm = 0.0;
  for (int j = 0; j < memories_.d && coordinates; ++j) norm += static_cast<double>(coordinates[j]) * coordinates[j];
  // Distance of the row from a memory of this closeness; in the units of `near`, a square is half as much on the
  // sphere.
  const auto distance = [&](double value) {
    return std::sqrt(std::max(0.0, spherical ? 0.5 * (1.0 + norm) - value : norm - value) + room);
  };
  const double own = coordinates ? distance(closeness) : 0.0;
  const double weight = std::exp(static_cast<double>(top_) - memories_.log_weights[memory]);
  double sum = 0.0, pulled = 0.0;
  bool self = false;
  const auto add = [&](float value, double count, bool known) {
    const double gap = static_cast<double>(closeness) - value;
    if (!self && gap <= 0.0) {  // the memory itself is the first of them
      self = true;
      return;
    }
    // Below rounding there is no need to know how much.
    const double depth = std::min(beta * std::min(std::max(0.0, gap - room), held), kDeep);
    const double share = count * weight * (depth < kDeep ? std::exp(-depth) : kNext);
    const double both = own + distance(value);
    sum += share;
    pulled += share * (known && coordinates ? std::min(far, both * both) : far);
  };
  for (int l = 0; l < lanes; ++l) {
    add(by_lane[l], 1.0, true);
    if (rest) add(by_lane[lanes + l], rest, false);
  }
  return (near - room - pulled) / (1.0 + sum) >= held;
}

float Certificates::least_gap(int memory, double near) const {
  const double slack = this->slack(memory), beta = memories_.beta, far = this->far(memory),
               others = this->others(memory);
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
      products_(kRows, memories_.kp),
      scratch_(memories_.shape.by_features || memories_.shape.for_sparse ? kRows : 0, memories_.kp),
      closeness_(kRows),
      second_(kRows),
      by_lane_(static_cast<std::size_t>(kRows) * 2 * kernels().lanes),
      nearest_(kRows),
      found_{closeness_.data(), second_.data(), nearest_.data(), nullptr} {
  if (memories_.k > 2 * kernels().lanes) found_.by_lane = by_lane_.data();
}

void Labeller::label(const RowBlock& rows, const Densify& densify, std::int32_t* labels) {
  memories_.panel.nearest_two(rows, certificates_.closeness_bias(), certificates_.closeness_factor(), products_,
                              found_);
  certificates_.find(nearest_.data(), rows.n, products_);
  uncertain_.clear();
  for (int i = 0; i < rows.n; ++i) {
    labels[i] = nearest_[i];
    if (!certificates_.certify(found_, i, rows.is_sparse() ? nullptr : rows.dense.row(i))) uncertain_.push_back(i);
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
    certificates_.find(nearest_.data(), n, scratch_);
    int left = 0;
    for (int i = 0; i < n; ++i) {
      labels[uncertain_[i]] = nearest_[i];
      if (certificates_.certify(found_, i, states_.row(i))) continue;
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
  constexpr float kLost = 24.0f;
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
