#include "team.hpp"

#include "subnormals.hpp"

#include <chrono>
#include <system_error>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace amclust {
namespace {

inline void relax() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#endif
}

// Waits by spinning for some microseconds, then lets others run.
template <class Ready>
bool spin(const Ready& ready) {
  for (int i = 0; i < 4000; ++i) {
    if (ready()) return true;
    relax();
  }
  return ready();
}

}  // namespace

Team::Team(int size) {
  threads_.reserve(size > 1 ? size - 1 : 0);
  try {
    for (int member = 1; member < size; ++member) threads_.emplace_back([this, member] { work(member); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those there are will do. Results do not depend on how many.
  }
}

Team::~Team() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    quit_.store(true);
    round_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::drain(int member) {
  const NoSubnormals flush;
  try {
    for (int index; (index = next_.fetch_add(1)) < tasks_;) (*task_)(index, member);
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::current_exception();
    next_.store(tasks_);
  }
}

void Team::work(int member) {
  std::uint64_t seen = 0;
  for (;;) {
    const auto changed = [&] { return round_.load(std::memory_order_acquire) != seen; };
    if (!spin(changed)) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, changed);
    }
    seen = round_.load(std::memory_order_acquire);
    if (quit_.load()) return;
    drain(member);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

void Team::run(int tasks, const std::function<void(int, int)>& task) {
  if (tasks <= 0) return;
  tasks_ = tasks;
  task_ = &task;
  error_ = nullptr;
  next_.store(0);
  if (!threads_.empty() && tasks > 1) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      busy_.store(static_cast<int>(threads_.size()));
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    drain(0);
    const auto idle = [&] { return busy_.load(std::memory_order_acquire) == 0; };
    while (!spin(idle)) std::this_thread::yield();
  } else {
    drain(0);
  }
  if (error_) std::rethrow_exception(error_);
}

void Control::report(const ProgressEvent& event) {
  if (!wants_progress_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back(event);
}

void supervise(Monitor& monitor, const std::function<void(Control&)>& work) {
  using namespace std::chrono_literals;
  Control control;
  control.wants_progress_ = monitor.wants_progress();
  std::mutex mutex;
  std::condition_variable done_signal;
  bool done = false;
  std::exception_ptr error;
  std::thread worker([&] {
    const NoSubnormals flush;
    try {
      work(control);
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
    done_signal.notify_one();
  });
  const auto deliver = [&] {
    std::vector<ProgressEvent> events;
    {
      std::lock_guard<std::mutex> lock(control.mutex_);
      events.swap(control.events_);
    }
    for (const ProgressEvent& event : events) monitor.progress(event);
  };
  bool interrupted = false;
  try {
    std::unique_lock<std::mutex> lock(mutex);
    while (!done) {
      done_signal.wait_for(lock, 50ms, [&] { return done; });
      lock.unlock();
      if (!interrupted) deliver();
      if (!interrupted && !monitor.poll()) {
        interrupted = true;  // nothing more is asked of the monitor
        control.stop_.store(true);
      }
      lock.lock();
    }
  } catch (...) {  // the monitor's own exception, from a progress callback say
    control.stop_.store(true);
    worker.join();
    throw;
  }
  worker.join();
  if (interrupted) throw Interrupted{};
  deliver();  // what came between the last look and the end
  if (error) std::rethrow_exception(error);
}

}  // namespace amclust
