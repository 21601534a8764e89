#include "team.hpp"

#include "subnormals.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#define AMCLUST_POSIX
#endif

namespace amclust {
namespace {

using namespace std::chrono_literals;

inline void relax() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#endif
}

// Looks for some microseconds: about as long as it takes to wake a thread. Whoever waits longer sleeps, so that a
// thread that another process keeps from its core costs nothing meanwhile.
template <class Ready>
bool spin(const Ready& ready) {
  constexpr auto kPatience = 30us;
  if (ready()) return true;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

// The work that the current thread belongs to.
thread_local const Control* current_control = nullptr;

class Belonging {
 public:
  explicit Belonging(const Control* control) : before_(std::exchange(current_control, control)) {}
  ~Belonging() { current_control = before_; }
  Belonging(const Belonging&) = delete;
  Belonging& operator=(const Belonging&) = delete;

 private:
  const Control* before_;
};

// Signals are for the program's own threads: a system call of theirs must be interrupted, not the pool's sleep.
class SignalsBlocked {
#if defined(AMCLUST_POSIX)
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);  // a thread's own
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
#endif
};

}  // namespace

namespace {

// The threads of this process. It is never taken down: threads may sleep in it when the process ends.
class Pool {
 public:
  // Helpers share tasks; the lead does the work of a call, while the calling thread looks for interrupts.
  enum class Role { lead, helper };
  using Job = std::function<void()>;

  // The one of this process: a child has none of its parent's threads.
  static Pool& here() {
    static std::atomic<Pool*> pool{nullptr};
#if defined(AMCLUST_POSIX)
    static const int registered = pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
    static_cast<void>(registered);
#endif
    Pool* found = pool.load();
    if (found) return *found;
    Pool* fresh = new Pool;
    if (pool.compare_exchange_strong(found, fresh)) return *fresh;
    delete fresh;  // another thread was faster
    return *found;
  }

  // Has a thread do the job and, when it is free again, what comes `after`. False: there are as many helpers at work as
  // anybody wants (`most`), or the system gives no more threads.
  bool lend(Role role, int most, Job job, Job after = [] {}) {
    const bool helps = role == Role::helper;
    if (helps && helpers_.load(std::memory_order_relaxed) >= most) return false;
    Worker* worker = nullptr;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (helps && helpers_.load(std::memory_order_relaxed) >= most) return false;
      if (asleep_.empty()) {
        if (!add_worker()) return false;
      }
      worker = asleep_.back();
      asleep_.pop_back();
      if (helps) helpers_.fetch_add(1, std::memory_order_relaxed);
    }
    worker->start(std::move(job), std::move(after), helps);
    return true;
  }
  int size() {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(size_);
  }

 private:
  class Worker {
   public:
    explicit Worker(Pool& pool) : pool_(pool) {
      const SignalsBlocked blocked;
      std::thread([this] { live(); }).detach();
    }

    void start(Job job, Job after, bool helps) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        job_ = std::move(job);
        after_ = std::move(after);
        helps_ = helps;
      }
      wake_.notify_one();
    }

   private:
    void live() {
      for (;;) {
        Job job, after;
        bool helps = false;
        {
          std::unique_lock<std::mutex> lock(mutex_);
          wake_.wait(lock, [&] { return static_cast<bool>(job_); });
          std::swap(job, job_);
          std::swap(after, after_);
          helps = helps_;
        }
        job();
        job = nullptr;
        pool_.take_back(this, helps);
        after();
      }
    }

    Pool& pool_;
    std::mutex mutex_;
    std::condition_variable wake_;
    Job job_, after_;
    bool helps_ = false;
  };

  bool add_worker() {
    try {
      asleep_.reserve(size_ + 1);
      asleep_.push_back(new Worker(*this));
      ++size_;
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }
  void take_back(Worker* worker, bool helps) {
    std::lock_guard<std::mutex> lock(mutex_);
    asleep_.push_back(worker);
    if (helps) helpers_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::vector<Worker*> asleep_;
  std::size_t size_ = 0;
  std::atomic<int> helpers_{0};
};

}  // namespace

// What the members of a team share. The state has the number of the round, whether one may still join it, and how many
// helpers have.
struct Team::Crew {
  static constexpr std::uint64_t kRound = std::uint64_t{1} << 32, kOpen = std::uint64_t{1} << 31;
  static std::uint64_t round_of(std::uint64_t state) { return state / kRound; }
  static std::uint64_t helpers_in(std::uint64_t state) { return state % kOpen; }

  std::mutex mutex;
  std::condition_variable wake, idle;
  std::atomic<std::uint64_t> state{0};
  std::atomic<int> next{0};
  std::atomic<bool> quit{false};
  const Control* control = current_control;
  int tasks = 0;
  const std::function<void(int, int)>* task = nullptr;
  std::exception_ptr error;

