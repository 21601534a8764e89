#include "bindings/run.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace

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

}  // namespace amclust::bindings
