// The silhouette (silhouette.cpp has the formulas) for many memories: a row meets only those near its nearest one. The
// memberships of all others are below what float32 holds at the temperatures that are trained with.
//
// Rows are sorted by their nearest memory. Those that share it share its neighbourhood too, so that a block of them is
// the same small dense problem as with few memories, on gathered columns. Rows, memberships and gradients by these are
// kept from one of the three passes to the next where the batch is a small part of all rows. Otherwise they are loaded
// and computed anew, and what is kept of a row is the number of its memory.
#include "energies/registry.hpp"
#include "objectives/chunked.hpp"
#include "objectives/silhouette.hpp"

#include <cmath>
#include <numeric>

namespace amclust {
namespace {

constexpr float kNowhere = -3e38f;

// Each memory and the ones nearest to it, itself first.
class Neighbourhoods {
 public:
  void update(const Memories& memories, MatrixView<const float> rows, int size, Team& team) {
    size_ = size;
    const int k = memories.k;
    lists_.resize(static_cast<std::size_t>(k) * size);
    const int blocks = (k + kBlockRows - 1) / kBlockRows;
    std::vector<Matrix> products(team.size());
    team.run(blocks, [&](int block, int member) {
      const int first = block * kBlockRows, n = std::min(kBlockRows, k - first);
      Matrix& closeness = products[member];
      closeness.fit(kBlockRows, memories.kp);
      memories.panel.products(rows.block(first, n), closeness);
      std::vector<int> order(k);
      for (int i = 0; i < n; ++i) {
        float* value = closeness.row(i);
        for (int m = 0; m < k; ++m) {
          value[m] = 2.0f * value[m] - memories.square_norms[m];
          if (!(value[m] > kNowhere)) value[m] = kNowhere;  // memories that have left what float32 holds
        }
        value[first + i] = std::numeric_limits<float>::infinity();
        std::iota(order.begin(), order.end(), 0);
        const auto closer = [value](int a, int b) { return value[a] > value[b] || (value[a] == value[b] && a < b); };
        std::nth_element(order.begin(), order.begin() + size - 1, order.end(), closer);
        std::sort(order.begin(), order.begin() + size, closer);
        std::copy_n(order.begin(), size, lists_.data() + static_cast<std::ptrdiff_t>(first + i) * size);
      }
    });
  }
  const int* of(int memory) const { return lists_.data() + static_cast<std::ptrdiff_t>(memory) * size_; }

 private:
  int size_ = 0;
  std::vector<int> lists_;
};

// Rows of the batch that share their nearest memory.
struct Group {
  int memory, first, n;
};

// Sums over some groups, by memory: [k][ld] and [k].
struct NearbySums {
  Matrix outer;
  Buffer first, other;
  double value = 0.0;
  std::vector<double> wins;
  std::vector<Candidate> candidates;

  void reset(int k, int ld) {
    outer.fit(k, ld);
    outer.zero();
    for (Buffer* buffer : {&first, &other}) {
      buffer->resize(k);
      buffer->zero();
    }
    value = 0.0;
    wins.assign(k, 0.0);
    candidates.clear();
  }
  void add(const NearbySums& part, Slice slice) {
    slice.add(outer.data(), part.outer.data(), static_cast<std::size_t>(outer.rows()) * outer.stride());
    slice.add(first.data(), part.first.data(), first.size());
    slice.add(other.data(), part.other.data(), other.size());
    slice.add(wins, part.wins, wins.size());
    if (!slice.first()) return;
    value += part.value;
    candidates.insert(candidates.end(), part.candidates.begin(), part.candidates.end());
  }
};

class NearbySilhouette final : public Objective {
 public:
  NearbySilhouette(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}

  Evaluation evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) override {
    const Task task{batch, memories, team, std::min(memories.k, settings_.neighbours)};
    prepare_buffers(task);
    sort_rows(task);
    Evaluation out = sum_memberships(task);
    const SilhouetteTerms terms(settings_, memories.metric, batch.total_weight);
    double scatter = 0.0, distance = 0.0;
    finish_statistics(task, terms, scatter, distance);
    const double value = sum_silhouettes(task, terms);
    out.loss = terms.loss(value, scatter, distance);
    back_through_statistics(task, terms);
    back_to_memories(task, terms, gradient);
    finish_gradient(memories, gradient);
    return out;
  }

 private:
  struct Task {
    const Batch& batch;
    const Memories& memories;
    Team& team;
    int size;  // of a neighbourhood
    int padded_size() const { return padded(size, kernels().lanes); }
    float logit_factor() const {
      return with_energy(memories.metric, [&](auto energy) { return energy.logit_factor(memories.beta); });
    }
  };

