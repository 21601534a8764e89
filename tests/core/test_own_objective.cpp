// An objective that is not one of the library's: what it takes to write one (docs/extending.md shows it), and that a
// registered one is trained like any other.
#include "blobs.hpp"
#include "check.hpp"
#include "energies/registry.hpp"
#include "objectives/chunked.hpp"
#include "training/seeding.hpp"
#include "training/trainer.hpp"

#include <set>
#include <stdexcept>

namespace {

// An example begins.
// The mean energy of the rows. With the Euclidean one this is a mixture of Gaussians of equal width.
class MeanEnergy final : public amclust::ChunkedObjective {
 public:
  MeanEnergy(const amclust::Dataset& data, const amclust::ObjectiveSettings& settings)
      : data_(data), settings_(settings) {}

 protected:
  struct Buffers : Workspace {
    amclust::Matrix rows, memberships;
    amclust::Buffer norms, log_totals;
    amclust::MissingMarks missing;
  };
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Buffers>(); }

  void add_block(const amclust::Batch& batch, amclust::BlockOfRows block, const amclust::Memories& memories,
                 Workspace& workspace, amclust::PartSums& out) const override {
    auto& work = static_cast<Buffers&>(workspace);
    const amclust::Kernels& kernel = amclust::kernels();
    const int n = block.n, k = memories.k, kp = memories.kp;
    work.rows.resize(amclust::kBlockRows, memories.ld);
    work.memberships.resize(amclust::kBlockRows, kp);
    work.norms.resize(amclust::kBlockRows);
    work.log_totals.resize(amclust::kBlockRows);
    work.missing.fit(amclust::kBlockRows, data_.features);
    data_.load(batch.rows + block.first, n, settings_.fill.data(), work.rows.data(), memories.ld, work.missing.data());

    // Logits are bias + factor x.rho; their softmax is the membership.
    const float beta = memories.beta;
    const float factor = amclust::with_energy(memories.metric, [&](auto energy) { return energy.logit_factor(beta); });
    const auto rows = work.rows.block(0, n);
    const auto p = work.memberships.block(0, n);
    memories.panel.products(rows, p);
    kernel.logits(p.data, n, kp, memories.bias.data(), factor, p.data);
    kernel.softmax(p.data, n, k, kp, work.log_totals.data());
    kernel.norms(rows.data, memories.ld, n, work.norms.data());
    float energies[amclust::kBlockRows];
    amclust::with_energy(memories.metric, [&](auto energy) {
      for (int i = 0; i < n; ++i) energies[i] = energy.energy(work.log_totals[i], beta, work.norms[i]);
    });
    for (int i = 0; i < n; ++i) {
      const double weight = (batch.weights ? batch.weights[block.first + i] : 1.0) / batch.total_weight;
      out.loss += weight * energies[i];
      energies[i] = std::max(0.0f, energies[i]);  // from here on, how badly the row is represented
      out.wins[std::max_element(p.row(i), p.row(i) + k) - p.row(i)] += weight;
      for (int m = 0; m < kp; ++m) {
        const float by_logit = static_cast<float>(-weight / beta) * p(i, m);
        out.gradient.bias[m] += by_logit;
        p(i, m) = factor * by_logit;  // d(logit) / d(rho) is factor x, and what the bias adds
      }
    }
    out.outer.add(rows, p);
    amclust::note_candidates(batch, block, energies, out.candidates);
  }

 private:
  const amclust::Dataset& data_;
  amclust::ObjectiveSettings settings_;
};

void make_it_known() {
  amclust::register_objective("energy", [](const amclust::Dataset& data, const amclust::ObjectiveSettings& settings) {
    return std::make_unique<MeanEnergy>(data, settings);
  });
}
// The example ends.

using amclust::Control;
using amclust::Dataset;
using amclust::Plan;
using amclust::Team;

Plan plan_for(const Dataset& data, const std::vector<float>& memories, int k) {
  Plan plan;
  plan.network.k = k;
  plan.network.d = data.features;
  plan.network.memories = memories;
  plan.network.log_weights.assign(k, 0.0f);
  plan.network.beta = 0.5;
  plan.network.n_steps = 5;
  plan.objective.name = "energy";
  plan.objective.fill.assign(data.features, 0.0f);
  plan.schedule = {0.1, 0.8, 1e-5, 1e-3, 80, 5, true};
  plan.batch_size = 256;
  return plan;
}

double loss_of(const Dataset& data, const Plan& plan, amclust::Gradient& gradient, int threads) {
  std::vector<std::int64_t> rows(data.rows);
  for (std::int64_t i = 0; i < data.rows; ++i) rows[i] = i;
  const amclust::Batch batch{
      rows.data(), rows.data(), nullptr, static_cast<int>(data.rows), static_cast<double>(data.rows), 0};
  amclust::Memories memories = plan.network.prepared(static_cast<double>(data.rows));
  memories.refresh(false);
  Team team(threads);
  return amclust::make_objective(data, plan.objective)->evaluate(batch, memories, gradient, team).loss;
}

void its_gradient_is_right() {
  const tests::Rows rows = tests::Rows::blobs(90, 5, 3, 1.0, 3);
  const Dataset data = rows.dataset();
  Plan plan = plan_for(data, {rows.values.begin(), rows.values.begin() + 15}, 3);
  amclust::Gradient gradient, other;
  loss_of(data, plan, gradient, 1);
  const int kp = amclust::padded(3, amclust::kernels().lanes);
  for (std::size_t at = 0; at < 15; ++at) {
    constexpr float kStep = 0.02f;
    double sides[2];
    for (const int side : {0, 1}) {
      Plan moved = plan;
      moved.network.memories[at] += side ? kStep : -kStep;
      sides[side] = loss_of(data, moved, other, 1);
    }
    CHECK_NEAR(gradient.memories[(at % 5) * kp + at / 5], (sides[1] - sides[0]) / (2 * kStep), 2e-3);
  }
  CHECK_EQUAL(loss_of(data, plan, gradient, 1), loss_of(data, plan, other, 3));
}

void it_is_trained() {
  const tests::Rows rows = tests::Rows::blobs(400, 5, 4, 0.5, 8);
  const Dataset data = rows.dataset();
  const std::vector<float> fill(data.features, 0.0f);
  Team team(1);
  const auto seedings =
      amclust::seed_memories(data, {nullptr, nullptr, data.rows}, 4, {amclust::SeedingMethod::plus_plus}, {1}, 1,
                             fill.data(), team, amclust::Control());
  const Plan plan = plan_for(data, seedings[0].memories, 4);
  std::vector<amclust::RunRecord> records;
  amclust::Monitor monitor;
  amclust::supervise(monitor, [&](Control& control) {
    records = amclust::train(data, {nullptr, nullptr, data.rows}, {plan, plan}, 2, control);
  });
  CHECK(records[0].loss <= records[0].loss_curve.front());
  CHECK_EQUAL(records[0].best_living, 4);
  CHECK(records[0].memories == records[1].memories);
}

}  // namespace

int main() {
  const std::vector<std::string> before = amclust::objective_names();
  make_it_known();
  CHECK_EQUAL(amclust::objective_names().size(), before.size() + 1);
  CHECK_THROWS(std::invalid_argument, make_it_known());
  its_gradient_is_right();
  it_is_trained();
  return check::finish();
}
