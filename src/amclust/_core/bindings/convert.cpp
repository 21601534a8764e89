#include "bindings/convert.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace amclust::bindings {
namespace {

template <class T>
T field(nb::dict d, const char* name) {
  return nb::cast<T>(d[name]);
}

std::vector<float> floats(nb::dict d, const char* name, std::size_t size, bool optional = false) {
  if (optional && (!d.contains(name) || nb::object(d[name]).is_none())) return {};
  const auto values = nb::cast<nb::ndarray<const float, nb::c_contig, nb::device::cpu>>(d[name]);
  if (values.size() != size) throw std::invalid_argument(std::string(name) + " has the wrong size");
  return {values.data(), values.data() + values.size()};
}

// What run_record() gave, back again.
RunRecord earlier_record(nb::dict d, int k, int features) {
  const std::size_t size = static_cast<std::size_t>(k) * features;
  const auto curve = field<DoubleVector>(d, "loss_curve");
  RunRecord out;
  out.memories = floats(d, "memories", size);
  out.log_weights = floats(d, "log_weights", k);
  out.loss_curve.assign(curve.data(), curve.data() + curve.size());
  out.loss = field<double>(d, "loss");
  out.best_epoch = field<int>(d, "best_epoch");
  out.best_living = field<int>(d, "best_living");
  out.reseeded = field<int>(d, "reseeded");
  out.converged = field<bool>(d, "converged");
  out.last_memories = floats(d, "last_memories", size);
  out.last_log_weights = floats(d, "last_log_weights", k);
  out.moments = floats(d, "moments", 2 * size);
  out.weight_moments = floats(d, "weight_moments", std::size_t{2} * k);
  out.steps = field<std::int64_t>(d, "steps");
  out.schedule = {field<double>(d, "learning_rate"), field<double>(d, "schedule_best"), field<int>(d, "waited"),
                  field<int>(d, "plateaus")};
  out.stream = {field<std::uint32_t>(d, "pass"), field<std::int64_t>(d, "place")};
  return out;
}

}  // namespace

HeldDataset dense_dataset(nb::object rows) {
  const auto x = nb::cast<AnyArray>(rows);
  if (x.ndim() != 2) throw std::invalid_argument("rows must be a matrix");
  const bool is_double = x.dtype() == nb::dtype<double>();
  if (!is_double && x.dtype() != nb::dtype<float>()) throw std::invalid_argument("rows must be float32 or float64");
  if (x.shape(1) > 1 && x.stride(1) != 1) throw std::invalid_argument("rows must be stored row by row");
  HeldDataset out;
  out.data.rows = static_cast<std::int64_t>(x.shape(0));
  out.data.features = static_cast<int>(x.shape(1));
  out.data.dense = {x.data(), is_double, static_cast<std::ptrdiff_t>(x.shape(0) > 1 ? x.stride(0) : x.shape(1))};
  out.held = {rows};
  return out;
}

HeldDataset sparse_dataset(nb::object values, nb::object indices, nb::object indptr, int features) {
  const auto v = nb::cast<AnyArray>(values), i = nb::cast<AnyArray>(indices), p = nb::cast<AnyArray>(indptr);
  const bool is_double = v.dtype() == nb::dtype<double>(), wide = i.dtype() == nb::dtype<std::int64_t>();
  if (!is_double && v.dtype() != nb::dtype<float>()) throw std::invalid_argument("values must be float32 or float64");
  if (i.dtype() != p.dtype() || (!wide && i.dtype() != nb::dtype<std::int32_t>()))
    throw std::invalid_argument("indices and indptr must both be int32 or both int64");
  HeldDataset out;
  out.data.rows = static_cast<std::int64_t>(p.size()) - 1;
  out.data.features = features;
  out.data.is_sparse = true;
  out.data.sparse = {v.data(), is_double, i.data(), p.data(), wide};
  out.held = {values, indices, indptr};
  return out;
}

