// Records of training, and runs that are driven from outside: the torch backend computes losses and gradients, the
// core draws rows, keeps the schedule and the record.
#include "bindings/bind.hpp"
#include "objectives/chunked.hpp"
#include "training/run.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace amclust::bindings {
namespace {

using namespace nb::literals;

// Which rows the batches of an epoch take: [batches][batch size], 0 past the end of a batch.
struct EpochRows {
  int batch_size = 0;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> sizes;
};

class DrivenRun {
 public:
  DrivenRun(const Plan& plan, std::int64_t n_rows, const Weights& weights)
      : plan_(plan),
        weights_(weights ? vector(*weights, static_cast<std::size_t>(n_rows), "weights") : std::vector<float>()),
        run_(plan_, {nullptr, weights ? weights_.data() : nullptr, n_rows}, plan_.network.d) {}
  DrivenRun(const DrivenRun&) = delete;  // the run refers to the plan

  Run& run() { return run_; }

  EpochRows next_epoch() {
    rows_ = {};
    rows_.batch_size = run_.batch_size();
    for (int b = 0; b < run_.batches_per_epoch(); ++b) {
      const Batch batch = run_.next_batch();
      rows_.sizes.push_back(batch.size);
      rows_.ids.insert(rows_.ids.end(), batch.ids, batch.ids + batch.size);
      rows_.ids.resize(rows_.sizes.size() * rows_.batch_size, 0);
    }
    return rows_;
  }

  // badness [batches][batch size] of the rows of this epoch.
  std::vector<std::int64_t> draw_reseeds(const In<float, 2>& badness, int count) {
    const std::size_t size = static_cast<std::size_t>(rows_.batch_size);
    if (badness.size() != rows_.ids.size()) throw std::invalid_argument("badness has the wrong size");
    std::vector<Candidate> candidates;
    for (std::size_t b = 0; b < rows_.sizes.size(); ++b) {
      Batch batch{};
      batch.rows = rows_.ids.data() + b * size;
      note_candidates(batch, {0, static_cast<int>(rows_.sizes[b])}, badness.data() + b * size, candidates);
    }
    std::vector<float> values;
    for (const Candidate& candidate : candidates) values.push_back(candidate.badness);
    std::vector<std::int64_t> picks = run_.draw_reseeds(std::move(values), count);
    for (std::int64_t& pick : picks) pick = candidates[pick].row;
    return picks;
  }

  RunRecord finish(const In<float, 2>& memories, const In<float, 1>& log_weights, const In<float, 2>& last_memories,
                   const In<float, 1>& last_log_weights, const In<float, 3>& moments,
                   const In<float, 2>& weight_moments, std::int64_t steps, const std::optional<In<float, 1>>& energy,
                   const std::optional<In<float, 1>>& last_energy, const std::optional<In<float, 2>>& energy_moments) {
    const std::size_t k = plan_.network.k, size = k * plan_.network.d, more = energy ? energy->size() : 0;
    OptimizerState optimizer{
        vector(moments, 2 * size, "moments"), vector(weight_moments, 2 * k, "weight_moments"), steps, {}};
    if (more > 0 && (!last_energy || !energy_moments)) throw std::invalid_argument("the energy has no moments");
    if (more > 0) optimizer.energy_moments = vector(*energy_moments, 2 * more, "energy_moments");
    return run_.finish(vector(memories, size, "memories"), vector(log_weights, k, "log_weights"),
                       vector(last_memories, size, "last_memories"), vector(last_log_weights, k, "last_log_weights"),
                       std::move(optimizer), more > 0 ? vector(*energy, more, "energy") : std::vector<float>(),
                       more > 0 ? vector(*last_energy, more, "last_energy") : std::vector<float>());
  }

