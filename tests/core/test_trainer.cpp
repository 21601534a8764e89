// Training from seeds to labels: it finds blobs, repeats itself to the bit, moves the memories of empty clusters, stops
// when told to.
#include "blobs.hpp"
#include "check.hpp"
#include "inference/infer.hpp"
#include "training/seeding.hpp"
#include "training/trainer.hpp"

#include <algorithm>
#include <set>

namespace {

using amclust::Control;
using amclust::Dataset;
using amclust::EnergyKind;
using amclust::Monitor;
using amclust::Plan;
using amclust::ProgressEvent;
using amclust::RunRecord;
using amclust::SeedingMethod;
using amclust::Team;
using tests::kCosine;
using tests::kEuclidean;

constexpr int kClusters = 4;

Plan settings_for(const Dataset& data, const char* objective, std::uint64_t seed) {
  Plan run;
  run.objective.name = objective;
  run.objective.seed = seed;
  run.objective.mask_prob = 0.3;
  run.objective.fill.assign(data.features, 0.0f);
  run.objective.anchor = 1.0;
  run.objective.tie = 0.3;
  run.network.k = kClusters;
  run.network.d = data.features;
  run.network.log_weights.assign(kClusters, 0.0f);
  run.network.energy = data.metric;
  run.network.beta = data.metric == kCosine ? 8.0 : 0.5;
  run.network.step_size = 0.3;
  run.network.n_steps = 10;
  run.batch_size = 256;
  run.schedule = {0.1, 0.8, 1e-5, 1e-3, 60, 5, true};
  return run;
}

std::vector<Plan> seeded_runs(const Dataset& data, const char* objective, int runs) {
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < runs; ++i) seeds.push_back(17 + static_cast<std::uint64_t>(i));
  const std::vector<SeedingMethod> methods(seeds.size(), SeedingMethod::plus_plus);
  Team team(1);
  const std::vector<float> fill(data.features, 0.0f);
  const auto seedings = amclust::seed_memories(data, {nullptr, nullptr, data.rows}, kClusters, methods, seeds, 1,
                                               fill.data(), team, Control());
  std::vector<Plan> out;
  for (int i = 0; i < runs; ++i) {
    CHECK_EQUAL(seedings[i].distinct, kClusters);
    out.push_back(settings_for(data, objective, seeds[i]));
    out.back().network.memories = seedings[i].memories;
    out.back().objective.anchor = 1.0 / seedings[i].mean_square;
    out.back().objective.tie = 0.3 / seedings[i].mean_square;
  }
  return out;
}

std::vector<RunRecord> train(const Dataset& data, const std::vector<Plan>& runs, int threads,
                             Monitor&& monitor = Monitor{}) {
  std::vector<RunRecord> records;
  amclust::supervise(monitor, [&](Control& control) {
    records = amclust::train(data, {nullptr, nullptr, data.rows}, runs, threads, control);
  });
  return records;
}

std::vector<std::int32_t> labels_of(const Dataset& data, const Plan& run, const RunRecord& record) {
  amclust::NetworkParameters network = run.network;
  network.memories = record.memories;
  network.log_weights = record.log_weights;
  amclust::Memories memories = network.prepared(100.0);
  memories.refresh(true);
  std::vector<std::int32_t> labels(data.rows, -1);
  amclust::Inference out;
  out.labels = labels.data();
  Monitor monitor;
  amclust::supervise(monitor, [&](Control& control) {
    Team team(2);
    amclust::Certificates certificates(memories);
    amclust::infer(data, nullptr, data.rows, run.objective.fill.data(), certificates, out, team, control);
  });
  return labels;
}

// Row i belongs to blob i modulo the number of clusters. A row may have lost what tells it from others.
bool finds_the_blobs(const std::vector<std::int32_t>& labels, double share) {
  std::size_t right = 0;
  std::set<std::int32_t> used;
  for (int blob = 0; blob < kClusters; ++blob) {
    int counts[kClusters] = {};
    for (std::size_t i = static_cast<std::size_t>(blob); i < labels.size(); i += kClusters) ++counts[labels[i]];
    const int* most = std::max_element(counts, counts + kClusters);
    used.insert(static_cast<std::int32_t>(most - counts));
    right += static_cast<std::size_t>(*most);
  }
  return used.size() == kClusters && static_cast<double>(right) >= share * static_cast<double>(labels.size());
}