TrainingRows training_rows(const Dataset& data, const std::optional<RowNumbers>& rows,
                           const std::optional<FloatVector>& weights) {
  TrainingRows out;
  out.size = rows ? static_cast<std::int64_t>(rows->size()) : data.rows;
  if (rows) {
    out.rows = rows->data();
    for (std::int64_t i = 0; i < out.size; ++i)
      if (out.rows[i] < 0 || out.rows[i] >= data.rows) throw std::out_of_range("a row number is out of range");
  }
  if (weights) {
    if (static_cast<std::int64_t>(weights->size()) != out.size)
      throw std::invalid_argument("weights must have one entry per row");
    out.weights = weights->data();
  }
  return out;
}

RunSettings run_settings(nb::dict run, const Dataset& data) {
  const int k = static_cast<int>(field<FloatMatrix>(run, "memories").shape(0));
  const std::size_t size = static_cast<std::size_t>(k) * data.features;
  RunSettings out;
  out.k = k;
  out.objective.name = field<std::string>(run, "objective");
  out.objective.seed = field<std::uint64_t>(run, "seed");
  out.objective.hidden_fraction = field<double>(run, "mask_prob");
  out.objective.fill = floats(run, "fill", data.features);
  out.objective.anchor = field<double>(run, "anchor");
  out.objective.tie = field<double>(run, "tie");
  out.metric = data.metric;
  out.beta = field<float>(run, "beta");
  out.step_size = field<float>(run, "step_size");
  out.n_steps = field<int>(run, "n_steps");
  out.memories = floats(run, "memories", size);
  out.log_weights = floats(run, "log_weights", k, true);
  out.learn_weights = field<bool>(run, "learn_weights");
  out.batch_size = field<int>(run, "batch_size");
  out.max_epochs = field<int>(run, "max_epochs");
  out.patience = field<int>(run, "patience");
  out.learning_rate = field<double>(run, "learning_rate");
  out.lr_factor = field<double>(run, "lr_factor");
  out.min_lr = field<double>(run, "min_lr");
  out.tol = field<double>(run, "tol");
  out.early_stopping = field<bool>(run, "early_stopping");
  out.reseed = field<bool>(run, "reseed");
  out.whole_epochs = field<bool>(run, "whole_epochs");
  out.keep_last = field<bool>(run, "keep_last");
  out.moments = floats(run, "moments", 2 * size, true);
  if (!out.moments.empty()) {
    out.weight_moments = floats(run, "weight_moments", std::size_t{2} * k);
    out.steps = field<std::int64_t>(run, "steps");
  }
  if (run.contains("pause_at")) out.pause_at = field<int>(run, "pause_at");
  if (run.contains("earlier")) out.earlier = earlier_record(field<nb::dict>(run, "earlier"), k, data.features);
  return out;
}

nb::dict run_record(RunRecord&& record, const RunSettings& settings, int features) {
  const std::size_t k = settings.k, d = features;
  nb::dict out;
  out["memories"] = array(std::move(record.memories), {k, d});
  out["log_weights"] = array(std::move(record.log_weights));
  out["loss_curve"] = array(std::move(record.loss_curve));
  out["loss"] = record.loss;
  out["best_epoch"] = record.best_epoch;
  out["best_living"] = record.best_living;
  out["reseeded"] = record.reseeded;
  out["converged"] = record.converged;
  out["improving"] = record.improving;
  out["last_memories"] = array(std::move(record.last_memories), {k, d});
  out["last_log_weights"] = array(std::move(record.last_log_weights));
  out["moments"] = array(std::move(record.moments), {2, k, d});
  out["weight_moments"] = array(std::move(record.weight_moments), {2, k});
  out["steps"] = record.steps;
  out["learning_rate"] = record.schedule.learning_rate;
  out["schedule_best"] = record.schedule.best;
  out["waited"] = record.schedule.waited;
  out["plateaus"] = record.schedule.plateaus;
  out["pass"] = record.stream.pass;
  out["place"] = record.stream.at;
  return out;
}

}  // namespace amclust::bindings
