// Threads. A Team works through numbered tasks together; `supervise` keeps the calling thread free to answer
// interrupts and to report progress while the work goes on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace amclust {

class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  // task(index, member) for every index; which member takes which index is not fixed, so results must not depend on
  // it. The first exception is thrown again here, after all members are done.
  void run(int tasks, const std::function<void(int, int)>& task);

 private:
  void work(int member);
  void drain(int member);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> next_{0}, busy_{0};
  std::atomic<bool> quit_{false};
  int tasks_ = 0;
  const std::function<void(int, int)>* task_ = nullptr;
  std::exception_ptr error_;
};

struct ProgressEvent {
  int run, epoch;
  double loss;
};

// How the outside world looks in on long work.
class Monitor {
 public:
  virtual ~Monitor() = default;
  // Called on the calling thread every few milliseconds; false asks the work to stop.
  virtual bool poll() { return true; }
  virtual bool wants_progress() const { return false; }
  virtual void progress(const ProgressEvent&) {}
};

// What the work sees of it.
class Control {
 public:
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  void report(const ProgressEvent& event);

 private:
  friend void supervise(Monitor&, const std::function<void(Control&)>&);
  std::atomic<bool> stop_{false};
  bool wants_progress_ = false;
  std::mutex mutex_;
  std::vector<ProgressEvent> events_;
};

struct Interrupted {};

// Runs the work on another thread; throws Interrupted when the monitor asked to stop, and the work's own exception.
void supervise(Monitor& monitor, const std::function<void(Control&)>& work);

}  // namespace amclust
