// Every objective: its gradient against finite differences of its loss, the same bits for any number of threads, and
// masks, weights and missing values where they belong. (Against autograd: tests/test_gradients.py.)
#include "blobs.hpp"
#include "check.hpp"
#include "objectives/objective.hpp"

#include <cstring>
#include <stdexcept>

namespace {

using amclust::Dataset;
using amclust::EnergyKind;
using amclust::Evaluation;
using amclust::Gradient;
using amclust::Memories;
using amclust::Team;
using tests::kCosine;
using tests::kEuclidean;

struct Case {
  const char* objective;
  EnergyKind metric;
  int n, d, k;
  bool with_missing, weighted;
};

// A batch of all rows, and a network near them.
struct Setting {
  tests::Rows rows;
  Dataset data;
  std::vector<std::int64_t> index;
  std::vector<float> weights;
  amclust::ObjectiveSettings settings;
  Memories memories;

  explicit Setting(const Case& c) : rows(tests::Rows::blobs(c.n, c.d, c.k, 1.0, 5)) {
    for (float& value : rows.values) value *= 0.5f;
    if (c.with_missing) rows.remove_values(0.25, 6);
    data = rows.dataset(c.metric);
    tests::Source source(7);
    for (int i = 0; i < c.n; ++i) {
      index.push_back(i);
      if (c.weighted) weights.push_back(static_cast<float>(source.uniform(0.1, 2.0)));
    }
    settings.name = c.objective;
    settings.seed = 3;
    settings.mask_prob = 0.3;
    settings.fill.assign(c.d, 0.1f);
    settings.anchor = 0.15;
    settings.tie = 0.13;
    const bool cosine = c.metric == kCosine;
    memories = Memories(c.k, c.d, c.metric, cosine ? 3.0f : 3.0f / static_cast<float>(c.d), 0.3f, 4, c.n);
    std::vector<float> start(static_cast<std::size_t>(c.k) * c.d);
    for (int m = 0; m < c.k; ++m)
      for (int j = 0; j < c.d; ++j) {
        const float value = rows.values[static_cast<std::size_t>(m % c.n) * c.d + j];
        start[static_cast<std::size_t>(m) * c.d + j] = (std::isnan(value) ? 0.0f : value) + 0.3f * source.normal();
      }
    memories.set(start.data());
    for (int m = 0; m < c.k; ++m) memories.log_weights[m] = 0.3f * source.normal();
  }

  amclust::Batch batch() const {
    double total = static_cast<double>(index.size());
    if (!weights.empty()) {
      total = 0.0;
      for (const float w : weights) total += w;
    }
    return {index.data(),
            index.data(),
            weights.empty() ? nullptr : weights.data(),
            static_cast<int>(index.size()),
            total,
            2};
  }
  Evaluation evaluate(Gradient& gradient, int threads = 1) {
    Team team(threads);
    const auto objective = amclust::make_objective(data, settings);
    memories.refresh(objective->needs_gram(memories));
    return objective->evaluate(batch(), memories, gradient, team);
  }
  double loss() {
    Gradient ignored;
    return evaluate(ignored).loss;
  }
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const char* objective : {"completion", "reconstruction", "silhouette"})
    for (const EnergyKind metric : tests::energies())
      for (const bool with_missing : {false, true}) {
        out.push_back({objective, metric, 90, 7, 3, with_missing, false});
        out.push_back({objective, metric, 40, 3, 9, with_missing, true});
        out.push_back({objective, metric, 33, 50, 4, with_missing, true});
      }
  return out;
}

void describe(const char* what, const Case& c) {
  check::describe(what, " (", amclust::kernels().name, "): ", c.objective, " ", amclust::energy_name(c.metric),
                  " n=", c.n, " d=", c.d, " k=", c.k, c.with_missing ? " missing" : "", c.weighted ? " weighted" : "");
}

