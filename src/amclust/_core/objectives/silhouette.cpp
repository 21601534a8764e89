// A silhouette that can be differentiated, in linear time (design: "a differentiable silhouette"), with an anchor.
//
// From the memberships p at the rows themselves come soft clusters: size w = sum p, centre c = sum p x / w and mean
// squared norm q = sum p |x|^2 / w. The mean squared distance of a row to a cluster is |x|^2 - 2 x.c + q, which makes
// the silhouette of every row a function of these statistics (kernels/silhouette.cpp). Alone it can be raised by
// shedding outliers or by letting one cluster swallow the rest; the anchor adds the scatter inside the soft clusters,
// sum_m w_m (q_m - |c_m|^2), so that a partition which explains little of the data is not worth its silhouette.
//
// Rows with missing values take part with these filled by the current memories, as constants.
#include "objectives/silhouette.hpp"
#include "energies/registry.hpp"
#include "inference/filling.hpp"
#include "objectives/chunked.hpp"
#include "rows/sparse_columns.hpp"

namespace amclust {
namespace {

// Sums over one part of the batch, for one of the three passes through the rows.
struct SilhouetteSums {
  OuterSum outer;       // of dense rows times some [n][kp]
  Buffer first, other;  // [kp], what they are differs from pass to pass
  double value = 0.0;
  std::vector<double> wins;
  std::vector<Candidate> candidates;

  void reset(const Memories& memories) {
    if (!memories.shape.for_sparse) outer.reset(memories.shape);
    for (Buffer* buffer : {&first, &other}) {
      buffer->resize(memories.kp);
      buffer->zero();
    }
    value = 0.0;
    wins.assign(memories.k, 0.0);
    candidates.clear();
  }
  void add(const SilhouetteSums& part, Slice slice) {
    outer.add(part.outer, slice);
    slice.add(first.data(), part.first.data(), first.size());
    slice.add(other.data(), part.other.data(), other.size());
    slice.add(wins, part.wins, wins.size());
    if (!slice.first()) return;
    value += part.value;
    candidates.insert(candidates.end(), part.candidates.begin(), part.candidates.end());
  }
};

// Sums over some of the columns, [kp]; what they are differs from pass to pass.
struct ColumnTotals {
  Buffer first, other;

  void reset(int kp) {
    for (Buffer* buffer : {&first, &other}) {
      buffer->resize(kp);
      buffer->zero();
    }
  }
  void add(const ColumnTotals& part, Slice slice) {
    slice.add(first.data(), part.first.data(), first.size());
    slice.add(other.data(), part.other.data(), other.size());
  }
};

class Silhouette final : public Objective {
 public:
  Silhouette(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}

  void prepare(Memories& memories) const override {
    if (data_.gives_entries()) memories.shape.take_sparse(data_.origin());
  }

  Evaluation evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) override {
    const Task task{batch, memories, team, BatchParts(batch.size), {settings_, memories.metric, batch.total_weight}};
    resize(task);
    Evaluation out = load_rows(task);
    out.loss = silhouettes(task);
    back_to_memories(task, gradient);
    finish_gradient(memories, gradient);
    return out;
  }

 private:
  struct Task {
    const Batch& batch;
    const Memories& memories;
    Team& team;
    BatchParts parts;
    SilhouetteTerms terms;

    float logit_factor() const {
      return with_energy(memories.metric, [&](auto energy) { return energy.logit_factor(memories.beta); });
    }
  };

  void resize(const Task& task) {
    const Memories& memories = task.memories;
    const int rows = padded(task.batch.size, kBlockRows), d = memories.d, kp = memories.kp;
    if (data_.gives_entries())
      entries_.resize(std::max<std::size_t>(entries_.size(), rows / kBlockRows));
    else
      rows_.fit(rows, memories.ld);
    for (Buffer* buffer : {&norm_, &weight_, &value_})
      if (static_cast<int>(buffer->size()) < rows) buffer->resize(rows);
    if (data_.has_missing) missing_.fit(rows, d);
    for (Matrix* matrix : {&memberships_, &products_, &distance_bar_, &membership_bar_}) matrix->fit(rows, kp);
    for (Matrix* matrix : {&centre_, &centre_bar_}) matrix->resize(d + 1, kp);
    for (Buffer* buffer :
         {&size_, &inverse_size_, &mean_square_, &centre_norm_, &offset_, &stretch_, &size_bar_, &square_bar_, &pull_})
      buffer->resize(kp);
    const std::size_t members = task.team.size();
    if (fillers_.size() < members) fillers_.resize(members);
    if (scratch_.size() < members) scratch_.resize(members);
    for (Buffer& scratch : scratch_) scratch.resize(std::size_t{4} * memories.k * kernels().lanes);
  }

