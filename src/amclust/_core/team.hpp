// Threads. The process has one pool of them: they sleep until they are lent. A Team works through numbered tasks
// together; `supervise` keeps the calling thread free to answer interrupts and to report progress while the work goes on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace amclust {

class Control;

class Team {
 public:
  // The calling thread and up to size - 1 others, lent by the pool at the first round that can use them. All teams of
  // the process together have no more of them than the largest asks for: one that comes too late works alone. Nobody
  // is waited for who has not begun: a thread that another process keeps from its core delays nothing.
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }
  // task(index, member) for every index; which member takes which index is not fixed, so results must not depend on
  // it. The first exception is thrown again here, after all members are done; Interrupted, where the work was stopped.
  void run(int tasks, const std::function<void(int, int)>& task);

 private:
  struct Crew;

  void enlist();

  const int size_;
  int members_ = 1;
  std::shared_ptr<Crew> crew_;  // none, as long as the calling thread works alone
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
  friend void supervise(Monitor&, const std::function<void(Control&)>&, bool);
  std::atomic<bool> stop_{false};
  bool wants_progress_ = false;
  std::mutex mutex_;
  std::vector<ProgressEvent> events_;
};

struct Interrupted {};

// Throws Interrupted where the supervised work that this thread does is to stop: a line in every loop that may last
// longer than a moment, however deep. The threads of a team belong to the work of the one that made it.
void check_interrupt();

// Runs the work on another thread; throws Interrupted when the monitor asked to stop, and the work's own exception.
// Brief work is done on the calling thread: it is over before anybody could want to stop it.
void supervise(Monitor& monitor, const std::function<void(Control&)>& work, bool brief = false);

// How many threads the calling thread may use, by whoever limits all libraries (threadpoolctl); 0: nobody does.
int thread_limit();
void set_thread_limit(int limit);
// How many threads the pool has, lent and asleep.
int pool_size();

}  // namespace amclust
