// amclust._native: the core as Python sees it. The GIL is released while it works; the calling thread takes it back
// now and then to look for Ctrl-C and to hand on progress.
#include "energies/registry.hpp"
#include "inference/infer.hpp"
#include "inference/silhouette.hpp"
#include "training/masks.hpp"
#include "training/order.hpp"
#include "training/reseeding.hpp"
#include "training/seeding.hpp"
#include "bindings/convert.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace amclust::bindings {
namespace {

class PythonMonitor : public Monitor {
 public:
  explicit PythonMonitor(nb::object callback) : callback_(std::move(callback)) {}
  bool poll() override {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() == 0;
  }
  bool wants_progress() const override { return !callback_.is_none(); }
  void progress(const ProgressEvent& event) override {
    nb::gil_scoped_acquire gil;
    callback_(event.run, event.epoch, event.loss);
  }

 private:
  nb::object callback_;
};

// Runs the work without the GIL; Ctrl-C comes back as KeyboardInterrupt.
void run(nb::object progress, const std::function<void(Control&)>& work) {
  PythonMonitor monitor(std::move(progress));
  try {
    nb::gil_scoped_release release;
    supervise(monitor, work);
  } catch (const Interrupted&) {
    throw nb::python_error();  // the error that PyErr_CheckSignals set
  }
}

int team_size(int threads, std::int64_t work) {
  // Below some hundred thousand operations a second thread costs more than it saves.
  return work < 200000 ? 1 : std::max(1, threads);
}

nb::dict statistics(const HeldDataset& held, const std::optional<RowNumbers>& rows,
                    const std::optional<FloatVector>& weights, int threads) {
  const TrainingRows which = training_rows(held.data, rows, weights);
  ColumnStatistics stats;
  run(nb::none(), [&](Control&) {
    Team team(team_size(threads, which.size * held.data.features));
    stats = column_statistics(held.data, which.rows, which.size, which.weights, team);
  });
  nb::dict out;
  out["weight"] = array(std::move(stats.weight));
  out["mean"] = array(std::move(stats.mean));
  out["variance"] = array(std::move(stats.variance));
  out["min"] = array(std::move(stats.low));
  out["max"] = array(std::move(stats.high));
  out["missing"] = stats.missing;
  out["infinite_row"] = stats.infinite_row;
  out["infinite_column"] = stats.infinite_column;
  out["empty_row"] = stats.empty_row;
  out["zero_row"] = stats.zero_row;
  return out;
}

std::pair<nb::object, nb::object> distinct(const HeldDataset& held, const std::optional<FloatVector>& weights) {
  DistinctRows rows;
  if (weights && static_cast<std::int64_t>(weights->size()) != held.data.rows)
    throw std::invalid_argument("weights must have one entry per row");
  run(nb::none(), [&](Control&) { rows = distinct_rows(held.data, weights ? weights->data() : nullptr); });
  return {array(std::move(rows.rows)), array(std::move(rows.weights))};
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

nb::list seed(const HeldDataset& held, const std::optional<RowNumbers>& rows, const std::optional<FloatVector>& weights,
              int k, const std::vector<std::string>& names, const std::vector<std::uint64_t>& seeds,
              std::uint64_t sample_seed, const FloatVector& fill, int threads) {
  const std::vector<SeedingMethod> methods = seeding_methods(names);
  if (methods.size() != seeds.size()) throw std::invalid_argument("methods and seeds must be as many");
  const TrainingRows which = training_rows(held.data, rows, weights);
  std::vector<Seeding> seedings;
  run(nb::none(), [&](Control&) {
    Team team(threads);
    seedings = seed_memories(held.data, which, k, methods, seeds, sample_seed, fill.data(), team);
  });
  nb::list out;
  for (Seeding& seeding : seedings) {
    nb::dict one;
    one["distinct"] = seeding.distinct;
    one["mean_square"] = seeding.mean_square;
    one["median_gap"] = seeding.median_gap;
    one["total_square"] = seeding.total_square;
    if (seeding.distinct >= k)
      one["memories"] = array(std::move(seeding.memories),
                              {static_cast<std::size_t>(k), static_cast<std::size_t>(held.data.features)});
    out.append(one);
  }
  return out;
}

std::tuple<double, double, double> scales(const HeldDataset& held, const std::optional<RowNumbers>& rows,
                                          const std::optional<FloatVector>& weights, const FloatMatrix& memories,
                                          std::uint64_t sample_seed, const FloatVector& fill) {
  const TrainingRows which = training_rows(held.data, rows, weights);
  Seeding seeding;
  seeding.memories.assign(memories.data(), memories.data() + memories.size());
  run(nb::none(), [&](Control&) {
    measure_scales(held.data, which, static_cast<int>(memories.shape(0)), sample_seed, fill.data(), seeding);
  });
  return {seeding.mean_square, seeding.median_gap, seeding.total_square};
}

nb::list train_runs(const HeldDataset& held, const std::optional<RowNumbers>& rows,
                    const std::optional<FloatVector>& weights, nb::list runs, int threads, nb::object progress) {
  const TrainingRows which = training_rows(held.data, rows, weights);
  std::vector<RunSettings> settings;
  for (nb::handle item : runs) settings.push_back(run_settings(nb::cast<nb::dict>(item), held.data));
  std::vector<RunRecord> records;
  run(progress, [&](Control& control) { records = train(held.data, which, settings, threads, control); });
  nb::list out;
  for (std::size_t i = 0; i < records.size(); ++i)
    out.append(run_record(std::move(records[i]), settings[i], held.data.features));
  return out;
}

// Loss and gradients of one batch: what the tests hold against autograd.
nb::dict evaluate(const HeldDataset& held, const RowNumbers& rows, const std::optional<FloatVector>& weights,
                  nb::dict settings, const std::optional<IntMatrix>& hidden, int threads) {
  const TrainingRows which = training_rows(held.data, rows, weights);
  const RunSettings s = run_settings(settings, held.data);
  const int k = s.k;
  Memories memories(k, held.data.features, s.metric, s.beta, s.step_size, s.n_steps, static_cast<double>(which.size));
  memories.set(s.memories.data());
  for (int m = 0; m < k; ++m) memories.log_weights[m] = s.log_weights.empty() ? 0.0f : s.log_weights[m];
  double total = 0.0;
  for (std::int64_t i = 0; i < which.size; ++i) total += which.weights ? which.weights[i] : 1.0;
  Batch batch{which.rows, which.rows, which.weights, static_cast<int>(which.size), total, 0};
  if (hidden) {
    batch.hidden = hidden->data();
    batch.n_hidden = static_cast<int>(hidden->shape(1));
  }
  Gradient gradient;
  Evaluation evaluation;
  run(nb::none(), [&](Control&) {
    Team team(threads);
    const auto objective = make_objective(held.data, s.objective);
    memories.refresh(objective->needs_gram(memories));
    evaluation = objective->evaluate(batch, memories, gradient, team);
  });
  std::vector<float> by_memory(static_cast<std::size_t>(k) * held.data.features);
  for (int m = 0; m < k; ++m)
    for (int j = 0; j < held.data.features; ++j)
      by_memory[static_cast<std::size_t>(m) * held.data.features + j] =
          gradient.memories[static_cast<std::size_t>(j) * memories.kp + m];
  nb::dict out;
  out["loss"] = evaluation.loss;
  out["wins"] = array(std::move(evaluation.wins));
  out["memories"] =
      array(std::move(by_memory), {static_cast<std::size_t>(k), static_cast<std::size_t>(held.data.features)});
  out["log_weights"] = array(std::vector<float>(gradient.bias.data(), gradient.bias.data() + k));
  return out;
}

nb::dict infer_rows(const HeldDataset& held, const std::optional<RowNumbers>& rows, const FloatVector& fill,
                    const FloatMatrix& values, const FloatVector& log_weights, float beta, float step_size, int n_steps,
                    const std::vector<std::string>& want, int threads, bool fill_from_observed) {
  const TrainingRows which = training_rows(held.data, rows, std::nullopt);
  const std::size_t n = static_cast<std::size_t>(which.size), d = held.data.features, k = values.shape(0);
  if (values.shape(1) != d || fill.size() != d || log_weights.size() != k)
    throw std::invalid_argument("memories, log_weights and fill do not fit the rows");
  Memories memories(static_cast<int>(k), held.data.features, held.data.metric, beta, step_size, n_steps,
                    static_cast<double>(n));
  memories.set(values.data());
  std::copy(log_weights.data(), log_weights.data() + k, memories.log_weights.data());

  Inference out;
  out.fill_from_observed = fill_from_observed;
  std::vector<std::int32_t> labels;
  std::vector<double> counts;
  std::vector<float> memberships, energy, entropy, square_distances, state, trajectory, filled, row_scale;
  const auto wanted = [&](const char* name) { return std::find(want.begin(), want.end(), name) != want.end(); };
  const auto reserve = [&](const char* name, auto& values_out, std::size_t size) {
    if (wanted(name)) values_out.resize(size);
    return wanted(name) ? values_out.data() : nullptr;
  };
  out.labels = reserve("labels", labels, n);
  out.counts = reserve("counts", counts, k);
  out.memberships = reserve("memberships", memberships, n * k);
  out.energy = reserve("energy", energy, n);
  out.entropy = reserve("entropy", entropy, n);
  out.square_distances = reserve("square_distances", square_distances, n * k);
  out.state = reserve("state", state, n * d);
  out.trajectory = reserve("trajectory", trajectory, (static_cast<std::size_t>(n_steps) + 1) * n * d);
  out.filled = reserve("filled", filled, n * d);
  out.row_scale = reserve("row_scale", row_scale, n);
  run(nb::none(), [&](Control& control) {
    Team team(team_size(threads, which.size * static_cast<std::int64_t>(d * k)));
    memories.refresh(!memories.cheaper_by_coordinates());
    infer(held.data, which.rows, which.size, fill.data(), memories, out, team, control);
  });
  nb::dict results;
  if (out.labels) results["labels"] = array(std::move(labels));
  if (out.counts) results["counts"] = array(std::move(counts));
  if (out.memberships) results["memberships"] = array(std::move(memberships), {n, k});
  if (out.energy) results["energy"] = array(std::move(energy));
  if (out.entropy) results["entropy"] = array(std::move(entropy));
  if (out.square_distances) results["square_distances"] = array(std::move(square_distances), {n, k});
  if (out.state) results["state"] = array(std::move(state), {n, d});
  if (out.trajectory)
    results["trajectory"] = array(std::move(trajectory), {static_cast<std::size_t>(n_steps) + 1, n, d});
  if (out.filled) results["filled"] = array(std::move(filled), {n, d});
  if (out.row_scale) results["row_scale"] = array(std::move(row_scale));
  return results;
}

nb::object silhouette_scores(const HeldDataset& held, const RowNumbers& rows, const std::optional<FloatVector>& weights,
                             const IntMatrix& labels, int k, int threads) {
  const TrainingRows which = training_rows(held.data, rows, weights);
  if (static_cast<std::int64_t>(labels.shape(1)) != which.size)
    throw std::invalid_argument("labels must have one column per row");
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels.data()[i] < 0 || labels.data()[i] >= k) throw std::out_of_range("a label is out of range");
  std::vector<double> values;
  run(nb::none(), [&](Control& control) {
    Team team(team_size(threads, which.size * which.size * held.data.features));
    values = exact_silhouette(held.data, which.rows, static_cast<int>(which.size), which.weights, labels.data(),
                              static_cast<int>(labels.shape(0)), k, team, control);
  });
  return array(std::move(values));
}

// What training draws, for the torch backend (and the tests): hidden coordinates, -1 where a row has fewer ...
nb::object draw_masks(std::uint64_t seed, std::uint32_t epoch, const RowNumbers& rows, double fraction,
                      nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> missing) {
  const int d = static_cast<int>(missing.shape(1));
  const int room = std::max(1, hidden_count(fraction, d));
  std::vector<std::int32_t> out(rows.size() * room, -1);
  MaskSampler sampler(d);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint8_t* holes = missing.data() + i * d;
    const int observed = static_cast<int>(std::count(holes, holes + d, std::uint8_t{0}));
    Random random(seed, Purpose::mask, epoch, static_cast<std::uint32_t>(rows.data()[i]));
    sampler.draw(random, hidden_count(fraction, observed), observed, observed < d ? holes : nullptr,
                 out.data() + i * room);
  }
  return array(std::move(out), {rows.size(), static_cast<std::size_t>(room)});
}