 private:
  Plan plan_;
  std::vector<float> weights_;
  Run run_;
  EpochRows rows_;
};

// What a record is made of, for pickle and for files: counts, floats one after the other, the curve, and rates.
using RecordParts = std::tuple<Out<std::int64_t, 1>, Out<float, 1>, Out<double, 1>, Out<double, 1>>;
using GivenParts = std::tuple<In<std::int64_t, 1>, In<float, 1>, In<double, 1>, In<double, 1>>;

RecordParts parts_of(const RunRecord& r) {
  // All there is: a field that is new must be named here, and read again below.
  const auto& [k, d, memories, log_weights, energy, loss_curve, loss, best_epoch, best_living, reseeded, converged,
               improving, last_memories, last_log_weights, last_energy, optimizer, schedule, stream] = r;
  const auto& [moments, weight_moments, steps, energy_moments] = optimizer;
  const auto& [learning_rate, best, waited, plateaus] = schedule;
  const auto& [pass, at] = stream;
  std::vector<float> values;
  for (const std::vector<float>* part : {&memories, &log_weights, &last_memories, &last_log_weights, &moments,
                                         &weight_moments, &energy, &last_energy, &energy_moments})
    values.insert(values.end(), part->begin(), part->end());
  std::vector<std::int64_t> counts{k,
                                   d,
                                   best_epoch,
                                   best_living,
                                   reseeded,
                                   converged,
                                   improving,
                                   waited,
                                   plateaus,
                                   steps,
                                   pass,
                                   at,
                                   static_cast<std::int64_t>(energy.size())};
  return {array(std::move(counts)), array(std::move(values)), array(loss_curve),
          array(std::vector<double>{loss, learning_rate, best})};
}

RunRecord record_of(const GivenParts& parts) {
  const auto& [counts, values, curve, rates] = parts;
  if (counts.size() != 13 || rates.size() != 3) throw std::invalid_argument("this is no record of a run");
  const std::int64_t* count = counts.data();
  const std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  for (int i = 0; i < 9; ++i)
    if (count[i] < -1 || count[i] > limit) throw std::invalid_argument("this is no record of a run");
  RunRecord r;
  r.k = static_cast<int>(count[0]);
  r.d = static_cast<int>(count[1]);
  const std::size_t k = count[0] > 0 ? static_cast<std::size_t>(count[0]) : 0;
  const std::size_t size = k * (count[1] > 0 ? static_cast<std::size_t>(count[1]) : 0);
  const std::size_t more = count[12] > 0 && count[12] <= limit ? static_cast<std::size_t>(count[12]) : 0;
  if (size == 0 || values.size() != 4 * size + 4 * k + 4 * more)
    throw std::invalid_argument("the parts of this record do not fit together");
  const float* at = values.data();
  const auto take = [&at](std::size_t n) {
    at += n;
    return std::vector<float>(at - n, at);
  };
  r.memories = take(size);
  r.log_weights = take(k);
  r.last_memories = take(size);
  r.last_log_weights = take(k);
  r.optimizer.moments = take(2 * size);
  r.optimizer.weight_moments = take(2 * k);
  r.energy = take(more);
  r.last_energy = take(more);
  r.optimizer.energy_moments = take(2 * more);
  r.optimizer.steps = count[9];
  r.best_epoch = static_cast<int>(count[2]);
  r.best_living = static_cast<int>(count[3]);
  r.reseeded = static_cast<int>(count[4]);
  r.converged = count[5] != 0;
  r.improving = count[6] != 0;
  r.loss_curve.assign(curve.data(), curve.data() + curve.size());
  r.loss = rates.data()[0];
  r.schedule = {rates.data()[1], rates.data()[2], static_cast<int>(count[7]), static_cast<int>(count[8])};
  r.stream = {static_cast<std::uint32_t>(count[10]), count[11]};
  return r;
}

}  // namespace

