// Exact steps: the assignment is the nearest memory whatever the bounds say, the loss never rises, memories move to
// where they are needed, none stays without rows, the loss is that of all rows, and threads change no bit.
#include "blobs.hpp"
#include "check.hpp"
#include "training/exact_steps.hpp"

#include <limits>

namespace {

using amclust::Dataset;
using amclust::EnergyKind;
using amclust::ExactSteps;
using amclust::NetworkParameters;
using amclust::Team;
using tests::kCosine;
using tests::kEuclidean;

NetworkParameters start_at(const Dataset& data, const std::vector<std::int64_t>& rows) {
  NetworkParameters out;
  out.k = static_cast<int>(rows.size());
  out.d = data.features;
  const std::vector<float> fill(data.features, 0.0f);
  std::vector<std::uint8_t> missing(data.features);
  out.memories.resize(rows.size() * data.features);
  for (std::size_t m = 0; m < rows.size(); ++m)
    data.load(&rows[m], 1, fill.data(), &out.memories[m * data.features], data.features, missing.data());
  out.log_weights.assign(out.k, 0.0f);
  out.energy = data.metric;
  return out;
}

std::vector<std::int64_t> first(int k) {
  std::vector<std::int64_t> out(k);
  for (int m = 0; m < k; ++m) out[m] = m;
  return out;
}

// Labels and loss from all distances.
double check_assignment(const Dataset& data, const ExactSteps& steps, const float* weights) {
  const std::vector<float> memories = steps.memories_by_row();
  const int d = data.features, k = steps.memories().k;
  std::vector<float> row(d);
  double loss = 0.0;
  int wrong = 0;
  for (std::int64_t i = 0; i < data.rows; ++i) {
    data.load(&i, 1, nullptr, row.data(), d, nullptr);
    double least = std::numeric_limits<double>::infinity(), own = 0.0;
    for (int m = 0; m < k; ++m) {
      double square = 0.0;
      for (int j = 0; j < d; ++j) square += std::pow(double{row[j]} - memories[static_cast<std::size_t>(m) * d + j], 2);
      least = std::min(least, square);
      if (m == steps.labels()[i]) own = square;
    }
    wrong += own > least * (1.0 + 1e-4) + 1e-6;
    loss += (weights ? weights[i] : 1.0) * own;
  }
  CHECK_EQUAL(wrong, 0);
  return loss;
}

void steps_are_right(EnergyKind metric, int k, bool weighted) {
  check::describe("metric ", static_cast<int>(metric), ", k ", k, ", weighted ", weighted);
  const tests::Rows rows = tests::Rows::blobs(700, 5, 9, 1.0, 3);
  const Dataset data = rows.dataset(metric);
  std::vector<float> weights(rows.n, 1.0f);
  tests::Source source(5);
  for (float& weight : weights) weight = static_cast<float>(source.uniform(0.1, 3.0));
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 2, 3}) {
    Team team(threads);
    ExactSteps steps(data, {nullptr, weighted ? weights.data() : nullptr, rows.n}, start_at(data, first(k)), nullptr,
                     team, nullptr);
    double before = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 12; ++i) {
      const double loss = check_assignment(data, steps, weighted ? weights.data() : nullptr);
      CHECK_NEAR(steps.loss(), loss, 1e-4 * loss + 1e-6);
      CHECK(loss <= before * (1.0 + 1e-5));
      before = loss;
      steps.step(0.0);
    }
    for (std::uint32_t round = 0; round < 4; ++round) {
      steps.relocate(1, round);
      const double loss = check_assignment(data, steps, weighted ? weights.data() : nullptr);
      CHECK_NEAR(steps.loss(), loss, 1e-4 * loss + 1e-6);
      CHECK(loss <= before * (1.0 + 1e-4));
      before = loss;
    }
    CHECK_NEAR(steps.measure_loss(), before, 1e-6 * before + 1e-6);
    found.push_back(steps.memories_by_row());
  }
  CHECK(found[0] == found[1] && found[0] == found[2]);
}