// ... the places first ... first + count - 1 of a pass through the rows ...
nb::object draw_order(std::uint64_t seed, std::uint32_t pass, std::int64_t rows, std::int64_t first,
                      std::int64_t count) {
  if (first < 0 || count < 0 || first + count > rows) throw std::out_of_range("a place is out of range");
  const PassOrder order(seed, pass, rows);
  std::vector<std::int64_t> out(count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = order[first + i];
  return array(std::move(out));
}

// ... and the rows on which dead memories begin anew.
nb::object draw_reseeded(std::uint64_t seed, std::uint32_t epoch, const FloatVector& badness, int count) {
  return array(draw_reseeds(seed, epoch, {badness.data(), badness.data() + badness.size()}, count));
}

// Rows in the core's units, NaN where a value is missing.
nb::object load_rows(const HeldDataset& held, const std::optional<RowNumbers>& rows) {
  const TrainingRows which = training_rows(held.data, rows, std::nullopt);
  const std::size_t n = static_cast<std::size_t>(which.size), d = held.data.features;
  std::vector<float> out(n * d);
  run(nb::none(), [&](Control&) {
    const std::vector<float> fill(d, std::numeric_limits<float>::quiet_NaN());
    std::vector<std::uint8_t> missing(d);
    for (std::int64_t i = 0; i < which.size; ++i) {
      const std::int64_t row = which.rows ? which.rows[i] : i;
      held.data.load(&row, 1, fill.data(), out.data() + i * d, static_cast<int>(d), missing.data());
    }
  });
  return array(std::move(out), {n, d});
}

}  // namespace
}  // namespace amclust::bindings