  // work(sums, member, block) for all blocks of the batch.
  template <class Work>
  SilhouetteSums& sum_over_blocks(const Task& task, const Work& work) {
    const auto fill = [&](SilhouetteSums& sums, int part, int member) {
      sums.reset(task.memories);
      task.parts.for_blocks(part, [&](BlockOfRows block) { work(sums, member, block); });
    };
    const std::size_t size = data_.gives_entries() ? task.memories.kp : task.memories.values.size();
    return parallel_reduce(task.team, sums_, task.parts.count(), size, fill);
  }
  // Adds to the sum over the rows of row^T times coefficients; sparse rows wait for over_columns().
  void add_outer(SilhouetteSums& part, BlockOfRows block, MatrixView<const float> coef) const {
    if (!data_.gives_entries()) part.outer.add(rows_.block(block.first, block.n), coef);
  }
  // out [d][kp] gets that sum, of coefficients [n][kp] that add up to coef_sum [kp]; work(totals, first column, their
  // number) follows for all columns, a few at a time, while they are at hand.
  template <class Work>
  const ColumnTotals& over_columns(const Task& task, const SilhouetteSums& sums, const Matrix& coef,
                                   const Buffer& coef_sum, float* out, const Work& work) {
    constexpr int kColumns = 32, kMinPart = 256, kMaxParts = 16;
    const int d = task.memories.d, kp = task.memories.kp;
    if (!data_.gives_entries()) {
      std::fill_n(out, static_cast<std::size_t>(d) * kp, 0.0f);
      sums.outer.add_to(out);
      if (totals_.empty()) totals_.resize(1);
      totals_[0].reset(kp);
      work(totals_[0], 0, d);
      return totals_[0];
    }
    const int parts = std::clamp(d / kMinPart, 1, kMaxParts);
    const std::vector<float> zero(kp, 0.0f);
    const MatrixView<float> to{out, d, kp};
    return parallel_reduce(task.team, totals_, parts, kp, [&](ColumnTotals& totals, int part, int) {
      totals.reset(kp);
      const Slice slice{part, parts};
      const int last = static_cast<int>(slice.end(d));
      for (int first = static_cast<int>(slice.begin(d)); first < last; first += kColumns) {
        const int n = std::min(kColumns, last - first);
        columns_.sums(first, n, coef.data(), kp, zero.data(), to.row(first));
        for (int j = first; data_.origin() && j < first + n; ++j)
          for (int m = 0; m < kp; ++m) to(j, m) += data_.origin()[j] * coef_sum[m];
        work(totals, first, n);
      }
    });
  }

  // Rows, their memberships, and the sums these weight: p, p |x|^2 and p x.
  Evaluation load_rows(const Task& task) {
    const int kp = task.memories.kp;
    SilhouetteSums& sums = sum_over_blocks(task, [&](SilhouetteSums& part, int member, BlockOfRows block) {
      const auto [first, n] = block;
      load(task, block, fillers_[member]);
      for (int i = first; i < first + n; ++i) weight_[i] = task.batch.weights ? task.batch.weights[i] : 1.0f;
      assign(task, block, part);
      const auto weighted = products_.block(first, n);
      for (int i = 0; i < n; ++i) {
        const float weight = weight_[first + i], norm = norm_[first + i];
        const float* p = memberships_.row(first + i);
        float* out = weighted.row(i);
        for (int m = 0; m < kp; ++m) {
          out[m] = weight * p[m];
          part.first[m] += out[m];
          part.other[m] += out[m] * norm;
        }
      }
      add_outer(part, block, weighted);
    });
    if (data_.gives_entries()) columns_.set(entries_, padded(task.batch.size, kBlockRows) / kBlockRows, data_.features);
    size_.copy_from(sums.first);
    mean_square_.copy_from(sums.other);
    finish_statistics(task, sums);
    return {0.0, std::move(sums.wins), std::move(sums.candidates)};
  }