  // The next round; nobody is in the last one any more.
  void begin(std::uint64_t open) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      state.store((round_of(state.load()) + 1) * kRound + open, std::memory_order_release);
    }
    wake.notify_all();
  }
  // Ends the round when the helpers that have joined it are done.
  void end() {
    state.fetch_and(~kOpen, std::memory_order_acq_rel);
    const auto over = [&] { return helpers_in(state.load(std::memory_order_acquire)) == 0; };
    if (spin(over)) return;
    std::unique_lock<std::mutex> lock(mutex);
    idle.wait(lock, over);
  }
  void help(int member, std::uint64_t seen) {
    for (;;) {
      const auto changed = [&] { return round_of(state.load(std::memory_order_acquire)) != seen; };
      if (!spin(changed)) {
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, changed);
      }
      if (quit.load()) return;
      std::uint64_t now = state.load(std::memory_order_acquire);
      while ((now & kOpen) && !state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) continue;
      seen = round_of(now);
      if (!(now & kOpen)) continue;  // too late
      drain(member);
      if (state.fetch_sub(1, std::memory_order_acq_rel) != seen * kRound + 1) continue;
      { std::lock_guard<std::mutex> lock(mutex); }  // whoever waits has either seen it or sleeps
      idle.notify_one();
    }
  }
  void drain(int member) {
    const NoSubnormals flush;
    const Belonging belonging(control);
    try {
      for (int index; (index = next.fetch_add(1)) < tasks;) {
        check_interrupt();
        (*task)(index, member);
      }
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
      next.store(tasks);
    }
  }
};

Team::Team(int size) : size_(std::max(1, size)) {}

Team::~Team() {
  if (!crew_) return;
  crew_->quit.store(true);
  crew_->begin(0);
}

void Team::enlist() {
  if (!crew_) crew_ = std::make_shared<Crew>();
  Pool& pool = Pool::here();
  const std::uint64_t seen = Crew::round_of(crew_->state.load());
  const auto job = [&] { return [crew = crew_, member = members_, seen] { crew->help(member, seen); }; };
  // Those there are will do: results do not depend on how many.
  while (members_ < size_ && pool.lend(Pool::Role::helper, size_ - 1, job())) ++members_;
}

void Team::run(int tasks, const std::function<void(int, int)>& task) {
  if (tasks > 1 && members_ < size_) enlist();
  if (tasks <= 1 || members_ == 1) {
    const NoSubnormals flush;
    for (int index = 0; index < tasks; ++index) {
      check_interrupt();
      task(index, 0);
    }
    return;
  }
  Crew& crew = *crew_;
  crew.tasks = tasks;
  crew.task = &task;
  crew.next.store(0);
  crew.begin(Crew::kOpen);
  crew.drain(0);
  crew.end();
  if (crew.error) std::rethrow_exception(std::exchange(crew.error, nullptr));
}

void Control::report(const ProgressEvent& event) {
  if (!wants_progress_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back(event);
}

void check_interrupt() {
  if (current_control && current_control->stopped()) throw Interrupted{};
}

void supervise(Monitor& monitor, const std::function<void(Control&)>& work, bool brief) {
  Control control;
  control.wants_progress_ = monitor.wants_progress();
  const auto deliver = [&] {
    std::vector<ProgressEvent> events;
    {
      std::lock_guard<std::mutex> lock(control.mutex_);
      events.swap(control.events_);
    }
    for (const ProgressEvent& event : events) monitor.progress(event);
  };
  const auto do_work = [&] {
    const NoSubnormals flush;
    const Belonging belonging(&control);
    work(control);
  };
  struct Outcome {
    std::mutex mutex;
    std::condition_variable told;
    bool done = false;
    std::exception_ptr error;

    void wait() {
      std::unique_lock<std::mutex> lock(mutex);
      told.wait(lock, [&] { return done; });
    }
  };
  const auto outcome = brief ? nullptr : std::make_shared<Outcome>();
  const auto job = [&do_work, outcome] {
    try {
      do_work();
    } catch (...) {
      outcome->error = std::current_exception();
    }
  };
  const auto tell = [outcome] {
    std::lock_guard<std::mutex> lock(outcome->mutex);
    outcome->done = true;
    outcome->told.notify_one();
  };
  if (brief || !Pool::here().lend(Pool::Role::lead, 0, job, tell)) {  // no thread, no looking in
    do_work();
    return deliver();
  }

  bool interrupted = false;
  try {
    std::unique_lock<std::mutex> lock(outcome->mutex);
    while (!outcome->done) {
      outcome->told.wait_for(lock, 50ms, [&] { return outcome->done; });
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
    outcome->wait();
    throw;
  }
  if (interrupted) throw Interrupted{};
  deliver();  // what came between the last look and the end
  if (outcome->error) std::rethrow_exception(outcome->error);
}

namespace {

// As OpenMP's: of the thread that sets it.
thread_local int limit_of_thread = 0;

}  // namespace

int thread_limit() { return limit_of_thread; }
void set_thread_limit(int limit) { limit_of_thread = std::max(0, limit); }
int pool_size() { return Pool::here().size(); }

}  // namespace amclust
