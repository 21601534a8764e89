// What a network says about rows.
#include "bindings/bind.hpp"
#include "inference/infer.hpp"
#include "inference/nearest_sums.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace amclust::bindings {
namespace {

using namespace nb::literals;

enum class Want : unsigned {
  labels = 1,
  counts = 2,
  memberships = 4,
  energy = 8,
  entropy = 16,
  square_distances = 32,
  state = 64,
  trajectory = 128,
  filled = 256,
  row_scale = 512,
};

// Memories are laid out for so many rows, whatever comes: blocks of rows have the bits that all of them have.
constexpr double kManyRows = 1e6;

// A network that is asked again and again: what follows from its memories is computed once, when dense rows come.
class PreparedNetwork {
 public:
  explicit PreparedNetwork(const NetworkParameters& network) : network_(network), kernels_(&kernels()) {}
  PreparedNetwork(const PreparedNetwork&) = delete;
  PreparedNetwork& operator=(const PreparedNetwork&) = delete;

  const NetworkParameters& network() const { return network_; }
  // Not for another instruction set, which lays memories out in another way.
  bool is_current() const { return kernels_ == &kernels(); }
  Certificates& certificates() const {
    std::call_once(prepared_, [this] {
      memories_.emplace(network_.prepared(kManyRows)).refresh(false);
      certificates_.emplace(*memories_);
    });
    return *certificates_;
  }

 private:
  NetworkParameters network_;
  const Kernels* kernels_;
  mutable std::once_flag prepared_;
  mutable std::optional<Memories> memories_;
  mutable std::optional<Certificates> certificates_;
};

// All in core units; what was not wanted is empty.
struct Answers {
  std::size_t n = 0, k = 0, d = 0, states = 0;
  std::vector<std::int32_t> labels;
  std::vector<double> counts;
  std::vector<float> memberships, energy, entropy, square_distances, state, trajectory, filled, row_scale;
};

Answers infer_rows(const PreparedNetwork& prepared, const HeldRows& held, const In<float, 1>& fill, Want want,
                   const Indices& indices, int threads, bool fill_from_observed) {
  const NetworkParameters& network = prepared.network();
  const TrainingRows which = some_rows(held.data, indices, std::nullopt);
  if (network.d != held.data.features || fill.size() != static_cast<std::size_t>(network.d))
    throw std::invalid_argument("the network does not fit the rows");
  check_energy(network, held.data);
  Answers answers;
  const std::size_t n = answers.n = static_cast<std::size_t>(which.size), k = answers.k = network.k,
                    d = answers.d = network.d, states = answers.states = static_cast<std::size_t>(network.n_steps) + 1;
  Inference out;
  out.fill_from_observed = fill_from_observed;
  const auto reserve = [&](Want what, auto& values, std::size_t size) {
    const bool wanted = static_cast<unsigned>(want) & static_cast<unsigned>(what);
    if (wanted) values.resize(size);
    return wanted ? values.data() : nullptr;
  };
  out.labels = reserve(Want::labels, answers.labels, n);
  out.counts = reserve(Want::counts, answers.counts, k);
  out.memberships = reserve(Want::memberships, answers.memberships, n * k);
  out.energy = reserve(Want::energy, answers.energy, n);
  out.entropy = reserve(Want::entropy, answers.entropy, n);
  out.square_distances = reserve(Want::square_distances, answers.square_distances, n * k);
  out.state = reserve(Want::state, answers.state, n * d);
  out.trajectory = reserve(Want::trajectory, answers.trajectory, states * n * d);
  out.filled = reserve(Want::filled, answers.filled, n * d);
  out.row_scale = reserve(Want::row_scale, answers.row_scale, n);
  supervised(threads, which.size * static_cast<std::int64_t>(d * k), [&](Team& team, Control& control) {
    const auto ask = [&](Certificates& certificates) {
      infer(held.data, which.rows, which.size, fill.data(), certificates, out, team, control);
    };
    if (!held.data.is_sparse() && !held.data.gives_entries() && !recalls(out) && prepared.is_current())
      return ask(prepared.certificates());
    // Always as for many rows: answers must not depend on the rows that are asked about beside one.
    Memories memories = network.prepared(kManyRows);
    if (takes_entries(held.data, memories, out)) memories.shape.take_sparse(held.data.origin());
    memories.refresh(recalls(out) && !memories.cheaper_by_coordinates());
    Certificates certificates(memories);
    ask(certificates);
  });
  return answers;
}

// Sums [k][d] in quanta, sizes [k] in 2^-20, and the loss in 2^-40.
using FixedSums = std::tuple<Out<std::int64_t, 2>, Out<std::int64_t, 1>, nb::int_>;

FixedSums sum_nearest(const PreparedNetwork& prepared, const HeldRows& held, const In<float, 1>& fill,
                      const Indices& indices, const Weights& weights, const In<double, 1>& quantum, int threads,
                      const std::optional<In<std::int32_t, 1>>& labels) {
  const NetworkParameters& network = prepared.network();
  const TrainingRows which = some_rows(held.data, indices, weights);
  const std::size_t d = network.d;
  if (network.d != held.data.features || fill.size() != d || quantum.size() != d)
    throw std::invalid_argument("the network does not fit the rows");
  for (std::size_t j = 0; j < d; ++j)
    if (!(quantum.data()[j] > 0.0)) throw std::invalid_argument("a quantum must be above 0");
  if (labels && static_cast<std::int64_t>(labels->size()) != which.size)
    throw std::invalid_argument("labels must have one entry per row");
  for (std::size_t i = 0; labels && i < labels->size(); ++i)
    if (labels->data()[i] < 0 || labels->data()[i] >= network.k) throw std::out_of_range("a label is out of range");
  check_energy(network, held.data);
  NearestSums found;
  supervised(threads, which.size * static_cast<std::int64_t>(d) * network.k, [&](Team& team, Control& control) {
    const auto sum = [&](const Certificates& certificates) {
      found = nearest_sums(held.data, which, labels ? labels->data() : nullptr, certificates, fill.data(),
                           quantum.data(), team, control);
    };
    if (!held.data.gives_entries() && prepared.is_current()) return sum(prepared.certificates());
    Memories memories = network.prepared(kManyRows);
    if (held.data.gives_entries()) memories.shape.take_sparse(held.data.origin());
    memories.refresh(false);
    sum(Certificates(memories));
  });
  const auto high = static_cast<std::int64_t>(found.loss >> 64);
  const auto low = static_cast<std::uint64_t>(found.loss);
  const nb::object loss = (nb::int_(high) << nb::int_(64)) | nb::int_(low);
  return {array(std::move(found.sums), network.k, d), array(std::move(found.sizes)), nb::borrow<nb::int_>(loss)};
}

// A property that looks into the answers, without a copy.
template <class T, class... Lengths>
auto view(std::vector<T> Answers::* values, Lengths Answers::*... lengths) {
  return [=](Answers& answers) {
    std::vector<T>& found = answers.*values;
    if (found.size() != (std::size_t{1} * ... * (answers.*lengths))) throw nb::attribute_error("this was not asked");
    return Out<T, sizeof...(Lengths)>(found.data(), {(answers.*lengths)...}, nb::find(answers));
  };
}

}  // namespace

