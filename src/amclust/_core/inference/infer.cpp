#include "inference/infer.hpp"

#include "energies/registry.hpp"
#include "inference/filling.hpp"
#include "objectives/chunked.hpp"

#include <algorithm>
#include <cmath>

namespace amclust {
namespace {

constexpr int kRows = kBlockRows;

class BlockInference {
 public:
  BlockInference(const Dataset& data, const float* fill, const Memories& memories, const Inference& out, std::int64_t n)
      : data_(data), fill_(fill), memories_(memories), out_(out), n_(n), net_(memories.network()) {
    const std::size_t d = memories.d, kp = memories.kp;
    rows_.resize(kRows * static_cast<std::size_t>(memories.ld));
    if (data.has_missing) missing_.resize(kRows * d);
    for (Buffer* buffer : {&products_, &logits_, &coef_}) buffer->resize(kRows * kp);
    for (Buffer* buffer : {&norm_, &scale_, &log_total_}) buffer->resize(kRows);
    winner_.resize(kRows);
    if (out.labels || out.state || out.trajectory || out.counts) prepare_recall();
    if (out.counts) counts.assign(memories.k, 0.0);
  }

  std::vector<double> counts;

  void run(const std::int64_t* which, std::int64_t first, int n) {
    const Kernels& kernel = kernels();
    const int d = memories_.d, ld = memories_.ld, kp = memories_.kp;
    data_.load(which, n, fill_, rows_.data(), ld, missing_.data(), out_.row_scale ? out_.row_scale + first : nullptr);
    if (data_.has_missing) filler_.fill(memories_, rows_.data(), missing_.data(), n, out_.fill_from_observed);
    for (int i = 0; i < n && out_.filled; ++i) {
      const float* x = rows_.data() + static_cast<std::ptrdiff_t>(i) * ld;
      std::copy(x, x + d, out_.filled + (first + i) * d);
    }
    kernel.norms(rows_.data(), ld, n, norm_.data());
    products_.zero();
    memories_.panel.products(rows_.data(), n, products_.data());
    if (out_.memberships || out_.energy || out_.entropy) at_rest(first, n);
    if (out_.square_distances) distances(first, n);
    if (!recalls_) return;
    by_coordinates_ ? move_coordinates(first, n) : move_coefficients(first, n);
    for (int i = 0; i < n; ++i) {
      if (out_.labels) out_.labels[first + i] = winner_[i];
      if (out_.counts) counts[winner_[i]] += 1.0;
      if (!out_.state) continue;
      float* state = out_.state + (first + i) * d;
      if (by_coordinates_)
        std::copy(state_.data() + static_cast<std::ptrdiff_t>(i) * ld,
                  state_.data() + static_cast<std::ptrdiff_t>(i) * ld + d, state);
      else
        combine(i, coef_.data() + static_cast<std::ptrdiff_t>(i) * kp, scale_[i], state);
    }
  }

 private:
  void prepare_recall() {
    const Kernels& kernel = kernels();
    const std::size_t lanes = kernel.lanes, kp = memories_.kp;
    recalls_ = true;
    by_coordinates_ = memories_.cheaper_by_coordinates();
    if (by_coordinates_) {
      state_.resize(static_cast<std::size_t>(kRows) * memories_.ld);
      pull_.resize(static_cast<std::size_t>(kRows) * memories_.ld);
      memory_rows_.resize(static_cast<std::size_t>(memories_.k) * memories_.ld);
      kernel.to_rows(net_.memories, memories_.d, memories_.k, memories_.kp, memories_.ld, memory_rows_.data());
      return;
    }
    history_.resize(kernel.free_scratch(net_));
    if (!out_.trajectory) return;
    trajectory_coef_.resize((net_.n_steps + 1) * lanes * kp);
    trajectory_scale_.resize((net_.n_steps + 1) * lanes);
  }

  void move_coefficients(std::int64_t first, int n) {
    const Kernels& kernel = kernels();
    const int kp = memories_.kp;
    for (int tile = 0; tile < n; tile += kernel.lanes) {
      FreeTile t{};
      t.products = products_.data() + static_cast<std::ptrdiff_t>(tile) * kp;
      t.norm = norm_.data() + tile;
      t.coef = coef_.data() + static_cast<std::ptrdiff_t>(tile) * kp;
      t.scale = scale_.data() + tile;
      t.history = history_.data();
      t.winner = winner_.data() + tile;
      if (out_.trajectory) {
        t.trajectory_coef = trajectory_coef_.data();
        t.trajectory_scale = trajectory_scale_.data();
      }
      kernel.free_forward(net_, t);
      if (!out_.trajectory) continue;
      for (int step = 0; step <= net_.n_steps; ++step)
        for (int l = 0; l < std::min(kernel.lanes, n - tile); ++l) {
          const std::size_t at = static_cast<std::size_t>(step) * kernel.lanes + l;
          combine(tile + l, trajectory_coef_.data() + at * kp, trajectory_scale_[at],
                  out_.trajectory + (static_cast<std::int64_t>(step) * n_ + first + tile + l) * memories_.d);
        }
    }
  }

