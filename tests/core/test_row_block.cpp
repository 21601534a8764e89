// Rows as they meet memories: the entries of sparse rows give what all coordinates give, in products, sums, norms, an
// objective and what a network says.
#include "blobs.hpp"
#include "check.hpp"
#include "inference/infer.hpp"
#include "objectives/objective.hpp"
#include "rows/sparse_columns.hpp"

#include <algorithm>
#include <vector>

namespace {

using amclust::Buffer;
using amclust::Dataset;
using amclust::EnergyKind;
using amclust::Matrix;
using amclust::MatrixView;
using amclust::Memories;
using amclust::Team;
using tests::kCosine;
using tests::kEuclidean;

// The same rows, mostly zeros, dense and as CSR.
struct Both {
  int n, d;
  std::vector<float> table, values;
  std::vector<std::int32_t> indices, indptr{0};
  Dataset dense, sparse;

  Both(int n_, int d_, EnergyKind metric, bool centred, std::uint64_t seed) : n(n_), d(d_) {
    tests::Source source(seed);
    table.resize(static_cast<std::size_t>(n) * d);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < d; ++j) {
        const bool stored = j == i % d || source.uniform(0.0, 1.0) < 0.2;
        if (!stored) continue;
        const float value = 1.0f + static_cast<float>(i % 3) + 0.3f * source.normal();
        table[static_cast<std::size_t>(i) * d + j] = value;
        values.push_back(value);
        indices.push_back(j);
      }
      indptr.push_back(static_cast<std::int32_t>(values.size()));
    }
    std::vector<double> offset(d, 0.0);
    std::vector<float> scale(d, 1.0f);
    for (int j = 0; j < d && centred; ++j) {
      offset[j] = 0.1 * (j % 5);
      scale[j] = 0.5f + 0.25f * static_cast<float>(j % 3);
    }
    for (Dataset* data : {&dense, &sparse}) {
      data->rows = n;
      data->features = d;
      data->set_units(metric, offset.data(), scale.data());
    }
    dense.dense = {table.data(), false, d};
    sparse.storage = amclust::Storage::sparse;
    sparse.sparse = {values.data(), false, indices.data(), indptr.data(), false};
  }

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> which(n);
    for (int i = 0; i < n; ++i) which[i] = i;
    return which;
  }
};

Memories memories_near(const Both& rows, EnergyKind metric, int k) {
  Memories out(k, rows.d, metric, metric == kCosine ? 5.0f : 0.05f, 0.5f, 5, rows.n);
  std::vector<float> values(static_cast<std::size_t>(k) * rows.d);
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < rows.d; ++j)
      values[static_cast<std::size_t>(m) * rows.d + j] = rows.table[static_cast<std::size_t>(m) * rows.d + j] + 0.1f;
  out.set(values.data());
  return out;
}

// Twice the sum over the rows of row^T times coef, by their entries: rows in two blocks, a few columns at a time.
void sums_by_columns_agree(const Both& rows, const Matrix& coef, const Buffer& twice) {
  const std::vector<std::int64_t> which = rows.all();
  std::vector<amclust::SparseEntries> blocks(3);  // the last one is not asked for
  std::vector<float> norms(rows.n);
  const int half = rows.n / 2, kp = static_cast<int>(coef.stride());
  rows.sparse.load_entries(which.data(), half, blocks[0], norms.data());
  rows.sparse.load_entries(which.data() + half, rows.n - half, blocks[1], norms.data());
  rows.sparse.load_entries(which.data(), rows.n, blocks[2], norms.data());
  amclust::SparseColumns columns;
  for (int repeat = 0; repeat < 2; ++repeat) columns.set(blocks, 2, rows.d);
  const float* origin = rows.sparse.origin();
  Matrix found(rows.d, kp);
  const std::vector<float> zero(kp, 0.0f);
  for (int first = 0; first < rows.d; first += 7)
    columns.sums(first, std::min(7, rows.d - first), coef.data(), kp, zero.data(), found.row(first));
  for (int j = 0; j < rows.d; ++j)
    for (int m = 0; m < kp; ++m) {
      double sum = found(j, m);
      for (int i = 0; origin && i < rows.n; ++i) sum += static_cast<double>(origin[j]) * coef(i, m);
      CHECK_NEAR(2.0 * sum, twice[static_cast<std::size_t>(j) * kp + m], 2e-3);
    }
}