void bind_inference(nb::module_& m) {
  nb::enum_<Want>(m, "Want", nb::is_flag(), "What to ask of a network.")
      .value("LABELS", Want::labels)
      .value("COUNTS", Want::counts)
      .value("MEMBERSHIPS", Want::memberships)
      .value("ENERGY", Want::energy)
      .value("ENTROPY", Want::entropy)
      .value("SQUARE_DISTANCES", Want::square_distances)
      .value("STATE", Want::state)
      .value("TRAJECTORY", Want::trajectory)
      .value("FILLED", Want::filled)
      .value("ROW_SCALE", Want::row_scale);

  nb::class_<Answers>(m, "Answers", "What a network says about rows, in core units.")
      .def_prop_ro("labels", view(&Answers::labels, &Answers::n), kOwned)
      .def_prop_ro("counts", view(&Answers::counts, &Answers::k), "How many rows carry each label.", kOwned)
      .def_prop_ro("memberships", view(&Answers::memberships, &Answers::n, &Answers::k), kOwned)
      .def_prop_ro("energy", view(&Answers::energy, &Answers::n), kOwned)
      .def_prop_ro("entropy", view(&Answers::entropy, &Answers::n), kOwned)
      .def_prop_ro("square_distances", view(&Answers::square_distances, &Answers::n, &Answers::k), kOwned)
      .def_prop_ro("state", view(&Answers::state, &Answers::n, &Answers::d), kOwned)
      .def_prop_ro("trajectory", view(&Answers::trajectory, &Answers::states, &Answers::n, &Answers::d), kOwned)
      .def_prop_ro("filled", view(&Answers::filled, &Answers::n, &Answers::d), kOwned)
      .def_prop_ro("row_scale", view(&Answers::row_scale, &Answers::n), "Lengths of the rows (cosine).", kOwned);

  nb::class_<PreparedNetwork>(m, "PreparedNetwork", "A network with what follows from its memories, to be asked often.")
      .def(nb::init<const NetworkParameters&>(), "network"_a);
  nb::implicitly_convertible<NetworkParameters, PreparedNetwork>();

  m.def("infer", &infer_rows, "network"_a, "rows"_a, "fill"_a, "want"_a, "indices"_a.none() = nb::none(),
        "threads"_a = 1, "fill_from_observed"_a = true);
  m.def("nearest_sums", &sum_nearest, "network"_a, "rows"_a, "fill"_a, "indices"_a.none(), "weights"_a.none(),
        "quantum"_a, "threads"_a, "labels"_a.none() = nb::none(),
        "Add the rows that are nearest to each memory, or have its number as label, in core units and fixed point: "
        "blocks of rows add up to the "
        "same bits in any order. Return sums (in quanta; of rows that give entries, without their origin), sizes (in "
        "2^-20) and the sum of squared distances (in 2^-40).");
}

}  // namespace amclust::bindings
