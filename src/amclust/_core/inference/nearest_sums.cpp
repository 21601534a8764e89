#include "inference/nearest_sums.hpp"

#include "energies/registry.hpp"
#include "inference/filling.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

namespace amclust {
namespace {

constexpr int kBlock = 64;
constexpr double kMost = 0x1p62;

double square_distance(const float* a, const float* b, int n) {
  double lanes[4] = {}, sum = 0.0;
  int j = 0;
  for (; j + 4 <= n; j += 4)
    for (int l = 0; l < 4; ++l) {
      const double apart = static_cast<double>(a[j + l]) - b[j + l];
      lanes[l] += apart * apart;
    }
  for (; j < n; ++j) sum += (static_cast<double>(a[j]) - b[j]) * (static_cast<double>(a[j]) - b[j]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + sum;
}

// What a thread needs, and has found.
class Worker {
 public:
  Worker(const Dataset& data, const TrainingRows& rows, const std::int32_t* labels, const Certificates& network,
         const float* fill, const double* quantum)
      : data_(data),
        rows_(rows),
        labels_(labels),
        network_(network),
        memories_(network.memories()),
        fill_(fill),
        quantum_(quantum),
        spherical_(with_energy(memories_.metric, [](auto energy) { return energy.on_sphere; })),
        products_(kBlock, memories_.kp),
        norms_(kBlock),
        closeness_(kBlock),
        second_(kBlock),
        nearest_(kBlock),
        which_(kBlock) {
    found.sums.assign(static_cast<std::size_t>(memories_.k) * memories_.d, 0);
    found.sizes.assign(memories_.k, 0);
    if (!memories_.shape.for_sparse) values_.resize(kBlock, memories_.ld);
    if (data.has_missing) missing_.fit(kBlock, memories_.d);
  }

  NearestSums found;
  bool overflowed = false;

  void run(std::int64_t first, int n) {
    for (int i = 0; i < n; ++i) which_[i] = rows_.rows ? rows_.rows[first + i] : first + i;
    const RowBlock rows = load(n);
    find_memories(rows, first);
    for (int i = 0; i < n; ++i) take(rows, i, rows_.weights ? rows_.weights[first + i] : 1.0);
  }

  void add(const Worker& other) {
    overflowed = overflowed || other.overflowed;
    for (std::size_t i = 0; i < found.sums.size(); ++i) add_to(found.sums[i], other.found.sums[i]);
    for (std::size_t m = 0; m < found.sizes.size(); ++m) add_to(found.sizes[m], other.found.sizes[m]);
    found.loss += other.found.loss;
  }

 private:
  RowBlock load(int n) {
    if (memories_.shape.for_sparse) {
      data_.load_entries(which_.data(), n, entries_, norms_.data());
      return entries_.block();
    }
    const auto rows = values_.block(0, n);
    data_.load(which_.data(), n, fill_, rows.data, memories_.ld, missing_.data());
    if (data_.has_missing) filler_.fill(memories_, rows, missing_.view(), true);
    return rows;
  }

  // The memory of each row, given or the nearest; and how close it is, where rows are sparse.
  void find_memories(const RowBlock& rows, std::int64_t first) {
    if (!labels_) {
      memories_.panel.nearest_two(rows, network_.closeness_bias(), network_.closeness_factor(), products_,
                                  {closeness_.data(), second_.data(), nearest_.data(), nullptr, nullptr});
      return;
    }
    std::copy_n(labels_ + first, rows.n, nearest_.data());
    if (!rows.is_sparse()) return;
    memories_.panel.products(rows, products_);
    for (int i = 0; i < rows.n; ++i)
      closeness_[i] = network_.closeness_bias()[nearest_[i]] + network_.closeness_factor() * products_(i, nearest_[i]);
  }

  void take(const RowBlock& rows, int i, double weight) {
    if (!(weight > 0.0)) return;
    const int memory = nearest_[i], d = memories_.d;
    std::int64_t* sum = found.sums.data() + static_cast<std::ptrdiff_t>(memory) * d;
    double square;
    if (rows.is_sparse()) {
      for (std::int32_t e = rows.starts[i]; e < rows.starts[i + 1]; ++e)
        add_to(sum[rows.columns[e]], fixed(weight * rows.values[e] / quantum_[rows.columns[e]]));
      const double norm = norms_[i], closeness = closeness_[i];
      square = spherical_ ? 1.0 + norm - 2.0 * closeness : norm - closeness;
    } else {
      const float* x = rows.dense.row(i);
      for (int j = 0; j < d; ++j) add_to(sum[j], fixed(weight * x[j] / quantum_[j]));
      square = square_distance(x, network_.memory_rows().row(memory), d);
    }
    add_to(found.sizes[memory], fixed(std::ldexp(weight, NearestSums::kSizeBits)));
    add_loss(weight * std::max(0.0, square));
  }

  std::int64_t fixed(double value) {
    if (std::abs(value) < kMost) return std::llrint(value);
    overflowed = true;
    return 0;
  }
  void add_to(std::int64_t& sum, std::int64_t term) {
    if (__builtin_add_overflow(sum, term, &sum)) overflowed = true;
  }
  // Large ones by their whole part and the rest.
  void add_loss(double loss) {
    const double whole = std::floor(loss), rest = std::ldexp(loss - whole, NearestSums::kLossBits);
    found.loss += static_cast<Int128>(fixed(whole)) * (Int128{1} << NearestSums::kLossBits) + fixed(rest);
  }

  const Dataset& data_;
  const TrainingRows& rows_;
  const std::int32_t* labels_;
  const Certificates& network_;
  const Memories& memories_;
  const float* fill_;
  const double* quantum_;
  bool spherical_;
  Matrix values_, products_;
  Buffer norms_, closeness_, second_;
  std::vector<std::int32_t> nearest_;
  std::vector<std::int64_t> which_;
  SparseEntries entries_;
  MissingMarks missing_;
  Filler filler_;
};

}  // namespace

NearestSums nearest_sums(const Dataset& data, const TrainingRows& rows, const std::int32_t* labels,
                         const Certificates& network, const float* fill, const double* quantum, Team& team,
                         const Control& control) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < team.size(); ++i)
    workers.push_back(std::make_unique<Worker>(data, rows, labels, network, fill, quantum));
  const int parts = 4 * team.size();
  team.run(parts, [&](int part, int member) {
    const std::int64_t last = rows.size * (part + 1) / parts;
    for (std::int64_t first = rows.size * part / parts; first < last && !control.stopped(); first += kBlock)
      workers[member]->run(first, static_cast<int>(std::min<std::int64_t>(kBlock, last - first)));
  });
  for (std::size_t i = 1; i < workers.size(); ++i) workers[0]->add(*workers[i]);
  if (workers[0]->overflowed) throw std::overflow_error("a quantum is too small for these rows");
  return std::move(workers[0]->found);
}

}  // namespace amclust