void bind_runs(nb::module_& m) {
  nb::class_<RunRecord>(m, "Record", "What came of one training, and where it stands.")
      .def_prop_ro(
          "memories", [](const RunRecord& r) { return array(r.memories, r.k, r.d); }, "Of the best epoch.", kOwned)
      .def_prop_ro(
          "log_weights", [](const RunRecord& r) { return array(r.log_weights); }, kOwned)
      .def_prop_ro(
          "loss_curve", [](const RunRecord& r) { return array(r.loss_curve); }, kOwned)
      .def_prop_ro("n_epochs", [](const RunRecord& r) { return r.loss_curve.size(); })
      .def_ro("loss", &RunRecord::loss, "Of the best epoch.")
      .def_ro("best_epoch", &RunRecord::best_epoch)
      .def_ro("reseeded", &RunRecord::reseeded, "How often an empty cluster began anew.")
      .def_ro("converged", &RunRecord::converged)
      .def_ro("improving", &RunRecord::improving)
      .def_prop_ro(
          "last_memories", [](const RunRecord& r) { return array(r.last_memories, r.k, r.d); }, kOwned)
      .def_prop_ro(
          "last_log_weights", [](const RunRecord& r) { return array(r.last_log_weights); }, kOwned)
      .def_prop_ro(
          "moments", [](const RunRecord& r) { return array(r.optimizer.moments, 2, r.k, r.d); }, kOwned)
      .def_prop_ro(
          "weight_moments", [](const RunRecord& r) { return array(r.optimizer.weight_moments, 2, r.k); }, kOwned)
      .def_prop_ro("steps", [](const RunRecord& r) { return r.optimizer.steps; })
      .def_prop_ro(
          "energy", [](const RunRecord& r) { return array(r.energy); },
          "Parameters of an energy that the core does not have, of the best epoch.", kOwned)
      .def_prop_ro(
          "last_energy", [](const RunRecord& r) { return array(r.last_energy); }, kOwned)
      .def_prop_ro(
          "energy_moments", [](const RunRecord& r) { return array(r.optimizer.energy_moments, 2, r.energy.size()); },
          kOwned)
      .def("__getstate__", &parts_of)
      .def("__setstate__", [](RunRecord& r, const GivenParts& parts) { new (&r) RunRecord(record_of(parts)); });

  nb::class_<EpochRows>(m, "EpochRows", "Which rows the batches of an epoch take.")
      .def_prop_ro(
          "ids", [](const EpochRows& e) { return array(e.ids, e.sizes.size(), e.batch_size); },
          "Places among the training rows, one row a batch; 0 past the end of a batch.", kOwned)
      .def_prop_ro("sizes", [](const EpochRows& e) { return array(e.sizes); }, kOwned);

  nb::class_<DrivenRun>(m, "Run", "One training whose losses and gradients are computed outside of the core.")
      .def(nb::init<const Plan&, std::int64_t, const Weights&>(), "plan"_a, "n_rows"_a, "weights"_a.none())
      .def_prop_ro(
          "epoch", [](DrivenRun& r) { return r.run().epoch(); }, "Epochs so far.")
      .def_prop_ro("done", [](DrivenRun& r) { return r.run().done(); })
      .def_prop_ro("n_batches", [](DrivenRun& r) { return r.run().batches_per_epoch(); })
      .def_prop_ro(
          "measures", [](DrivenRun& r) { return r.run().measures(); }, "Whether this epoch makes no step.")
      .def_prop_ro("learning_rate", [](DrivenRun& r) { return r.run().learning_rate(); })
      .def_prop_ro(
          "reseeding", [](DrivenRun& r) { return r.run().reseeding(); },
          "Whether empty clusters begin anew after this epoch.")
      .def("next_epoch", &DrivenRun::next_epoch, nb::lock_self())
      .def(
          "is_best", [](DrivenRun& r, double loss, int living) { return r.run().is_best(loss, living); }, "loss"_a,
          "living"_a, nb::lock_self(), "Note the loss of an epoch; True: the memories it measured are the best so far.")
      .def(
          "draw_reseeds",
          [](DrivenRun& r, const In<float, 2>& badness, int count) { return array(r.draw_reseeds(badness, count)); },
          "badness"_a, "count"_a, nb::lock_self(), "Return the rows on which so many empty clusters begin anew.")
      .def(
          "end_epoch", [](DrivenRun& r, double loss) { r.run().end_epoch(loss); }, "loss"_a, nb::lock_self())
      .def("finish", &DrivenRun::finish, "memories"_a, "log_weights"_a, "last_memories"_a, "last_log_weights"_a,
           "moments"_a, "weight_moments"_a, "steps"_a, "energy"_a.none() = nb::none(),
           "last_energy"_a.none() = nb::none(), "energy_moments"_a.none() = nb::none(), nb::lock_self());
}

}  // namespace amclust::bindings