  // Of one thread; columns are those of a neighbourhood, padded.
  struct Work {
    Matrix rows, memberships, products, distance_bar, membership_bar;  // [kBlockRows][...]
    Matrix memories, centres, bars, outer;                             // [d][columns]
    Buffer norm, weight, value, bias, size, mean_square, size_bar, scratch, sizes, squares;
    std::vector<std::int64_t> which;

    void fit(const Memories& all, int columns) {
      rows.fit(kBlockRows, all.ld);
      for (Matrix* matrix : {&memberships, &products, &distance_bar, &membership_bar}) matrix->fit(kBlockRows, columns);
      for (Matrix* matrix : {&memories, &centres, &bars, &outer}) matrix->fit(all.d, columns);
      for (Buffer* buffer : {&norm, &weight, &value}) buffer->resize(kBlockRows);
      for (Buffer* buffer : {&bias, &size, &mean_square, &size_bar, &sizes, &squares}) buffer->resize(columns);
      scratch.resize(std::size_t{4} * columns * kernels().lanes);
      which.resize(kBlockRows);
    }
  };

  void prepare_buffers(const Task& task) {
    const Memories& memories = task.memories;
    const int k = memories.k, ld = memories.ld;
    for (Matrix* matrix : {&memory_rows_, &centre_, &centre_bar_, &memory_bar_}) matrix->resize(k, ld);
    for (Buffer* buffer : {&size_, &inverse_size_, &mean_square_, &centre_norm_, &stretch_, &size_bar_, &square_bar_})
      buffer->resize(k);
    kernels().to_rows(memories.values.data(), memories.d, k, memories.kp, ld, memory_rows_.data());
    work_.resize(std::max<std::size_t>(work_.size(), task.team.size()));
    for (Work& work : work_) work.fit(memories, task.padded_size());
    neighbourhoods_.update(memories, memory_rows_, task.size, task.team);
  }

