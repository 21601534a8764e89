#include "inference/infer.hpp"

#include "energies/registry.hpp"
#include "inference/filling.hpp"
#include "inference/labels.hpp"
#include "matrix.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace amclust {
namespace {

constexpr int kRows = Labeller::kRows;  // worked on at a time; a multiple of every lane count

bool labels(const Inference& out) { return out.labels || out.counts; }
// Whether anything needs the products with all memories.
bool asks_all(const Inference& out) {
  return out.memberships || out.energy || out.entropy || out.square_distances || recalls(out);
}

class BlockInference {
 public:
  BlockInference(const Dataset& data, const float* fill, Certificates& certificates, const Inference& out,
                 std::int64_t n)
      : data_(data), fill_(fill), memories_(certificates.memories()), out_(out), n_(n), net_(memories_.network()) {
    const Memories& memories = memories_;
    by_entries_ = takes_entries(data, memories, out);
    if (!by_entries_) rows_.resize(kRows, memories.ld);
    if (data.has_missing) missing_.fit(kRows, memories.d);
    asks_all_ = asks_all(out);
    if (asks_all_)
      for (Matrix* matrix : {&products_, &logits_, &coef_}) matrix->resize(kRows, memories.kp);
    for (Buffer* buffer : {&norm_, &scale_, &log_total_}) buffer->resize(kRows);
    winner_.resize(kRows);
    if (recalls(out))
      prepare_recall();
    else if (labels(out))
      labeller_.emplace(certificates);
    counts.assign(memories.k, 0.0);
  }

  std::vector<double> counts;  // of the labels given so far

  void add(const BlockInference& other, Slice slice) { slice.add(counts, other.counts, counts.size()); }

  // Rows first ... first + n - 1 of those asked for, which are these rows of the data.
  void run(const std::int64_t* which, std::int64_t first, int n) {
    const int d = memories_.d;
    const RowBlock rows = load(which, first, n);
    if (asks_all_) {
      products_.zero();
      memories_.panel.products(rows, products_);
    }
    if (out_.memberships || out_.energy || out_.entropy) at_rest(first, n);
    if (out_.square_distances) distances(first, n);
    if (labeller_) {
      const auto densify = [&](const std::vector<int>& some, MatrixView<float> states) {
        for (std::size_t i = 0; i < some.size(); ++i)
          data_.load(which + some[i], 1, fill_, states.row(static_cast<int>(i)), memories_.ld, nullptr);
      };
      labeller_->label(rows, densify, winner_.data());
    } else if (recalls_) {
      by_coordinates_ ? move_coordinates(first, n) : move_coefficients(first, n);
      for (int i = 0; i < n && out_.state && !by_coordinates_; ++i)
        combine(i, coef_.row(i), scale_[i], out_.state + (first + i) * d);
      if (out_.state && by_coordinates_) copy(state_.block(0, n), d, out_.state, first);
    }
    for (int i = 0; i < n && labels(out_); ++i) counts[winner_[i]] += 1.0;
    if (out_.labels) std::copy_n(winner_.data(), n, out_.labels + first);
  }

 private:
  // The first `width` numbers of each row to rows first, first + 1, ... of `out`.
  static void copy(MatrixView<const float> from, int width, float* out, std::int64_t first) {
    for (int i = 0; i < from.rows; ++i) std::copy_n(from.row(i), width, out + (first + i) * width);
  }

  RowBlock load(const std::int64_t* which, std::int64_t first, int n) {
    if (by_entries_) {
      data_.load_entries(which, n, entries_, norm_.data());
      return entries_.block();
    }
    const int d = memories_.d, ld = memories_.ld;
    const auto rows = rows_.block(0, n);
    data_.load(which, n, fill_, rows.data, ld, missing_.data(), out_.row_scale ? out_.row_scale + first : nullptr);
    if (data_.has_missing) filler_.fill(memories_, rows, missing_.view(), out_.fill_from_observed);
    if (out_.filled) copy(rows, d, out_.filled, first);
    if (asks_all_) kernels().norms(rows.data, ld, n, norm_.data());
    return rows;
  }

  void prepare_recall() {
    const Kernels& kernel = kernels();
    recalls_ = true;
    by_coordinates_ = memories_.cheaper_by_coordinates();
    if (by_coordinates_) {
      for (Matrix* matrix : {&state_, &pull_}) matrix->resize(kRows, memories_.ld);
      memory_rows_.resize(memories_.k, memories_.ld);
      kernel.to_rows(net_.memories, memories_.d, memories_.k, memories_.kp, memories_.ld, memory_rows_.data());
      return;
    }
    history_.resize(kernel.free_scratch(net_));
    if (!out_.trajectory) return;
    const int rows = (net_.n_steps + 1) * kernel.lanes;
    trajectory_coef_.resize(rows, memories_.kp);
    trajectory_scale_.resize(rows);
  }

  void move_coefficients(std::int64_t first, int n) {
    const Kernels& kernel = kernels();
    for (int tile = 0; tile < n; tile += kernel.lanes) {
      FreeTile t{};
      t.products = products_.row(tile);
      t.norm = norm_.data() + tile;
      t.coef = coef_.row(tile);
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
          const int at = step * kernel.lanes + l;
          combine(tile + l, trajectory_coef_.row(at), trajectory_scale_[at],
                  out_.trajectory + (step * n_ + first + tile + l) * memories_.d);
        }
    }
  }