  // Rows of a block and their norms, missing values filled.
  void load(const Task& task, BlockOfRows block, Filler& filler) {
    const auto [first, n] = block;
    const std::int64_t* which = task.batch.rows + first;
    if (data_.gives_entries()) return data_.load_entries(which, n, entries_[first / kBlockRows], norm_.data() + first);
    const auto rows = rows_.block(first, n);
    const MatrixView<std::uint8_t> missing = missing_.view().block(first, n);
    data_.load(which, n, settings_.fill.data(), rows.data, task.memories.ld, missing.data);
    if (data_.has_missing) filler.fill(task.memories, rows, missing, true);
    kernels().norms(rows.data, task.memories.ld, n, norm_.data() + first);
  }
  RowBlock rows(BlockOfRows block) const {
    return data_.gives_entries() ? entries_[block.first / kBlockRows].block() : rows_.block(block.first, block.n);
  }

  void assign(const Task& task, BlockOfRows block, SilhouetteSums& part) {
    const Memories& memories = task.memories;
    const int k = memories.k, kp = memories.kp;
    const auto p = memberships_.block(block.first, block.n);
    memories.panel.products(rows(block), p);
    kernels().logits(p.data, block.n, kp, memories.bias.data(), task.logit_factor(), p.data);
    float badness[kBlockRows];
    for (int i = 0; i < block.n; ++i) {
      const float* logit = p.row(i);
      const int best = static_cast<int>(std::max_element(logit, logit + k) - logit);
      part.wins[best] += weight_[block.first + i];
      badness[i] = std::max(0.0f, norm_[block.first + i] - logit[best] / memories.beta);
    }
    note_candidates(task.batch, block, badness, part.candidates);
    kernels().softmax(p.data, block.n, k, kp, nullptr);
  }

  // From sums to means: centres, mean squared norms, how far the memories are from the centres, and where they belong.
  void finish_statistics(const Task& task, const SilhouetteSums& sums) {
    const int kp = task.memories.kp;
    inverse_size_.zero();
    for (int m = 0; m < task.memories.k; ++m) {
      inverse_size_[m] = 1.0f / std::max(size_[m], task.terms.min_size());
      mean_square_[m] *= inverse_size_[m];
    }
    const auto finish = [&](ColumnTotals& totals, int first, int n) {
      kernels().finish_centres({n, kp, task.memories.feature(first), inverse_size_.data(), centre_.row(first),
                                totals.first.data(), totals.other.data()});
    };
    const ColumnTotals& totals = over_columns(task, sums, products_, size_, centre_.data(), finish);
    centre_norm_.copy_from(totals.first);
    offset_.copy_from(totals.other);
    for (int m = 0; m < kp; ++m) stretch_[m] = task.terms.stretch(centre_norm_[m]);
  }

  // The silhouette of every row, and how it changes with distances, sizes and the memberships themselves. Returns the
  // loss; leaves the gradients by the sums over the rows that the statistics are made of.
  double silhouettes(const Task& task) {
    const int k = task.memories.k, kp = task.memories.kp;
    panel_.refresh(task.memories.shape, centre_.data());
    SilhouetteSums& sums = sum_over_blocks(task, [&](SilhouetteSums& part, int member, BlockOfRows which) {
      const auto [first, n] = which;
      panel_.products(rows(which), products_.block(first, n));
      SilhouetteBlock block{};
      block.n = n;
      block.k = k;
      block.kp = kp;
      block.memberships = memberships_.row(first);
      block.products = products_.row(first);
      block.norm = norm_.data() + first;
      block.weight = weight_.data() + first;
      block.size = size_.data();
      block.size_floor = task.terms.min_size();
      block.mean_square = mean_square_.data();
      block.distance_gradient = distance_bar_.row(first);
      block.direct_gradient = membership_bar_.row(first);
      block.size_gradient = part.first.data();
      block.row_value = value_.data() + first;
      block.scratch = scratch_[member].data();
      kernels().silhouette(block);
      part.value += block.loss;
      for (int i = 0; i < n; ++i) {
        const float* bar = distance_bar_.row(first + i);
        for (int m = 0; m < kp; ++m) part.other[m] += bar[m];
      }
      add_outer(part, which, distance_bar_.block(first, n));
    });
    size_bar_.copy_from(sums.first);
    square_bar_.copy_from(sums.other);
    back_through_statistics(task, sums);

    double scatter = 0.0, distance = 0.0;
    for (int m = 0; m < k; ++m) {
      const float aside = task.terms.aside(centre_norm_[m]);
      scatter += static_cast<double>(size_[m]) * (mean_square_[m] - centre_norm_[m] + aside);
      distance += static_cast<double>(size_[m]) * (offset_[m] - aside);
    }
    return task.terms.loss(sums.value, scatter, distance);
  }