  // Finds the nearest memory of every row, by the logits, and sorts rows by it.
  void sort_rows(const Task& task) {
    const int n = task.batch.size, blocks = (n + kBlockRows - 1) / kBlockRows;
    const Memories& memories = task.memories;
    nearest_.resize(n);
    keeps_rows_ = kKeptPart * n <= data_.rows || static_cast<std::int64_t>(n) * memories.ld <= kKeptNumbers;
    if (keeps_rows_) {
      rows_.fit(padded(n, kBlockRows), memories.ld);
      for (Matrix* matrix : {&memberships_, &membership_bar_}) matrix->fit(padded(n, kBlockRows), task.padded_size());
    }
    task.team.run(blocks, [&](int block, int member) {
      Work& work = work_[member];
      const int first = block * kBlockRows, count = std::min(kBlockRows, n - first);
      float* rows = keeps_rows_ ? rows_.row(first) : work.rows.data();
      data_.load(task.batch.rows + first, count, settings_.fill.data(), rows, memories.ld, nullptr);
      float closeness[kBlockRows], second[kBlockRows];
      Matrix none(memories.shape.by_features ? kBlockRows : 0, memories.kp);
      memories.panel.nearest_two(MatrixView<const float>{rows, count, memories.ld}, memories.bias.data(),
                                 task.logit_factor(), none, {closeness, second, nearest_.data() + first, nullptr});
    });
    std::vector<int> starts(memories.k + 1, 0);
    for (const std::int32_t m : nearest_) ++starts[m + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    order_.resize(n);
    std::vector<int> next(starts.begin(), starts.end() - 1);
    for (int i = 0; i < n; ++i) order_[next[nearest_[i]]++] = i;
    groups_.clear();
    for (int m = 0; m < memories.k; ++m)
      for (int first = starts[m]; first < starts[m + 1]; first += kBlockRows)
        groups_.push_back({m, first, std::min(kBlockRows, starts[m + 1] - first)});
  }

  // work(sums, work, group, memories of the neighbourhood) for all groups. The parts do not depend on the threads.
  template <class Visit>
  NearbySums& sum_over_groups(const Task& task, const Visit& visit) {
    const int k = task.memories.k, ld = task.memories.ld, count = static_cast<int>(groups_.size());
    const std::size_t size = static_cast<std::size_t>(k) * ld;
    const int parts =
        std::max(1, std::min({count, kMaxParts, std::max(kMinParts, static_cast<int>(kMaxNumbers / size))}));
    const auto fill = [&](NearbySums& sums, int part, int member) {
      sums.reset(k, ld);
      const auto begin = static_cast<std::int64_t>(count) * part / parts,
                 end = static_cast<std::int64_t>(count) * (part + 1) / parts;
      for (auto g = begin; g < end; ++g)
        visit(sums, work_[member], groups_[static_cast<std::size_t>(g)],
              neighbourhoods_.of(groups_[static_cast<std::size_t>(g)].memory));
    };
    return parallel_reduce(task.team, sums_, parts, size, fill);
  }

  // The rows of a group.
  void load_rows(const Task& task, Work& work, const Group& group) const {
    const Memories& memories = task.memories;
    for (int i = 0; i < group.n; ++i) {
      const int at = order_[group.first + i];
      work.which[i] = task.batch.rows[at];
      work.weight[i] = task.batch.weights ? task.batch.weights[at] : 1.0f;
    }
    if (keeps_rows_)
      for (int i = 0; i < group.n; ++i) std::copy_n(rows_.row(order_[group.first + i]), memories.ld, work.rows.row(i));
    else
      data_.load(work.which.data(), group.n, settings_.fill.data(), work.rows.data(), memories.ld, nullptr);
    kernels().norms(work.rows.data(), memories.ld, group.n, work.norm.data());
  }

  // The memberships of loaded rows; before the softmax `visit` sees the logits.
  template <class Visit>
  void find_memberships(const Task& task, Work& work, const Group& group, const int* near, const Visit& visit) const {
    const Memories& memories = task.memories;
    const int columns = task.padded_size();
    gather(memory_rows_, near, task.size, memories.d, work.memories);
    for (int c = 0; c < columns; ++c) work.bias[c] = c < task.size ? memories.bias[near[c]] : -1e30f;
    multiply(work.rows, memories, group.n, work.memories, columns, work.memberships);
    kernels().logits(work.memberships.data(), group.n, columns, work.bias.data(), task.logit_factor(),
                     work.memberships.data());
    visit();
    kernels().softmax(work.memberships.data(), group.n, task.size, columns, nullptr);
  }
  static void copy_rows(const Matrix& from, int first, Matrix& to, int at, int n) {
    std::copy_n(from.row(first), static_cast<std::size_t>(n) * from.stride(), to.row(at));
  }
  static void gather(const Matrix& from, const int* near, int size, int d, Matrix& to) {
    for (int c = 0; c < size; ++c) {
      const float* row = from.row(near[c]);
      for (int j = 0; j < d; ++j) to(j, c) = row[j];
    }
  }
  static void multiply(const Matrix& rows, const Memories& memories, int n, const Matrix& with, int columns,
                       Matrix& out) {
    kernels().products(rows.data(), memories.ld, n, memories.d, with.data(), columns, out.data());
  }
  // out[near[c]] += rows^T times the column c of coef
  static void add_outer(const Task& task, Work& work, int n, const Matrix& coef, const int* near, Matrix& out) {
    const int columns = task.padded_size(), d = task.memories.d;
    work.outer.zero();
    kernels().outer(work.rows.data(), task.memories.ld, n, d, coef.data(), columns, work.outer.data());
    for (int c = 0; c < task.size; ++c) {
      float* to = out.row(near[c]);
      for (int j = 0; j < d; ++j) to[j] += work.outer(j, c);
    }
  }

  Evaluation sum_memberships(const Task& task) {
    const int columns = task.padded_size();
    NearbySums& sums = sum_over_groups(task, [&](NearbySums& part, Work& work, const Group& group, const int* near) {
      load_rows(task, work, group);
      find_memberships(task, work, group, near, [&] {
        float badness[kBlockRows];
        for (int i = 0; i < group.n; ++i) {
          const float* logit = work.memberships.row(i);
          const int best = static_cast<int>(std::max_element(logit, logit + task.size) - logit);
          part.wins[near[best]] += work.weight[i];
          badness[i] = std::max(0.0f, work.norm[i] - logit[best] / task.memories.beta);
        }
        const int worst = static_cast<int>(std::max_element(badness, badness + group.n) - badness);
        part.candidates.push_back({badness[worst], work.which[worst]});
      });
      if (keeps_rows_) copy_rows(work.memberships, 0, memberships_, group.first, group.n);
      work.sizes.zero();
      work.squares.zero();
      for (int i = 0; i < group.n; ++i) {
        const float* p = work.memberships.row(i);
        float* out = work.products.row(i);
        for (int c = 0; c < columns; ++c) {
          out[c] = work.weight[i] * p[c];
          work.sizes[c] += out[c];
          work.squares[c] += out[c] * work.norm[i];
        }
      }
      for (int c = 0; c < task.size; ++c) {
        part.first[near[c]] += work.sizes[c];
        part.other[near[c]] += work.squares[c];
      }
      add_outer(task, work, group.n, work.products, near, part.outer);
    });
    std::copy_n(sums.outer.data(), static_cast<std::size_t>(task.memories.k) * task.memories.ld, centre_.data());
    size_.copy_from(sums.first);
    mean_square_.copy_from(sums.other);
    return {0.0, std::move(sums.wins), std::move(sums.candidates)};
  }

  void finish_statistics(const Task& task, const SilhouetteTerms& terms, double& scatter, double& distance) {
    for (int m = 0; m < task.memories.k; ++m) {
      inverse_size_[m] = 1.0f / std::max(size_[m], terms.min_size());
      mean_square_[m] *= inverse_size_[m];
      float *centre = centre_.row(m), norm = 0.0f, offset = 0.0f;
      const float* memory = memory_rows_.row(m);
      for (int j = 0; j < task.memories.d; ++j) {
        centre[j] *= inverse_size_[m];
        norm += centre[j] * centre[j];
        offset += (memory[j] - centre[j]) * (memory[j] - centre[j]);
      }
      centre_norm_[m] = norm;
      stretch_[m] = terms.stretch(norm);
      const float aside = terms.aside(norm);
      scatter += static_cast<double>(size_[m]) * (mean_square_[m] - norm + aside);
      distance += static_cast<double>(size_[m]) * (offset - aside);
    }
  }

  // Silhouettes of a group, with their gradients by distances, sizes and memberships.
  SilhouetteBlock silhouettes(const Task& task, const SilhouetteTerms& terms, Work& work, const Group& group,
                              const int* near) const {
    load_rows(task, work, group);
    if (keeps_rows_)
      copy_rows(memberships_, group.first, work.memberships, 0, group.n);
    else
      find_memberships(task, work, group, near, [] {});
    gather(centre_, near, task.size, task.memories.d, work.centres);
    const int columns = task.padded_size();
    multiply(work.rows, task.memories, group.n, work.centres, columns, work.products);
    for (int c = 0; c < task.size; ++c) {
      work.size[c] = size_[near[c]];
      work.mean_square[c] = mean_square_[near[c]];
    }
    work.size_bar.zero();
    SilhouetteBlock block{};
    block.n = group.n;
    block.k = task.size;
    block.kp = columns;
    block.memberships = work.memberships.data();
    block.products = work.products.data();
    block.norm = work.norm.data();
    block.weight = work.weight.data();
    block.size = work.size.data();
    block.size_floor = terms.min_size();
    block.mean_square = work.mean_square.data();
    block.distance_gradient = work.distance_bar.data();
    block.direct_gradient = work.membership_bar.data();
    block.size_gradient = work.size_bar.data();
    block.row_value = work.value.data();
    block.scratch = work.scratch.data();
    kernels().silhouette(block);
    return block;
  }

  double sum_silhouettes(const Task& task, const SilhouetteTerms& terms) {
    NearbySums& sums = sum_over_groups(task, [&](NearbySums& part, Work& work, const Group& group, const int* near) {
      part.value += silhouettes(task, terms, work, group, near).loss;
      if (keeps_rows_) copy_rows(work.membership_bar, 0, membership_bar_, group.first, group.n);
      work.squares.zero();
      for (int i = 0; i < group.n; ++i) {
        const float* bar = work.distance_bar.row(i);
        for (int c = 0; c < task.size; ++c) work.squares[c] += bar[c];
      }
      for (int c = 0; c < task.size; ++c) {
        part.first[near[c]] += work.size_bar[c];
        part.other[near[c]] += work.squares[c];
      }
      add_outer(task, work, group.n, work.distance_bar, near, part.outer);
    });
    std::copy_n(sums.outer.data(), static_cast<std::size_t>(task.memories.k) * task.memories.ld, centre_bar_.data());
    size_bar_.copy_from(sums.first);
    square_bar_.copy_from(sums.other);
    return sums.value;
  }

  void back_through_statistics(const Task& task, const SilhouetteTerms& terms) {
    const float sign = terms.by_value(), pull = terms.anchor(), hold = terms.tie();
    for (int m = 0; m < task.memories.k; ++m) {
      const float *memory = memory_rows_.row(m), *centre = centre_.row(m);
      float *centre_bar = centre_bar_.row(m), *memory_bar = memory_bar_.row(m), dot = 0.0f;
      for (int j = 0; j < task.memories.d; ++j) {
        const float by_centre = -2.0f * sign * centre_bar[j], place = stretch_[m] * centre[j];
        dot += by_centre * centre[j];
        centre_bar[j] = by_centre * inverse_size_[m] - 2.0f * pull * place - 2.0f * hold * (memory[j] - place);
        memory_bar[j] = 2.0f * hold * size_[m] * (memory[j] - centre[j]);
      }
      const float by_square = sign * square_bar_[m], place_norm = stretch_[m] * stretch_[m] * centre_norm_[m];
      size_bar_[m] = sign * size_bar_[m] - (dot + by_square * mean_square_[m]) * inverse_size_[m] + pull * place_norm +
                     hold * (task.memories.square_norms[m] - place_norm);
      square_bar_[m] = by_square * inverse_size_[m] + pull;
    }
  }

  void back_to_memories(const Task& task, const SilhouetteTerms& terms, Gradient& gradient) {
    const Memories& memories = task.memories;
    const int columns = task.padded_size();
    const float sign = terms.by_value(), factor = task.logit_factor();
    NearbySums& sums = sum_over_groups(task, [&](NearbySums& part, Work& work, const Group& group, const int* near) {
      if (keeps_rows_) {
        load_rows(task, work, group);
        copy_rows(memberships_, group.first, work.memberships, 0, group.n);
        copy_rows(membership_bar_, group.first, work.membership_bar, 0, group.n);
      } else {
        silhouettes(task, terms, work, group, near);
      }
      gather(centre_bar_, near, task.size, memories.d, work.bars);
      multiply(work.rows, memories, group.n, work.bars, columns, work.products);
      for (int i = 0; i < group.n; ++i) {
        const float *direct = work.membership_bar.row(i), weight = work.weight[i], norm = work.norm[i];
        float* g = work.products.row(i);
        for (int c = 0; c < task.size; ++c)
          g[c] = sign * direct[c] + weight * (g[c] + norm * square_bar_[near[c]] + size_bar_[near[c]]);
      }
      kernels().softmax_adjoint(work.memberships.data(), work.products.data(), group.n, columns, work.products.data());
      work.sizes.zero();
      for (int i = 0; i < group.n; ++i) {
        float* u = work.products.row(i);
        for (int c = 0; c < columns; ++c) {
          work.sizes[c] += u[c];
          u[c] *= factor;
        }
      }
      for (int c = 0; c < task.size; ++c) part.first[near[c]] += work.sizes[c];
      add_outer(task, work, group.n, work.products, near, part.outer);
    });
    gradient.memories.resize(memories.values.size());
    gradient.memories.zero();
    const MatrixView<float> to{gradient.memories.data(), memories.d + 1, memories.kp};
    gradient.bias.resize(memories.kp);
    gradient.bias.zero();
    for (int m = 0; m < memories.k; ++m) {
      for (int j = 0; j < memories.d; ++j) to(j, m) = sums.outer(m, j) + memory_bar_(m, j);
      gradient.bias[m] = sums.first[m];
    }
  }

  // Rows of a batch are kept where it is this small a part of all, or has this few numbers.
  static constexpr std::int64_t kKeptPart = 8, kKeptNumbers = 1 << 20;
  static constexpr int kMinParts = 4, kMaxParts = 16;
  static constexpr std::size_t kMaxNumbers = std::size_t{1} << 22;  // in the sums of all parts

  const Dataset& data_;
  ObjectiveSettings settings_;
  Neighbourhoods neighbourhoods_;
  Matrix memory_rows_, centre_, centre_bar_, memory_bar_;                                     // [k][ld]
  Buffer size_, inverse_size_, mean_square_, centre_norm_, stretch_, size_bar_, square_bar_;  // [k]
  bool keeps_rows_ = false;
  Matrix rows_;                          // [batch][ld]
  Matrix memberships_, membership_bar_;  // [batch][columns], rows sorted
  std::vector<std::int32_t> nearest_;    // memory of each row of the batch
  std::vector<int> order_;               // rows by it
  std::vector<Group> groups_;
  std::vector<NearbySums> sums_;
  std::vector<Work> work_;
};

}  // namespace

std::unique_ptr<Objective> make_nearby_silhouette(const Dataset& data, const ObjectiveSettings& settings) {
  return std::make_unique<NearbySilhouette>(data, settings);
}

}  // namespace amclust