tests::Rows make_rows(int n, bool with_missing) {
  tests::Rows rows = tests::Rows::blobs(n, 6, kClusters, 0.3, 4);
  if (with_missing) rows.remove_values(0.2, 5);
  return rows;
}

void training_finds_blobs() {
  for (const char* objective : {"completion", "reconstruction", "silhouette"})
    for (const EnergyKind metric : tests::energies())
      for (const bool with_missing : {false, true}) {
        check::describe(objective, " ", amclust::energy_name(metric), with_missing ? " missing" : "");
        const tests::Rows rows = make_rows(240, with_missing);
        const Dataset data = rows.dataset(metric);
        const auto runs = seeded_runs(data, objective, 3);
        const auto records = train(data, runs, 2);
        int right = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
          right += finds_the_blobs(labels_of(data, runs[i], records[i]), with_missing ? 0.9 : 1.0);
          const RunRecord& record = records[i];
          CHECK(!record.loss_curve.empty() && record.loss_curve.size() <= 60);
          CHECK_EQUAL(record.loss, record.loss_curve[record.best_epoch]);
          CHECK(record.loss <= record.loss_curve.front());
          CHECK_EQUAL(record.optimizer.steps, static_cast<std::int64_t>(record.loss_curve.size()));
          CHECK(!(record.converged && record.improving));
          if (metric == kEuclidean) continue;
          for (int m = 0; m < kClusters; ++m) {
            double square = 0.0;
            for (int j = 0; j < 6; ++j) square += std::pow(record.memories[static_cast<std::size_t>(m) * 6 + j], 2);
            CHECK_NEAR(square, 1.0, 1e-4);
          }
        }
        CHECK(right >= 2);
      }
}

bool same(const RunRecord& a, const RunRecord& b) {
  return a.memories == b.memories && a.log_weights == b.log_weights && a.loss_curve == b.loss_curve &&
         a.optimizer.moments == b.optimizer.moments && a.best_epoch == b.best_epoch && a.reseeded == b.reseeded &&
         a.last_memories == b.last_memories && a.last_log_weights == b.last_log_weights &&
         a.optimizer.weight_moments == b.optimizer.weight_moments && a.optimizer.steps == b.optimizer.steps &&
         a.loss == b.loss && a.best_living == b.best_living && a.converged == b.converged &&
         a.improving == b.improving && a.schedule.learning_rate == b.schedule.learning_rate &&
         a.schedule.best == b.schedule.best && a.schedule.waited == b.schedule.waited &&
         a.schedule.plateaus == b.schedule.plateaus && a.stream.pass == b.stream.pass && a.stream.at == b.stream.at;
}

void bits_do_not_depend_on_the_threads() {
  for (const char* objective : {"completion", "reconstruction", "silhouette"}) {
    check::describe("threads: ", objective);
    const tests::Rows rows = make_rows(1500, true);
    const Dataset data = rows.dataset();
    auto runs = seeded_runs(data, objective, 3);
    for (Plan& run : runs) {
      run.batch_size = 1024;  // several parts, and a batch that is not full
      run.schedule.max_epochs = 4;
      run.learn_weights = true;
    }
    const auto alone = train(data, runs, 1);
    for (const int threads : {2, 4}) {
      const auto together = train(data, runs, threads);
      for (std::size_t i = 0; i < runs.size(); ++i) CHECK(same(alone[i], together[i]));
      // One run by itself: then the batch is shared out.
      CHECK(same(train(data, {runs[1]}, threads)[0], alone[1]));
    }
    CHECK(!same(alone[0], alone[1]));
  }
}

void dead_memories_come_alive() {
  for (const char* objective : {"completion", "reconstruction", "silhouette"}) {
    check::describe("reseeding: ", objective);
    const tests::Rows rows = make_rows(200, false);
    const Dataset data = rows.dataset();
    Plan run = settings_for(data, objective, 3);
    run.schedule.max_epochs = 120;
    for (int m = 0; m < kClusters; ++m)
      for (int j = 0; j < 6; ++j)
        run.network.memories.push_back(m < 2 ? rows.values[static_cast<std::size_t>(m) * 6 + j] : 500.0f);
    const RunRecord record = train(data, {run}, 1)[0];
    CHECK(record.reseeded >= 2);
    const auto labels = labels_of(data, run, record);
    CHECK_EQUAL(std::set<std::int32_t>(labels.begin(), labels.end()).size(), std::size_t{kClusters});
    run.reseed = false;
    const RunRecord untouched = train(data, {run}, 1)[0];
    CHECK_EQUAL(untouched.reseeded, 0);
    const auto without = labels_of(data, run, untouched);
    CHECK(std::set<std::int32_t>(without.begin(), without.end()).size() < std::size_t{kClusters});
  }
}