  // A step is two products, with the memories and back; the label comes from the final states' distances.
  void move_coordinates(std::int64_t first, int n) {
    const Kernels& kernel = kernels();
    const int d = memories_.d, ld = memories_.ld, k = memories_.k, kp = memories_.kp;
    const float keep = 1.0f - net_.step_size, factor = logit_factor();
    const auto states = state_.block(0, n);
    std::copy(rows_.data(), rows_.row(n), states.data);
    for (int step = 0; step <= net_.n_steps; ++step) {
      if (out_.trajectory) copy(states, d, out_.trajectory, step * n_ + first);
      memories_.panel.products(states, logits_);
      if (step == net_.n_steps) break;
      kernel.logits(logits_.data(), n, kp, net_.bias, factor, logits_.data());
      kernel.softmax(logits_.data(), n, k, kp, nullptr);
      kernel.products(logits_.data(), kp, n, k, memory_rows_.data(), ld, pull_.data());
      float* v = states.data;
      const float* pull = pull_.data();
      for (int i = 0; i < n * ld; ++i) v[i] = keep * v[i] + net_.step_size * pull[i];
    }
    with_energy(memories_.metric, [&](auto energy) {
      for (int i = 0; i < n; ++i) {
        float* closeness = logits_.row(i);
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
    const float* x = rows_.row(row);
    for (int j = 0; j < memories_.d; ++j) {
      const float* r = memories_.feature(j);
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
    if (out_.memberships) copy(logits_.block(0, n), k, out_.memberships, first);
    if (out_.energy)
      with_energy(memories_.metric, [&](auto energy) {
        for (int i = 0; i < n; ++i) out_.energy[first + i] = energy.energy(log_total_[i], net_.beta, norm_[i]);
      });
    for (int i = 0; i < n && out_.entropy; ++i) {
      const float* p = logits_.row(i);
      double entropy = 0.0;
      for (int m = 0; m < k; ++m)
        if (p[m] > 0.0f) entropy -= static_cast<double>(p[m]) * std::log(static_cast<double>(p[m]));
      out_.entropy[first + i] = static_cast<float>(entropy);
    }
  }

  void distances(std::int64_t first, int n) {
    with_energy(memories_.metric, [&](auto energy) {
      if constexpr (energy.distance_by_difference) {
        kernels().distances(rows_.data(), memories_.ld, n, memories_.d, net_.memories, memories_.kp, logits_.data());
      } else {
        for (int i = 0; i < n; ++i)
          for (int m = 0; m < memories_.k; ++m) logits_(i, m) = energy.distance(products_(i, m));
      }
    });
    copy(logits_.block(0, n), memories_.k, out_.square_distances, first);
  }

  const Dataset& data_;
  const float* fill_;
  const Memories& memories_;
  const Inference& out_;
  std::int64_t n_;
  Network net_;
  Filler filler_;
  MissingMarks missing_;
  std::vector<std::int32_t> winner_;
  std::optional<Labeller> labeller_;
  bool recalls_ = false, by_coordinates_ = false, by_entries_ = false, asks_all_ = false;
  SparseEntries entries_;
  Matrix rows_, state_, pull_, memory_rows_;            // [kRows][ld], and the memories [k][ld]
  Matrix products_, logits_, coef_;                     // [kRows][kp]
  Matrix trajectory_coef_;                              // [(n_steps + 1) lanes][kp]
  Buffer norm_, scale_, log_total_, trajectory_scale_;  // one a row
  Buffer history_;
};

}  // namespace

bool takes_entries(const Dataset& data, const Memories& memories, const Inference& out) {
  if (!data.gives_entries() || out.state || out.trajectory || out.filled || out.row_scale) return false;
  const bool by_difference = with_energy(memories.metric, [](auto energy) { return energy.distance_by_difference; });
  return !(out.square_distances && by_difference);
}

bool recalls(const Inference& out) { return out.state || out.trajectory; }

void infer(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* fill,
           Certificates& certificates, const Inference& out, Team& team, Control& control) {
  const std::int64_t blocks = (n + kRows - 1) / kRows;
  if (!blocks) return;
  // As many parts as threads are well served with: the only sums are counts of rows, exact in any order.
  const int parts = static_cast<int>(std::min<std::int64_t>(blocks, 4 * team.size()));
  const auto make = [&] { return BlockInference(data, fill, certificates, out, n); };
  const BlockInference all = parallel_reduce(team, parts, make, [&](BlockInference& inference, int part, int) {
    std::int64_t rows[kRows];
    for (std::int64_t b = blocks * part / parts; b < blocks * (part + 1) / parts && !control.stopped(); ++b) {
      const std::int64_t first = b * kRows;
      const int count = static_cast<int>(std::min<std::int64_t>(kRows, n - first));
      for (int i = 0; i < count; ++i) rows[i] = which ? which[first + i] : first + i;
      inference.run(rows, first, count);
    }
  });
  if (out.counts) Slice{}.add(out.counts, all.counts, all.counts.size());
}

}  // namespace amclust