  // A step is two products, with the memories and back; the label comes from the final states' distances.
  void move_coordinates(std::int64_t first, int n) {
    const Kernels& kernel = kernels();
    const int d = memories_.d, ld = memories_.ld, k = memories_.k, kp = memories_.kp;
    const float keep = 1.0f - net_.step_size, factor = logit_factor();
    std::copy(rows_.data(), rows_.data() + static_cast<std::ptrdiff_t>(n) * ld, state_.data());
    for (int step = 0; step <= net_.n_steps; ++step) {
      for (int i = 0; i < n && out_.trajectory; ++i) {
        const float* v = state_.data() + static_cast<std::ptrdiff_t>(i) * ld;
        std::copy(v, v + d, out_.trajectory + (static_cast<std::int64_t>(step) * n_ + first + i) * d);
      }
      memories_.panel.products(state_.data(), n, logits_.data());
      if (step == net_.n_steps) break;
      kernel.logits(logits_.data(), n, kp, net_.bias, factor, logits_.data());
      kernel.softmax(logits_.data(), n, k, kp, nullptr);
      kernel.products(logits_.data(), kp, n, k, memory_rows_.data(), ld, pull_.data());
      for (int i = 0; i < n * ld; ++i) state_[i] = keep * state_[i] + net_.step_size * pull_[i];
    }
    with_energy(memories_.metric, [&](auto energy) {
      for (int i = 0; i < n; ++i) {
        float* closeness = logits_.data() + static_cast<std::ptrdiff_t>(i) * kp;
        for (int m = 0; m < k; ++m) closeness[m] = energy.closeness(closeness[m], memories_.square_norms[m]);
        winner_[i] = static_cast<std::int32_t>(std::max_element(closeness, closeness + k) - closeness);
      }
    });
  }

  float logit_factor() const {
    return with_energy(memories_.metric, [&](auto energy) { return energy.logit_factor(memories_.beta); });
  }

  // scale * row + coefficients * memories
  void combine(int row, const float* coef, float scale, float* out) const {
    const float* x = rows_.data() + static_cast<std::ptrdiff_t>(row) * memories_.ld;
    for (int j = 0; j < memories_.d; ++j) {
      const float* r = net_.memories + static_cast<std::ptrdiff_t>(j) * memories_.kp;
      float total = scale * x[j];
      for (int m = 0; m < memories_.k; ++m) total += coef[m] * r[m];
      out[j] = total;
    }
  }

  // Memberships, energy and entropy of the row as it is.
  void at_rest(std::int64_t first, int n) {
    const int k = memories_.k, kp = memories_.kp;
    logits_.zero();
    kernels().logits(products_.data(), n, kp, net_.bias, logit_factor(), logits_.data());
    kernels().softmax(logits_.data(), n, k, kp, log_total_.data());
    for (int i = 0; i < n; ++i) {
      const float* p = logits_.data() + static_cast<std::ptrdiff_t>(i) * kp;
      if (out_.memberships) std::copy(p, p + k, out_.memberships + (first + i) * k);
      if (out_.energy)
        out_.energy[first + i] = with_energy(
            memories_.metric, [&](auto energy) { return energy.energy(log_total_[i], net_.beta, norm_[i]); });
      if (out_.entropy) {
        double entropy = 0.0;
        for (int m = 0; m < k; ++m)
          if (p[m] > 0.0f) entropy -= static_cast<double>(p[m]) * std::log(static_cast<double>(p[m]));
        out_.entropy[first + i] = static_cast<float>(entropy);
      }
    }
  }

  void distances(std::int64_t first, int n) {
    const int k = memories_.k, kp = memories_.kp;
    with_energy(memories_.metric, [&](auto energy) {
      if constexpr (energy.distance_by_difference)
        kernels().distances(rows_.data(), memories_.ld, n, memories_.d, net_.memories, kp, logits_.data());
      else
        for (int i = 0; i < n * kp; ++i) logits_[i] = energy.distance(products_[i]);
    });
    for (int i = 0; i < n; ++i)
      std::copy(logits_.data() + static_cast<std::ptrdiff_t>(i) * kp,
                logits_.data() + static_cast<std::ptrdiff_t>(i) * kp + k, out_.square_distances + (first + i) * k);
  }

  const Dataset& data_;
  const float* fill_;
  const Memories& memories_;
  const Inference& out_;
  std::int64_t n_;
  Network net_;
  Filler filler_;
  std::vector<std::uint8_t> missing_;
  std::vector<std::int32_t> winner_;
  bool recalls_ = false, by_coordinates_ = false;
  Buffer state_, pull_, memory_rows_;
  Buffer rows_, products_, logits_, coef_, norm_, scale_, log_total_, history_, trajectory_coef_, trajectory_scale_;
};

}  // namespace

void infer(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* fill, const Memories& memories,
           const Inference& out, Team& team, Control& control) {
  const std::int64_t blocks = (n + kRows - 1) / kRows;
  const int tasks = static_cast<int>(std::min<std::int64_t>(blocks, 4 * team.size()));
  std::vector<std::unique_ptr<BlockInference>> workers(tasks);
  team.run(tasks, [&](int task, int) {
    workers[task] = std::make_unique<BlockInference>(data, fill, memories, out, n);
    std::int64_t rows[kRows];
    for (std::int64_t b = blocks * task / tasks; b < blocks * (task + 1) / tasks && !control.stopped(); ++b) {
      const std::int64_t first = b * kRows;
      const int count = static_cast<int>(std::min<std::int64_t>(kRows, n - first));
      for (int i = 0; i < count; ++i) rows[i] = which ? which[first + i] : first + i;
      workers[task]->run(rows, first, count);
    }
  });
  if (out.counts)
    for (const auto& worker : workers)
      for (int m = 0; m < memories.k; ++m) out.counts[m] += worker->counts[m];
}

}  // namespace amclust