void training_stops_when_told_to() {
  struct Stopper : Monitor {
    int polls = 0;
    bool poll() override { return ++polls < 2; }
  };
  const tests::Rows rows = make_rows(400, false);
  const Dataset data = rows.dataset();
  auto runs = seeded_runs(data, "completion", 2);
  for (Plan& run : runs) {
    run.schedule.max_epochs = 100000000;
    run.schedule.early_stopping = false;
  }
  CHECK_THROWS(amclust::Interrupted, train(data, runs, 2, Stopper{}));
  CHECK_THROWS(amclust::Interrupted, train(data, {runs[0]}, 2, Stopper{}));
}

void every_epoch_is_reported() {
  struct Listener : Monitor {
    std::vector<ProgressEvent>& events;
    explicit Listener(std::vector<ProgressEvent>& out) : events(out) {}
    bool wants_progress() const override { return true; }
    void progress(const ProgressEvent& event) override { events.push_back(event); }
  };
  const tests::Rows rows = make_rows(100, false);
  const Dataset data = rows.dataset();
  const auto runs = seeded_runs(data, "silhouette", 3);
  std::vector<ProgressEvent> events;
  const auto records = train(data, runs, 2, Listener(events));
  std::size_t epochs = 0;
  for (const RunRecord& record : records) epochs += record.loss_curve.size();
  CHECK_EQUAL(events.size(), epochs);
  for (const ProgressEvent& event : events) CHECK_EQUAL(event.loss, records[event.run].loss_curve[event.epoch]);
}

void the_schedule_is_kept() {
  const tests::Rows rows = make_rows(100, false);
  const Dataset data = rows.dataset();
  Plan run = seeded_runs(data, "reconstruction", 1)[0];
  run.schedule.max_epochs = 37;
  run.schedule.early_stopping = false;
  run.schedule.tol = 10.0;  // nothing is an improvement
  const RunRecord record = train(data, {run}, 1)[0];
  CHECK_EQUAL(record.loss_curve.size(), std::size_t{37});
  CHECK(!record.converged);
  CHECK_NEAR(record.schedule.learning_rate, 0.1 * std::pow(0.8, 7), 1e-9);
  run.schedule.min_lr = 0.09;
  CHECK_NEAR(train(data, {run}, 1)[0].schedule.learning_rate, 0.09, 1e-12);
  run.schedule.early_stopping = true;
  const RunRecord stopped = train(data, {run}, 1)[0];
  CHECK(stopped.converged && !stopped.improving && stopped.loss_curve.size() < 37);
  run.schedule.tol = 0.0;
  run.schedule.learning_rate = 1e-4;
  run.schedule.max_epochs = 3;
  CHECK(train(data, {run}, 1)[0].improving);
}

// Pausing changes nothing, whatever the run was in the middle of.
void a_paused_run_goes_on_as_if_it_had_not_stopped() {
  for (const char* objective : {"completion", "reconstruction", "silhouette"})
    for (const EnergyKind metric : tests::energies())
      for (const int batch_size : {64, 1024}) {
        check::describe("pausing: ", objective, " ", amclust::energy_name(metric));
        const tests::Rows rows = make_rows(200, true);
        const Dataset data = rows.dataset(metric);
        auto runs = seeded_runs(data, objective, 2);
        for (Plan& run : runs) {
          run.batch_size = batch_size;
          run.schedule.max_epochs = 60;
          run.schedule.patience = 2;
          run.learn_weights = true;
          run.network.memories[0] += 300.0f;  // nothing falls to it: it has to be seeded anew
        }
        const auto whole = train(data, runs, 1);
        for (const int epochs : {1, 4, 30, 31, 1000}) {
          for (Plan& run : runs) run.pause_at = epochs;
          const auto paused = train(data, runs, 1);
          for (std::size_t i = 0; i < runs.size(); ++i) {
            CHECK(paused[i].converged || paused[i].loss_curve.size() == static_cast<std::size_t>(std::min(epochs, 60)));
            runs[i].earlier = paused[i];
          }
        }
        const auto rest = train(data, runs, 1);
        for (std::size_t i = 0; i < runs.size(); ++i) CHECK(same(rest[i], whole[i]));
      }
  check::describe("");
}