NB_MODULE(_native, m) {
  namespace nb = nanobind;
  using namespace nb::literals;
  using namespace amclust;
  using namespace amclust::bindings;

  nb::class_<HeldDataset>(m, "Dataset")
      .def_prop_ro("rows", [](const HeldDataset& h) { return h.data.rows; })
      .def_prop_ro("features", [](const HeldDataset& h) { return h.data.features; })
      .def_prop_ro("metric", [](const HeldDataset& h) { return energy_name(h.data.metric); })
      .def_prop_rw(
          "has_missing", [](const HeldDataset& h) { return h.data.has_missing; },
          [](HeldDataset& h, bool value) { h.data.has_missing = value; })
      .def(
          "set_units",
          [](HeldDataset& h, const std::string& metric, const DoubleVector& offset, const FloatVector& scale) {
            const std::size_t d = static_cast<std::size_t>(h.data.features);
            if (offset.size() != d || scale.size() != d)
              throw std::invalid_argument("one offset and scale per feature");
            h.data.set_units(find_energy(metric), offset.data(), scale.data());
          },
          "metric"_a, "offset"_a, "scale"_a);
  m.def("dense_dataset", &dense_dataset, "rows"_a);
  m.def("sparse_dataset", &sparse_dataset, "values"_a, "indices"_a, "indptr"_a, "features"_a);
  m.def("statistics", &statistics, "data"_a, "rows"_a.none(), "weights"_a.none(), "threads"_a);
  m.def("distinct_rows", &distinct, "data"_a, "weights"_a.none());
  m.def("seed", &seed, "data"_a, "rows"_a.none(), "weights"_a.none(), "k"_a, "methods"_a, "seeds"_a, "sample_seed"_a,
        "fill"_a, "threads"_a);
  m.def("scales", &scales, "data"_a, "rows"_a.none(), "weights"_a.none(), "memories"_a, "sample_seed"_a, "fill"_a);
  m.def("train", &train_runs, "data"_a, "rows"_a.none(), "weights"_a.none(), "runs"_a, "threads"_a,
        "progress"_a.none() = nb::none());
  m.def("evaluate", &evaluate, "data"_a, "rows"_a, "weights"_a.none(), "run"_a, "hidden"_a.none() = nb::none(),
        "threads"_a = 1);
  m.def("infer", &infer_rows, "data"_a, "rows"_a.none(), "fill"_a, "memories"_a, "log_weights"_a, "beta"_a,
        "step_size"_a, "n_steps"_a, "want"_a, "threads"_a, "fill_from_observed"_a = true);
  m.def("silhouette", &silhouette_scores, "data"_a, "rows"_a, "weights"_a.none(), "labels"_a, "k"_a, "threads"_a);
  m.def("draw_masks", &draw_masks, "seed"_a, "epoch"_a, "rows"_a, "fraction"_a, "missing"_a);
  m.def("draw_order", &draw_order, "seed"_a, "pass_"_a, "rows"_a, "first"_a, "count"_a);
  m.def("draw_reseeds", &draw_reseeded, "seed"_a, "epoch"_a, "badness"_a, "count"_a);
  m.def("load_rows", &load_rows, "data"_a, "rows"_a.none());
  m.attr("EPOCH_ROWS") = kEpochRows;
  m.def("instruction_set", [] { return std::string(kernels().name); });
  m.def("use_instruction_set", [](const std::string& name) { return use_instruction_set(name.c_str()); }, "name"_a);
}