  // Gradients by the sums  sum p x,  sum p |x|^2  and  sum p; and how strongly memories are pulled to their centres.
  void back_through_statistics(const Task& task, const SilhouetteSums& sums) {
    const Memories& memories = task.memories;
    const int kp = memories.kp;
    const float sign = task.terms.by_value(), anchor = task.terms.anchor(), tie = task.terms.tie();
    const auto back = [&](ColumnTotals& totals, int first, int n) {
      kernels().centre_adjoint({n, kp, memories.feature(first), centre_.row(first), inverse_size_.data(),
                                stretch_.data(), -2.0f * sign, anchor, tie, centre_bar_.row(first),
                                totals.first.data()});
    };
    const Buffer& dot = over_columns(task, sums, distance_bar_, square_bar_, centre_bar_.data(), back).first;
    for (int m = 0; m < memories.k; ++m) {
      const float by_square = sign * square_bar_[m], place_norm = stretch_[m] * stretch_[m] * centre_norm_[m];
      size_bar_[m] = sign * size_bar_[m] - (dot[m] + by_square * mean_square_[m]) * inverse_size_[m] +
                     anchor * place_norm + tie * (memories.square_norms[m] - place_norm);
      square_bar_[m] = by_square * inverse_size_[m] + anchor;
      pull_[m] = 2.0f * tie * size_[m];
    }
  }

  // Through the memberships.
  void back_to_memories(const Task& task, Gradient& gradient) {
    const int kp = task.memories.kp;
    const float sign = task.terms.by_value(), factor = task.logit_factor();
    panel_.refresh(task.memories.shape, centre_bar_.data());
    SilhouetteSums& sums = sum_over_blocks(task, [&](SilhouetteSums& part, int, BlockOfRows block) {
      const auto [first, n] = block;
      const auto bar = products_.block(first, n);
      panel_.products(rows(block), bar);
      for (int i = 0; i < n; ++i) {
        const float weight = weight_[first + i], norm = norm_[first + i];
        const float* direct = membership_bar_.row(first + i);
        float* g = bar.row(i);
        for (int m = 0; m < kp; ++m) g[m] = sign * direct[m] + weight * (g[m] + norm * square_bar_[m] + size_bar_[m]);
      }
      kernels().softmax_adjoint(memberships_.row(first), bar.data, n, kp, bar.data);
      for (int i = 0; i < n; ++i) {
        float* u = bar.row(i);
        for (int m = 0; m < kp; ++m) {
          part.first[m] += u[m];
          u[m] *= factor;
        }
      }
      add_outer(part, block, bar);
    });
    gradient.bias.copy_from(sums.first);
    Buffer& coef_sum = sums.other;
    for (int m = 0; m < kp; ++m) coef_sum[m] = factor * sums.first[m];
    gradient.memories.resize(task.memories.values.size());
    float* out = gradient.memories.data();
    over_columns(task, sums, products_, coef_sum, out, [&](ColumnTotals&, int first, int n) {
      kernels().add_tie(task.memories.feature(first), centre_.row(first), pull_.data(), n, kp,
                        out + static_cast<std::size_t>(first) * kp);
    });
  }

  const Dataset& data_;
  ObjectiveSettings settings_;
  // The whole batch: rows [n][ld], or their entries a block; memberships, other products of rows and gradients [n][kp].
  Matrix rows_, memberships_, products_, distance_bar_, membership_bar_;
  std::vector<SparseEntries> entries_;
  SparseColumns columns_;
  MissingMarks missing_;
  Buffer norm_, weight_, value_;  // [n]
  // Statistics of the soft clusters, and gradients by them: [d + 1][kp] and [kp].
  Panel panel_;
  Matrix centre_, centre_bar_;
  Buffer size_, inverse_size_, mean_square_, centre_norm_, offset_, stretch_, size_bar_, square_bar_, pull_;
  std::vector<SilhouetteSums> sums_;
  std::vector<ColumnTotals> totals_;
  // Of each thread.
  std::vector<Filler> fillers_;
  std::vector<Buffer> scratch_;
};

}  // namespace

std::unique_ptr<Objective> make_silhouette(const Dataset& data, const ObjectiveSettings& settings) {
  if (settings.neighbours > 0 && !data.is_sparse() && !data.gives_entries() && !data.has_missing)
    return make_nearby_silhouette(data, settings);
  return std::make_unique<Silhouette>(data, settings);
}

}  // namespace amclust