// Few rows change their memory in a step, and some outweigh all others: memories are the means of their rows all the
// same, and the loss that steps and moves add up is that of all rows.
void sums_follow_the_rows() {
  check::describe("sums");
  const tests::Rows rows = tests::Rows::blobs(6000, 3, 7, 2.0, 21);
  const Dataset data = rows.dataset();
  const int d = data.features, k = 12;
  std::vector<float> weights(rows.n, 1.0f);
  for (int i = 0; i < rows.n; i += 500) weights[i] = 1e9f;
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 2, 3}) {
    Team team(threads);
    ExactSteps steps(data, {nullptr, weights.data(), rows.n}, start_at(data, first(k)), nullptr, team, nullptr);
    for (int i = 0; i < 30; ++i) {
      const std::vector<std::int32_t> labels = steps.labels();
      steps.step(0.0);
      std::vector<double> sums(static_cast<std::size_t>(k) * d, 0.0), sizes(k, 0.0);
      for (std::int64_t at = 0; at < rows.n; ++at) {
        sizes[labels[at]] += weights[at];
        for (int j = 0; j < d; ++j) sums[labels[at] * d + j] += double{weights[at]} * rows.values[at * d + j];
      }
      const std::vector<float> memories = steps.memories_by_row();
      for (int m = 0; m < k; ++m)
        for (int j = 0; j < d && sizes[m] > 0.0; ++j) CHECK_NEAR(memories[m * d + j], sums[m * d + j] / sizes[m], 1e-5);
      const double loss = check_assignment(data, steps, weights.data());
      CHECK_NEAR(steps.loss(), loss, 1e-4 * loss);
    }
    for (std::uint32_t round = 0; round < 3; ++round) {
      steps.relocate(1, round);
      const double loss = check_assignment(data, steps, weights.data());
      CHECK_NEAR(steps.loss(), loss, 1e-4 * loss);
    }
    const double loss = check_assignment(data, steps, weights.data());
    CHECK_NEAR(steps.measure_loss(), loss, 1e-5 * loss);
    found.push_back(steps.memories_by_row());
  }
  CHECK(found[0] == found[1] && found[0] == found[2]);
}

// All memories start in one of two far blobs: half of them have to move.
void memories_move() {
  check::describe("moves");
  const tests::Rows rows = tests::Rows::blobs(600, 3, 6, 0.05, 11);
  const Dataset data = rows.dataset();
  Team team(2);
  std::vector<std::int64_t> start;
  for (int m = 0; m < 6; ++m) start.push_back(m < 5 ? 6 * m : 1);  // five in blob 0, one in blob 1
  ExactSteps steps(data, {nullptr, nullptr, rows.n}, start_at(data, start), nullptr, team, nullptr);
  steps.settle(50, 0.0);
  for (std::uint32_t round = 0; round < 10 && steps.relocate(7, round); ++round) steps.settle(50, 0.0);
  const double per_row = steps.loss() / rows.n;
  CHECK(per_row < 3 * 0.05 * 0.05 * 1.1);
}

void no_memory_stays_empty() {
  check::describe("empty");
  const tests::Rows rows = tests::Rows::blobs(40, 2, 4, 0.5, 2);
  const Dataset data = rows.dataset();
  Team team(1);
  NetworkParameters start = start_at(data, first(30));
  for (std::size_t i = 20; i < start.memories.size(); ++i) start.memories[i] = 100.0f;  // far from all rows
  ExactSteps steps(data, {nullptr, nullptr, rows.n}, start, nullptr, team, nullptr);
  CHECK(steps.empty() > 10);
  CHECK(steps.fill_empty(3));
  CHECK_EQUAL(steps.empty(), 0);
}

// Copies of a memory: one of them has all the rows.
void copies_get_rows() {
  check::describe("copies");
  tests::Rows rows = tests::Rows::blobs(100, 2, 4, 0.5, 4);
  for (int i = 0; i < 50; ++i) rows.values[2 * i] = rows.values[2 * i + 1] = 0.0f;
  const Dataset data = rows.dataset();
  Team team(1);
  const NetworkParameters start = start_at(data, {0, 1, 99, 2});
  ExactSteps steps(data, {nullptr, nullptr, rows.n}, start, nullptr, team, nullptr);
  CHECK(steps.empty() >= 2);
  CHECK(steps.fill_empty(3));
  CHECK_EQUAL(steps.empty(), 0);
}

}  // namespace

int main() {
  for (const EnergyKind metric : {kEuclidean, kCosine})
    for (const int k : {2, 9, 40})
      for (const bool weighted : {false, true}) steps_are_right(metric, k, weighted);
  sums_follow_the_rows();
  memories_move();
  no_memory_stays_empty();
  copies_get_rows();
  return check::finish();
}