void products_and_sums_agree(EnergyKind metric, bool centred, int k) {
  check::describe("centred ", centred, ", k ", k);
  const Both rows(50, 37, metric, centred, 3);
  Memories memories = memories_near(rows, metric, k);
  const int kp = memories.kp, ld = memories.ld;
  const std::vector<std::int64_t> which = rows.all();
  Matrix loaded(64, ld), found(64, kp), expected(64, kp), coef(64, kp);
  Buffer norms(64), expected_norms(64);
  rows.dense.load(which.data(), rows.n, nullptr, loaded.data(), ld, nullptr);
  amclust::SparseEntries entries;
  rows.sparse.load_entries(which.data(), rows.n, entries, norms.data());
  amclust::kernels().norms(loaded.data(), ld, rows.n, expected_norms.data());
  for (int i = 0; i < rows.n; ++i) CHECK_NEAR(norms[i], expected_norms[i], 1e-4 * (1.0 + expected_norms[i]));

  tests::Source source(5);
  for (int i = 0; i < rows.n; ++i)
    for (int m = 0; m < k; ++m) coef(i, m) = source.normal();
  for (const bool by_entries : {false, true}) {
    if (by_entries) memories.shape.take_sparse(rows.sparse.origin());
    memories.refresh(false);
    const amclust::RowBlock block = by_entries ? entries.block() : amclust::RowBlock(loaded.block(0, rows.n));
    CHECK_EQUAL(block.is_sparse(), by_entries);
    memories.panel.products(block, by_entries ? found.view() : expected.view());
  }
  amclust::OuterSum outer, other;
  memories.shape = amclust::PanelShape(k, rows.d, rows.n);
  outer.reset(memories.shape);
  other.reset(memories.shape);
  outer.add(loaded.block(0, rows.n), coef.block(0, rows.n));
  other.add(loaded.block(0, rows.n), coef.block(0, rows.n));
  outer.add(other, {});
  Buffer expected_sum(memories.values.size());
  outer.add_to(expected_sum.data());
  for (int i = 0; i < rows.n; ++i)
    for (int m = 0; m < k; ++m) CHECK_NEAR(found(i, m), expected(i, m), 1e-4 * (1.0 + std::abs(expected(i, m))));
  sums_by_columns_agree(rows, coef, expected_sum);
}

void the_silhouette_agrees(EnergyKind metric, int threads) {
  check::describe("silhouette, threads ", threads);
  const Both rows(150, 30, metric, metric == kEuclidean, 7);
  const std::vector<std::int64_t> which = rows.all();
  const amclust::Batch batch{which.data(), which.data(), nullptr, rows.n, static_cast<double>(rows.n), 0};
  amclust::ObjectiveSettings settings;
  settings.name = "silhouette";
  settings.fill.assign(rows.d, 0.0f);
  settings.anchor = 0.1;
  settings.tie = 0.1;
  amclust::Gradient gradients[2];
  double losses[2];
  for (const bool by_entries : {false, true}) {
    const Dataset& data = by_entries ? rows.sparse : rows.dense;
    Memories memories = memories_near(rows, metric, 4);
    const auto objective = amclust::make_objective(data, settings);
    objective->prepare(memories);
    memories.refresh(objective->needs_gram(memories));
    Team team(threads);
    losses[by_entries] = objective->evaluate(batch, memories, gradients[by_entries], team).loss;
  }
  CHECK_NEAR(losses[1], losses[0], 1e-5);
  double largest = 0.0;
  for (std::size_t i = 0; i < gradients[0].memories.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(gradients[0].memories[i])));
  for (std::size_t i = 0; i < gradients[0].memories.size(); ++i)
    CHECK_NEAR(gradients[1].memories[i], gradients[0].memories[i], 1e-3 * largest);
}

void answers_agree(EnergyKind metric) {
  check::describe("answers");
  const Both rows(130, 30, metric, metric == kEuclidean, 9);
  std::vector<std::int32_t> labels[2];
  std::vector<float> memberships[2], energy[2];
  for (const bool by_entries : {false, true}) {
    const Dataset& data = by_entries ? rows.sparse : rows.dense;
    Memories memories = memories_near(rows, metric, 3);
    labels[by_entries].resize(rows.n);
    energy[by_entries].resize(rows.n);
    memberships[by_entries].resize(static_cast<std::size_t>(rows.n) * 3);
    amclust::Inference out;
    out.labels = labels[by_entries].data();
    out.energy = energy[by_entries].data();
    out.memberships = memberships[by_entries].data();
    CHECK_EQUAL(amclust::takes_entries(data, memories, out), by_entries);
    if (by_entries) memories.shape.take_sparse(data.origin());
    memories.refresh(true);
    const std::vector<float> fill(rows.d, 0.0f);
    amclust::Monitor monitor;
    amclust::supervise(monitor, [&](amclust::Control& control) {
      Team team(2);
      amclust::Certificates certificates(memories);
      amclust::infer(data, nullptr, data.rows, fill.data(), certificates, out, team, control);
    });
  }
  CHECK(labels[0] == labels[1]);
  for (std::size_t i = 0; i < energy[0].size(); ++i) CHECK_NEAR(energy[1][i], energy[0][i], 1e-3);
  for (std::size_t i = 0; i < memberships[0].size(); ++i) CHECK_NEAR(memberships[1][i], memberships[0][i], 1e-3);
}

void states_need_all_coordinates() {
  const Both rows(10, 8, kEuclidean, true, 1);
  const Memories memories = memories_near(rows, kEuclidean, 2);
  float state = 0.0f;
  amclust::Inference out;
  out.state = &state;
  CHECK(!amclust::takes_entries(rows.sparse, memories, out));
  out.state = nullptr;
  out.energy = &state;
  CHECK(amclust::takes_entries(rows.sparse, memories, out));
  Dataset missing = rows.sparse;
  missing.has_missing = true;
  CHECK(!amclust::takes_entries(missing, memories, out));
}

}  // namespace

int main() {
  for (const char* name : tests::instruction_sets()) {
    amclust::use_instruction_set(name);
    for (const int k : {1, 3, 20, 70})
      for (const bool centred : {false, true}) products_and_sums_agree(kEuclidean, centred, std::min(k, 50));
    products_and_sums_agree(kCosine, false, 5);
    for (const EnergyKind metric : {kEuclidean, kCosine}) {
      for (const int threads : {1, 3}) the_silhouette_agrees(metric, threads);
      answers_agree(metric);
    }
  }
  states_need_all_coordinates();
  return check::finish();
}