void runs_of_one_call_may_differ_in_their_number_of_memories() {
  const tests::Rows rows = make_rows(100, false);
  const Dataset data = rows.dataset();
  auto runs = seeded_runs(data, "silhouette", 2);
  runs[1].network.k = kClusters - 1;
  runs[1].network.memories.resize(std::size_t{kClusters - 1} * 6);
  runs[1].network.log_weights.resize(kClusters - 1);
  const auto together = train(data, runs, 2);
  for (std::size_t i = 0; i < runs.size(); ++i) CHECK(same(together[i], train(data, {runs[i]}, 1)[0]));
}

void a_record_of_something_else_is_refused() {
  const tests::Rows rows = make_rows(100, false);
  const Dataset data = rows.dataset();
  Plan run = seeded_runs(data, "silhouette", 1)[0];
  run.pause_at = 3;
  const RunRecord record = train(data, {run}, 1)[0];
  run.earlier = record;
  run.earlier->best_epoch = 3;
  CHECK_THROWS(std::invalid_argument, train(data, {run}, 1));
  run.earlier = record;
  run.earlier->stream.at = 101;
  CHECK_THROWS(std::invalid_argument, train(data, {run}, 1));
  run.earlier = record;
  run.schedule.max_epochs = 2;
  CHECK_THROWS(std::invalid_argument, train(data, {run}, 1));
}

// New training from where other training left memories and moments.
void training_can_go_on() {
  const tests::Rows rows = make_rows(200, false);
  const Dataset data = rows.dataset();
  Plan run = seeded_runs(data, "reconstruction", 1)[0];
  run.schedule.early_stopping = run.reseed = false;
  run.keep = amclust::Keep::last;
  run.learn_weights = true;
  run.schedule.max_epochs = 12;
  run.schedule.patience = 100;  // the schedule begins anew
  const RunRecord whole = train(data, {run}, 1)[0];
  run.schedule.max_epochs = 5;
  const RunRecord half = train(data, {run}, 1)[0];
  run.network.memories = half.memories;
  run.network.log_weights = half.log_weights;
  run.optimizer = half.optimizer;
  run.schedule.max_epochs = 7;
  const RunRecord rest = train(data, {run}, 1)[0];
  CHECK(rest.memories == whole.memories);
  CHECK(rest.log_weights == whole.log_weights);
  CHECK_EQUAL(rest.optimizer.steps, whole.optimizer.steps);
}

void seeds_are_distinct_rows() {
  tests::Rows rows{6, 2, {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}};
  const Dataset data = rows.dataset();
  Team team(2);
  const float fill[] = {0.0f, 0.0f};
  for (const SeedingMethod method : {SeedingMethod::plus_plus, SeedingMethod::ward, SeedingMethod::random}) {
    const std::vector<SeedingMethod> methods(3, method), two(2, method);
    const auto three =
        amclust::seed_memories(data, {nullptr, nullptr, 6}, 3, methods, {1, 2, 3}, 0, fill, team, Control());
    for (const amclust::Seeding& seeding : three) {
      CHECK_EQUAL(seeding.distinct, 3);
      const std::set<float> values(seeding.memories.begin(), seeding.memories.end());
      CHECK((values == std::set<float>{1.0f, 2.0f, 3.0f}));
      CHECK_NEAR(seeding.mean_square, 0.0, 1e-12);
      CHECK_NEAR(seeding.median_gap, 2.0, 1e-6);
    }
    for (const amclust::Seeding& seeding :
         amclust::seed_memories(data, {nullptr, nullptr, 6}, 4, two, {1, 2}, 0, fill, team, Control()))
      CHECK_EQUAL(seeding.distinct, 3);  // fewer than asked for
    const float weights[] = {1, 1, 0, 0, 1, 1};
    for (const amclust::Seeding& seeding :
         amclust::seed_memories(data, {nullptr, weights, 6}, 3, two, {1, 2}, 0, fill, team, Control()))
      CHECK_EQUAL(seeding.distinct, 2);  // rows of weight 0 are no seeds
  }
}

}  // namespace

int main() {
  training_finds_blobs();
  bits_do_not_depend_on_the_threads();
  dead_memories_come_alive();
  check::describe("");
  training_stops_when_told_to();
  every_epoch_is_reported();
  the_schedule_is_kept();
  a_paused_run_goes_on_as_if_it_had_not_stopped();
  runs_of_one_call_may_differ_in_their_number_of_memories();
  a_record_of_something_else_is_refused();
  training_can_go_on();
  seeds_are_distinct_rows();
  return check::finish();
}