// Along random directions, so that the loss moves by more than float's noise.
void check_gradient(const Case& c) {
  describe("gradient", c);
  Setting setting(c);
  // With missing values the silhouette takes what the memories fill in as constants, which differences do not.
  if (c.with_missing && setting.settings.name == "silhouette") return;
  Gradient gradient;
  setting.evaluate(gradient);
  const int kp = setting.memories.kp;
  amclust::Buffer values, log_weights;
  values.copy_from(setting.memories.values);
  log_weights.copy_from(setting.memories.log_weights);
  tests::Source source(8);
  double norm = 0.0;
  for (int j = 0; j < c.d; ++j)
    for (int m = 0; m < c.k; ++m) norm += std::pow(gradient.memories[static_cast<std::size_t>(j) * kp + m], 2);
  for (int m = 0; m < c.k; ++m) norm += std::pow(gradient.bias[m], 2);
  CHECK(norm > 0.0);
  for (int trial = 0; trial < 4; ++trial) {
    std::vector<double> direction(static_cast<std::size_t>(c.d + 1) * kp, 0.0);
    double expected = 0.0;
    for (int j = 0; j <= c.d; ++j)
      for (int m = 0; m < c.k; ++m) {
        const std::size_t at = static_cast<std::size_t>(j) * kp + m;
        direction[at] = source.normal();
        expected += direction[at] * (j < c.d ? gradient.memories[at] : gradient.bias[m]);
      }
    const auto loss_at = [&](double step) {
      for (int j = 0; j <= c.d; ++j)
        for (int m = 0; m < c.k; ++m) {
          const std::size_t at = static_cast<std::size_t>(j) * kp + m;
          if (j < c.d)
            setting.memories.values[at] = static_cast<float>(values[at] + step * direction[at]);
          else
            setting.memories.log_weights[m] = static_cast<float>(log_weights[m] + step * direction[at]);
        }
      const double loss = setting.loss();
      setting.memories.values.copy_from(values);
      setting.memories.log_weights.copy_from(log_weights);
      return loss;
    };
    constexpr double h = 2e-3;
    const double found = (loss_at(h) - loss_at(-h)) / (2.0 * h);
    CHECK_NEAR(found, expected, 0.03 * std::sqrt(norm) + 2e-4);
  }
}

