// amclust._native: the core as Python sees it. The build writes its types to _native.pyi.
#include "bindings/bind.hpp"
#include "kernels/kernels.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
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

// Operations that take longer than to wake a thread, and those that are over before anybody can want to stop them.
constexpr std::int64_t kShare = 1'000'000, kBrief = 2'000'000;

void watch(const std::function<void(Control&)>& work, nb::object progress, bool brief) {
  PythonMonitor monitor(std::move(progress));
  try {
    nb::gil_scoped_release release;
    supervise(monitor, work, brief);
  } catch (const Interrupted&) {
    throw nb::python_error();  // the error that PyErr_CheckSignals set
  }
}

}  // namespace

void supervised(const std::function<void(Control&)>& work, nb::object progress) {
  watch(work, std::move(progress), false);
}

void supervised(int threads, std::int64_t operations, const std::function<void(Team&, Control&)>& work) {
  const auto with_team = [&](Control& control) {
    Team team(static_cast<int>(std::min<std::int64_t>(threads, operations / kShare)));
    work(team, control);
  };
  watch(with_team, nb::none(), operations < kBrief);
}

TrainingRows some_rows(const Dataset& data, const Indices& indices, const Weights& weights) {
  TrainingRows out;
  out.size = indices ? static_cast<std::int64_t>(indices->size()) : data.rows;
  if (indices) {
    out.rows = indices->data();
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

void check_energy(const NetworkParameters& network, const Dataset& data) {
  if (network.energy != data.metric) throw std::invalid_argument("the rows were read for another energy");
}

}  // namespace amclust::bindings

NB_MODULE(_native, m) {
  using namespace amclust::bindings;
  m.doc() = "The compiled core.";
  // Without the GIL: a call makes its own team and shares rows, networks and what is prepared of them, which no call
  // changes but under a lock. A plan belongs to the fit that made it; runs and partial statistics lock themselves.
  // Others may hold networks and plans to the end of the process, as a Dask client does.
  nb::set_leak_warnings(false);
  bind_rows(m);
  bind_training(m);
  bind_runs(m);
  bind_inference(m);
  bind_silhouette(m);
  bind_n_clusters(m);
  bind_gaussians(m);
  bind_size_limits(m);
  m.def("instruction_set", [] { return std::string(amclust::kernels().name); });
  m.def(
      "use_instruction_set", [](const std::string& name) { return amclust::use_instruction_set(name.c_str()); },
      nb::arg("name"));
  m.def("thread_limit", &amclust::thread_limit,
        "How many threads the calling thread may use, by whoever limits all libraries; 0: nobody does.");
  m.def("set_thread_limit", &amclust::set_thread_limit, nb::arg("limit"));
  m.def("pool_size", &amclust::pool_size, "How many threads the core has, at work and asleep.");
}

// By these names threadpoolctl finds the core among the libraries of the process.
#if defined(_WIN32)
#define AMCLUST_EXPORT extern "C" __declspec(dllexport)
#else
#define AMCLUST_EXPORT extern "C" __attribute__((visibility("default")))
#endif
AMCLUST_EXPORT int amclust_thread_limit() { return amclust::thread_limit(); }
AMCLUST_EXPORT void amclust_set_thread_limit(int limit) { amclust::set_thread_limit(limit); }
