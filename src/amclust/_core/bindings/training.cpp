// Plans and records of training, and what is done with them in one call: seed, train, evaluate.
#include "bindings/bind.hpp"
#include "bindings/states.hpp"
#include "energies/registry.hpp"
#include "training/exact_steps.hpp"
#include "training/masks.hpp"
#include "training/seeding.hpp"
#include "training/stream.hpp"
#include "training/trainer.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

namespace amclust::bindings {
namespace {

using namespace nb::literals;

// --- values -----------------------------------------------------------------------------------------------------

NetworkParameters network(const In<float, 2>& memories, const In<float, 1>& log_weights, const std::string& energy,
                          double beta, double step_size, int n_steps) {
  NetworkParameters out;
  out.k = static_cast<int>(memories.shape(0));
  out.d = static_cast<int>(memories.shape(1));
  out.memories = vector(memories, memories.size(), "memories");
  out.log_weights = vector(log_weights, static_cast<std::size_t>(out.k), "log_weights");
  out.energy = find_energy(energy);
  out.beta = beta;
  out.step_size = step_size;
  out.n_steps = n_steps;
  check(out);
  return out;
}

std::vector<SeedingMethod> seeding_methods(const std::vector<std::string>& names) {
  std::vector<SeedingMethod> out;
  for (const std::string& name : names) {
    if (name == "k-means++")
      out.push_back(SeedingMethod::plus_plus);
    else if (name == "ward")
      out.push_back(SeedingMethod::ward);
    else if (name == "random")
      out.push_back(SeedingMethod::random);
    else
      throw std::invalid_argument("unknown seeding: " + name);
  }
  return out;
}

std::vector<Seeding> seed(const HeldRows& held, const Indices& indices, const Weights& weights, int k,
                          const std::vector<std::string>& names, const std::vector<std::uint64_t>& seeds,
                          std::uint64_t sample_seed, const In<float, 1>& fill, int threads) {
  const std::vector<SeedingMethod> methods = seeding_methods(names);
  if (k < 1 || (indices && indices->size() == 0)) throw std::invalid_argument("there is nothing to seed");
  if (methods.size() != seeds.size()) throw std::invalid_argument("methods and seeds must be as many");
  const std::vector<float> start = vector(fill, static_cast<std::size_t>(held.data.features), "fill");
  const TrainingRows which = some_rows(held.data, indices, weights);
  std::vector<Seeding> seedings;
  supervised([&](Control& control) {
    Team team(threads);
    seedings = seed_memories(held.data, which, k, methods, seeds, sample_seed, start.data(), team, control);
  });
  return seedings;
}

// Given memories as a seeding.
Seeding measure(const HeldRows& held, const Indices& indices, const Weights& weights, const In<float, 2>& memories,
                std::uint64_t sample_seed, const In<float, 1>& fill) {
  const std::vector<float> start = vector(fill, static_cast<std::size_t>(held.data.features), "fill");
  const TrainingRows which = some_rows(held.data, indices, weights);
  const int k = static_cast<int>(memories.shape(0));
  Seeding seeding;
  seeding.memories = vector(memories, static_cast<std::size_t>(k) * held.data.features, "memories");
  supervised([&](Control&) { measure_scales(held.data, which, k, sample_seed, start.data(), seeding); });
  return seeding;
}

// The memories of a network, those that are nearest to no row moved to where they have rows.
Out<float, 2> fill_empty(const HeldRows& held, const Indices& indices, const Weights& weights,
                         const NetworkParameters& network, const In<float, 1>& fill, std::uint64_t seed, bool average,
                         int threads) {
  const std::vector<float> start = vector(fill, static_cast<std::size_t>(held.data.features), "fill");
  const TrainingRows which = some_rows(held.data, indices, weights);
  if (network.d != held.data.features) throw std::invalid_argument("the network does not fit the rows");
  check_energy(network, held.data);
  std::vector<float> memories;
  supervised([&](Control& control) {
    Team team(threads);
    ExactSteps steps(held.data, which, network, start.data(), team, &control);
    steps.fill_empty(seed);
    if (average) {
      steps.settle(1, 0.0);
      steps.fill_empty(seed);
    }
    memories = steps.memories_by_row();
  });
  return array(std::move(memories), network.k, network.d);
}

std::vector<RunRecord> train_plans(const HeldRows& held, const Indices& indices, const Weights& weights,
                                   const std::vector<Plan>& plans, int threads, std::optional<Progress> progress) {
  const TrainingRows which = some_rows(held.data, indices, weights);
  for (const Plan& plan : plans) check_energy(plan.network, held.data);
  std::vector<RunRecord> records;
  supervised([&](Control& control) { records = train(held.data, which, plans, threads, control); },
             progress ? nb::object(*progress) : nb::none());
  return records;
}

// Loss and gradients of one batch: what the tests hold against autograd.
struct BatchGradient {
  double loss = 0.0;
  std::vector<double> wins;
  int k = 0, d = 0;
  std::vector<float> by_memories, by_log_weights;
};

BatchGradient evaluate(const HeldRows& held, const In<std::int64_t, 1>& indices, const Weights& weights,
                       const Plan& plan, const std::optional<In<std::int32_t, 2>>& hidden, int threads) {
  const TrainingRows which = some_rows(held.data, indices, weights);
  check(plan, held.data.features, which.size);
  check_energy(plan.network, held.data);
  double total = 0.0;
  for (std::int64_t i = 0; i < which.size; ++i) total += which.weights ? which.weights[i] : 1.0;
  Batch batch{which.rows, which.rows, which.weights, static_cast<int>(which.size), total, 0};
  if (hidden) {
    if (static_cast<std::int64_t>(hidden->shape(0)) != which.size)
      throw std::invalid_argument("hidden must have one row per row");
    for (std::size_t i = 0; i < hidden->size(); ++i)
      if (hidden->data()[i] >= held.data.features) throw std::out_of_range("a hidden feature is out of range");
    batch.hidden = hidden->data();
    batch.n_hidden = static_cast<int>(hidden->shape(1));
  }
  Memories memories = plan.network.prepared(static_cast<double>(which.size));
  Gradient gradient;
  Evaluation evaluation;
  supervised([&](Control&) {
    Team team(threads);
    const auto objective = make_objective(held.data, plan.objective);
    objective->prepare(memories);
    memories.refresh(objective->needs_gram(memories));
    evaluation = objective->evaluate(batch, memories, gradient, team);
  });
  BatchGradient out;
  out.loss = evaluation.loss;
  out.wins = std::move(evaluation.wins);
  out.k = memories.k;
  out.d = memories.d;
  out.by_memories.resize(static_cast<std::size_t>(out.k) * out.d);
  for (int m = 0; m < out.k; ++m)
    for (int j = 0; j < out.d; ++j)
      out.by_memories[static_cast<std::size_t>(m) * out.d + j] =
          gradient.memories[static_cast<std::size_t>(j) * memories.kp + m];
  out.by_log_weights.assign(gradient.bias.data(), gradient.bias.data() + out.k);
  return out;
}

// The hidden coordinates that training draws, -1 where a row has fewer: for other backends, and for the tests.
Out<std::int32_t, 2> draw_masks(std::uint64_t seed, std::uint32_t epoch, const In<std::int64_t, 1>& rows,
                                double fraction, const In<std::uint8_t, 2>& missing,
                                const std::optional<In<std::int32_t, 1>>& levels) {
  const int d = static_cast<int>(missing.shape(1));
  if (missing.shape(0) < rows.size()) throw std::invalid_argument("missing must have one row per row");
  std::vector<TableColumn> columns;
  int features = 0;
  for (std::size_t j = 0; levels && j < levels->size(); ++j) {
    columns.push_back({features, levels->data()[j]});
    features += columns.back().width();
  }
  if (levels && features != d) throw std::invalid_argument("missing must have one column per level");
  ColumnMasks masks(d, std::move(columns));
  const int room = masks.room(fraction);
  std::vector<std::int32_t> out(rows.size() * room, -1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Random random(seed, Purpose::mask, epoch, static_cast<std::uint32_t>(rows.data()[i]));
    masks.draw(random, fraction, missing.data() + i * d, out.data() + i * room);
  }
  return array(std::move(out), rows.size(), room);
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<NetworkParameters> network_class(m, "Network", "A network in core units.");
  network_class
      .def(
          "__init__",
          [](NetworkParameters* self, const In<float, 2>& memories, const In<float, 1>& log_weights,
             const std::string& energy, double beta, double step_size, int n_steps) {
            new (self) NetworkParameters(network(memories, log_weights, energy, beta, step_size, n_steps));
          },
          "memories"_a, "log_weights"_a, "energy"_a, "beta"_a, "step_size"_a, "n_steps"_a)
      .def_prop_ro(
          "memories", [](const NetworkParameters& n) { return array(n.memories, n.k, n.d); }, kOwned)
      .def_prop_ro(
          "log_weights", [](const NetworkParameters& n) { return array(n.log_weights); }, kOwned)
      .def_prop_ro("energy", [](const NetworkParameters& n) { return energy_name(n.energy); })
      .def_ro("beta", &NetworkParameters::beta)
      .def_ro("step_size", &NetworkParameters::step_size)
      .def_ro("n_steps", &NetworkParameters::n_steps);
  bind_pickle(network_class);

  nb::class_<ObjectiveSettings> objective_class(m, "ObjectiveSettings", "What is minimised.");
  objective_class.def_rw("name", &ObjectiveSettings::name)
      .def_rw("seed", &ObjectiveSettings::seed, "Of masks, of the order of rows and of re-seeding.")
      .def_rw("mask_prob", &ObjectiveSettings::mask_prob)
      .def_prop_rw(
          "fill", [](const ObjectiveSettings& s) { return array(s.fill); },
          [](ObjectiveSettings& s, const In<float, 1>& fill) { s.fill = vector(fill, fill.size(), "fill"); },
          "Where hidden and missing values start, in core units.", kOwned)
      .def_rw("anchor", &ObjectiveSettings::anchor)
      .def_rw("tie", &ObjectiveSettings::tie)
      .def_rw("neighbours", &ObjectiveSettings::neighbours, "How many memories a row meets; 0: all of them.");
  bind_pickle(objective_class);

  nb::class_<ScheduleSettings> schedule_class(m, "ScheduleSettings",
                                              "The learning rate over the epochs, and when to stop.");
  schedule_class.def_rw("learning_rate", &ScheduleSettings::learning_rate)
      .def_rw("lr_factor", &ScheduleSettings::lr_factor)
      .def_rw("min_lr", &ScheduleSettings::min_lr)
      .def_rw("tol", &ScheduleSettings::tol)
      .def_rw("max_epochs", &ScheduleSettings::max_epochs)
      .def_rw("patience", &ScheduleSettings::patience)
      .def_rw("enough_epochs", &ScheduleSettings::enough_epochs,
              "With early stopping, no more epochs than these; 0: any number.")
      .def_rw("early_stopping", &ScheduleSettings::early_stopping);
  bind_pickle(schedule_class);

  nb::enum_<Keep>(m, "Keep", "Which memories a record has.")
      .value("BEST", Keep::best, "Those of the epoch with the least loss.")
      .value("LAST", Keep::last)
      .value("MEAN", Keep::mean, "The mean of those after each step.");

  nb::class_<Plan> plan_class(m, "Plan", "One training: what it starts from and how it goes.");
  plan_class.def(nb::init<NetworkParameters>(), "network"_a)
      .def("copy", [](const Plan& plan) { return plan; })
      .def_rw("network", &Plan::network)
      .def_rw("objective", &Plan::objective)
      .def_rw("schedule", &Plan::schedule)
      .def_rw("batch_size", &Plan::batch_size)
      .def_rw("learn_weights", &Plan::learn_weights)
      .def_rw("reseed", &Plan::reseed)
      .def_rw("measure_first", &Plan::measure_first, "The first epoch makes no step, where epochs have many.")
      .def_rw("starts_separated", &Plan::starts_separated,
              "Hardly any row is near the border of two clusters at the start.")
      .def_rw("whole_epochs", &Plan::whole_epochs)
      .def_rw("exact", &Plan::exact, "Assign and average instead of gradients: reconstruction with a large beta.")
      .def_rw("keep", &Plan::keep)
      .def_rw("pause_at", &Plan::pause_at, "Stop after this many epochs; `earlier` goes on from there.")
      .def_rw("earlier", &Plan::earlier, "The record of this very run so far.")
      .def(
          "resume",
          [](Plan& plan, const In<float, 3>& moments, const In<float, 2>& weight_moments, std::int64_t steps,
             const std::optional<In<float, 2>>& energy_moments) {
            const std::size_t k = plan.network.k, d = plan.network.d;
            plan.optimizer = {
                vector(moments, 2 * k * d, "moments"), vector(weight_moments, 2 * k, "weight_moments"), steps, {}};
            if (energy_moments)
              plan.optimizer.energy_moments = vector(*energy_moments, energy_moments->size(), "energy_moments");
          },
          "moments"_a, "weight_moments"_a, "steps"_a, "energy_moments"_a.none() = nb::none(),
          "Go on with the optimiser of other training that ended in these memories.")
      .def_prop_ro("steps", [](const Plan& plan) { return plan.optimizer.steps; })
      .def_prop_ro(
          "moments",
          [](const Plan& plan) {
            const std::size_t k = plan.network.k, d = plan.network.d;
            const std::vector<float>& moments = plan.optimizer.moments;
            return array(moments.empty() ? std::vector<float>(2 * k * d) : moments, 2, k, d);
          },
          "Adam's, of the training that this one goes on from; else zeros.", kOwned)
      .def_prop_ro(
          "weight_moments",
          [](const Plan& plan) {
            const std::size_t k = plan.network.k;
            const std::vector<float>& moments = plan.optimizer.weight_moments;
            return array(moments.empty() ? std::vector<float>(2 * k) : moments, 2, k);
          },
          kOwned)
      .def_prop_ro(
          "energy_moments",
          [](const Plan& plan) {
            const std::vector<float>& moments = plan.optimizer.energy_moments;
            return array(moments, 2, moments.size() / 2);
          },
          kOwned)
      .def_prop_rw(
          "energy", [](const Plan& plan) { return array(plan.energy); },
          [](Plan& plan, const In<float, 1>& energy) { plan.energy = vector(energy, energy.size(), "energy"); },
          "Parameters of an energy that the core does not have; empty: as the energy has them.", kOwned);
  bind_pickle(plan_class);

  nb::class_<Seeding>(m, "Seeding", "Initial memories, and how far rows are from them.")
      .def_prop_ro(
          "memories",
          [](const Seeding& s) {
            const std::size_t k = static_cast<std::size_t>(s.distinct);
            if (s.memories.empty()) throw std::invalid_argument("there are fewer distinct rows than memories");
            return array(s.memories, k, s.memories.size() / k);
          },
          kOwned)
      .def_ro("mean_square", &Seeding::mean_square, "Mean squared distance of a row to its memory.")
      .def_ro("median_gap", &Seeding::median_gap,
              "Median difference between the squared distances to the second nearest and the nearest memory.")
      .def_ro("separated", &Seeding::separated, "Whether hardly any row is near the border of two clusters.")
      .def_ro("total_square", &Seeding::total_square, "Mean squared distance of a row to the mean of all.")
      .def_ro("distinct", &Seeding::distinct, "Fewer than memories: there are no more distinct rows.");

  nb::class_<BatchGradient>(m, "BatchGradient", "Loss and gradients of one batch.")
      .def_ro("loss", &BatchGradient::loss)
      .def_prop_ro(
          "wins", [](const BatchGradient& g) { return array(g.wins); }, kOwned)
      .def_prop_ro(
          "by_memories", [](const BatchGradient& g) { return array(g.by_memories, g.k, g.d); }, kOwned)
      .def_prop_ro("by_log_weights", [](const BatchGradient& g) { return array(g.by_log_weights); }, kOwned);

  m.def("seed", &seed, "rows"_a, "indices"_a.none(), "weights"_a.none(), "n_clusters"_a, "methods"_a, "seeds"_a,
        "sample_seed"_a, "fill"_a, "threads"_a);
  m.def("measure", &measure, "rows"_a, "indices"_a.none(), "weights"_a.none(), "memories"_a, "sample_seed"_a, "fill"_a);
  m.def("fill_empty", &fill_empty, "rows"_a, "indices"_a.none(), "weights"_a.none(), "network"_a, "fill"_a, "seed"_a,
        "average"_a, "threads"_a,
        "Return the memories of a network, the ones of empty clusters where they have rows; or the means of the rows "
        "that are nearest to each.");
  m.def("train", &train_plans, "rows"_a, "indices"_a.none(), "weights"_a.none(), "plans"_a, "threads"_a,
        "progress"_a.none() = nb::none());
  m.def("evaluate", &evaluate, "rows"_a, "indices"_a, "weights"_a.none(), "plan"_a, "hidden"_a.none() = nb::none(),
        "threads"_a = 1);
  m.def("draw_masks", &draw_masks, "seed"_a, "epoch"_a, "rows"_a, "mask_prob"_a, "missing"_a, "levels"_a = nb::none());
  m.attr("EPOCH_ROWS") = kEpochRows;
  m.def("objective_names", &objective_names, "The objectives that the core has.");
  m.def("energy_names", &energy_names, "The energies that the core has.");
}

}  // namespace amclust::bindings