void check_threads(Case c) {
  c.n *= 13;  // several parts
  describe("threads", c);
  Setting setting(c);
  amclust::Buffer values;  // a refresh puts memories back on the sphere, which may change their last bit
  values.copy_from(setting.memories.values);
  Gradient one;
  const Evaluation alone = setting.evaluate(one);
  CHECK(std::isfinite(alone.loss));
  for (const int threads : {2, 4}) {
    setting.memories.values.copy_from(values);
    Gradient several;
    const Evaluation together = setting.evaluate(several, threads);
    CHECK_EQUAL(together.loss, alone.loss);
    CHECK(together.wins == alone.wins);
    bool same = together.candidates.size() == alone.candidates.size();
    for (std::size_t i = 0; same && i < alone.candidates.size(); ++i)
      same = together.candidates[i].row == alone.candidates[i].row &&
             together.candidates[i].badness == alone.candidates[i].badness;
    CHECK(same);
    CHECK(std::memcmp(one.memories.data(), several.memories.data(), one.memories.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(one.bias.data(), several.bias.data(), one.bias.size() * sizeof(float)) == 0);
  }
  double wins = 0.0, total = setting.batch().total_weight;
  for (const double w : alone.wins) wins += w;
  CHECK_NEAR(wins, total, 1e-3 * total);
  const std::size_t row_bytes = static_cast<std::size_t>(setting.memories.kp) * sizeof(float);
  const std::vector<float> zero(setting.memories.kp, 0.0f);
  CHECK(std::memcmp(one.memories.data() + static_cast<std::ptrdiff_t>(c.d) * setting.memories.kp, zero.data(),
                    row_bytes) == 0);
}

// An evaluation leaves nothing behind that changes the next one, of another size too.
void check_reuse(const Case& c) {
  describe("reuse", c);
  Setting setting(c);
  Team team(2);
  const auto objective = amclust::make_objective(setting.data, setting.settings);
  setting.memories.refresh(objective->needs_gram(setting.memories));
  Gradient first, again;
  const amclust::Batch whole = setting.batch();
  amclust::Batch part = whole;
  part.size = 5;
  const double loss = objective->evaluate(whole, setting.memories, first, team).loss;
  CHECK(std::isfinite(objective->evaluate(part, setting.memories, again, team).loss));
  CHECK_EQUAL(objective->evaluate(whole, setting.memories, again, team).loss, loss);
  CHECK(std::memcmp(first.memories.data(), again.memories.data(), first.memories.size() * sizeof(float)) == 0);
}

// Two copies of a row are a row of weight two.
void check_weights(const Case& c) {
  describe("weights", c);
  Setting setting(c), doubled(c);
  setting.weights.assign(c.n, 1.0f);
  doubled.weights.assign(c.n, 1.0f);
  setting.weights[4] = 2.0f;
  doubled.index.push_back(4);
  doubled.weights.push_back(1.0f);
  // The copy is the same row to the draws as well.
  Gradient a, b;
  const Evaluation heavy = setting.evaluate(a), twice = doubled.evaluate(b);
  CHECK_NEAR(heavy.loss, twice.loss, 1e-5);
  double largest = 0.0;
  for (std::size_t i = 0; i < a.memories.size(); ++i) largest = std::max<double>(largest, std::abs(a.memories[i]));
  for (std::size_t i = 0; i < a.memories.size(); ++i) CHECK_NEAR(a.memories[i], b.memories[i], 1e-4 * largest);
  // A row of weight zero is not there.
  setting.weights[4] = 0.0f;
  doubled.index.pop_back();
  doubled.weights.pop_back();
  doubled.index.erase(doubled.index.begin() + 4);
  doubled.weights.pop_back();
  CHECK_NEAR(setting.evaluate(a).loss, doubled.evaluate(b).loss, 1e-5);
}

// An objective from outside: half the squared length of the memories, whatever the rows.
class Toy : public amclust::Objective {
 public:
  Evaluation evaluate(const amclust::Batch& batch, const Memories& memories, Gradient& gradient, Team&) override {
    gradient.memories.copy_from(memories.values);
    gradient.bias.resize(memories.kp);
    Evaluation out;
    out.wins.assign(memories.k, batch.total_weight / memories.k);
    for (std::size_t i = 0; i < memories.values.size(); ++i) out.loss += 0.5 * std::pow(memories.values[i], 2);
    return out;
  }
};

void check_registry() {
  check::describe("registry");
  const std::vector<std::string> own{"completion", "reconstruction", "silhouette"};
  CHECK(amclust::objective_names() == own);
  const auto make_toy = [](const Dataset&, const amclust::ObjectiveSettings&) { return std::make_unique<Toy>(); };
  amclust::register_objective("toy", make_toy);
  CHECK_EQUAL(amclust::objective_names().back(), std::string("toy"));
  CHECK_THROWS(std::invalid_argument, amclust::register_objective("toy", make_toy));
  CHECK_THROWS(std::invalid_argument, amclust::register_objective("completion", make_toy));
  check_gradient({"toy", kEuclidean, 20, 3, 2, false, false});

  const tests::Rows rows = tests::Rows::blobs(4, 2, 2, 1.0, 1);
  const Dataset data = rows.dataset();
  amclust::ObjectiveSettings unknown;
  unknown.name = "contrast";
  CHECK_THROWS(std::invalid_argument, amclust::make_objective(data, unknown));
}

}  // namespace

int main() {
  for (const char* name : tests::instruction_sets()) {
    amclust::use_instruction_set(name);
    for (const Case& c : cases()) {
      check_gradient(c);
      check_threads(c);
      check_reuse(c);
      check_weights(c);
    }
  }
  check_registry();
  return check::finish();
}
