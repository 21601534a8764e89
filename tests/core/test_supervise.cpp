// Long work looked in on from outside: progress, interrupts, exceptions of either side.
#include "check.hpp"
#include "team.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using amclust::Control;
using amclust::Interrupted;
using amclust::Monitor;
using amclust::ProgressEvent;
using amclust::supervise;

// Works until told to stop, and never for ever.
void work_until_stopped(Control& control) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!control.stopped() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
}

struct Listener : Monitor {
  std::vector<ProgressEvent> events;
  std::thread::id thread = std::this_thread::get_id();
  bool same_thread = true;
  bool wants_progress() const override { return true; }
  void progress(const ProgressEvent& event) override {
    same_thread = same_thread && std::this_thread::get_id() == thread;
    events.push_back(event);
  }
};

void progress_arrives_in_order_on_the_calling_thread() {
  Listener listener;
  supervise(listener, [](Control& control) {
    for (int epoch = 0; epoch < 300; ++epoch) {
      control.report({2, epoch, 0.5 * epoch});
      if (epoch % 100 == 0) std::this_thread::sleep_for(60ms);
    }
  });
  CHECK_EQUAL(listener.events.size(), std::size_t{300});
  CHECK(listener.same_thread);
  for (std::size_t i = 0; i < listener.events.size(); ++i) {
    CHECK_EQUAL(listener.events[i].run, 2);
    CHECK_EQUAL(listener.events[i].epoch, static_cast<int>(i));
    CHECK_EQUAL(listener.events[i].loss, 0.5 * static_cast<double>(i));
  }
}

// The work ends while an earlier event is still being handed on.
void the_last_events_are_not_lost() {
  struct Slow : Listener {
    std::atomic<bool> listening{false};
    void progress(const ProgressEvent& event) override {
      Listener::progress(event);
      listening = true;
      if (event.epoch == 0) std::this_thread::sleep_for(100ms);
    }
  } slow;
  supervise(slow, [&](Control& control) {
    control.report({0, 0, 1.0});
    while (!slow.listening) std::this_thread::sleep_for(1ms);
    control.report({0, 1, 0.5});
  });
  CHECK_EQUAL(slow.events.size(), std::size_t{2});
}

void nobody_listening_costs_nothing() {
  struct Deaf : Monitor {
    int calls = 0;
    void progress(const ProgressEvent&) override { ++calls; }
  } deaf;
  supervise(deaf, [](Control& control) { control.report({0, 0, 1.0}); });
  CHECK_EQUAL(deaf.calls, 0);
}

void the_monitor_can_stop_the_work() {
  struct Stopper : Listener {
    int polls = 0, polls_after = 0;
    bool poll() override {
      if (polls >= 2) ++polls_after;
      return ++polls < 2;
    }
  } stopper;
  std::atomic<bool> ended{false};
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS(Interrupted, supervise(stopper, [&](Control& control) {
                 work_until_stopped(control);
                 std::this_thread::sleep_for(120ms);  // it takes a while to notice
                 ended = true;
               }));
  CHECK(ended.load());  // supervise does not leave before the work has
  CHECK_EQUAL(stopper.polls_after, 0);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

// A monitor that has asked to stop has an exception under way (Python's): it must not be called any more.
void no_progress_after_the_request_to_stop() {
  struct Stopper : Listener {
    bool asked = false, disturbed = false;
    bool poll() override {
      asked = true;
      return false;
    }
    void progress(const ProgressEvent&) override { disturbed = disturbed || asked; }
  } stopper;
  CHECK_THROWS(Interrupted, supervise(stopper, [](Control& control) {
                 work_until_stopped(control);
                 for (int i = 0; i < 10; ++i) control.report({0, i, 0.0});
                 std::this_thread::sleep_for(120ms);
               }));
  CHECK(!stopper.disturbed);
}

void the_works_exception_comes_out() {
  Monitor monitor;
  bool right = false;
  try {
    supervise(monitor, [](Control&) { throw std::runtime_error("broken"); });
  } catch (const std::runtime_error& error) {
    right = std::string(error.what()) == "broken";
  }
  CHECK(right);
}

void the_monitors_exception_stops_the_work_and_comes_out() {
  struct Thrower : Listener {
    void progress(const ProgressEvent&) override { throw std::logic_error("callback"); }
  } thrower;
  std::atomic<bool> ended{false};
  CHECK_THROWS(std::logic_error, supervise(thrower, [&](Control& control) {
                 control.report({0, 0, 1.0});
                 work_until_stopped(control);
                 CHECK(control.stopped());
                 ended = true;
               }));
  CHECK(ended.load());
}

// Deep inside the work, and on all threads of its team.
void work_that_looks_for_interrupts_is_stopped() {
  struct Stopper : Monitor {
    bool poll() override { return false; }
  } stopper;
  for (const int tasks : {1, 8}) {
    check::describe(tasks, " tasks");
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS(Interrupted, supervise(stopper, [&](Control&) {
                   amclust::Team team(3);
                   team.run(tasks, [](int, int) {
                     for (const auto end = std::chrono::steady_clock::now() + 20s;
                          std::chrono::steady_clock::now() < end;)
                       amclust::check_interrupt();
                   });
                 }));
    CHECK(std::chrono::steady_clock::now() - start < 5s);
  }
  amclust::check_interrupt();  // nobody has supervised this thread
}

void brief_work_is_done_at_once() {
  Monitor monitor;
  const int before = amclust::pool_size();
  std::thread::id thread;
  supervise(monitor, [&](Control&) { thread = std::this_thread::get_id(); }, true);
  CHECK(thread == std::this_thread::get_id());
  CHECK_EQUAL(amclust::pool_size(), before);
}

void threads_are_used_again() {
  Monitor monitor;
  supervise(monitor, [](Control&) {});
  const int before = amclust::pool_size();
  for (int i = 0; i < 200; ++i) supervise(monitor, [](Control&) {});
  CHECK_EQUAL(amclust::pool_size(), before);
}

void a_limit_is_of_its_thread() {
  amclust::set_thread_limit(3);
  std::thread([] { CHECK_EQUAL(amclust::thread_limit(), 0); }).join();
  CHECK_EQUAL(amclust::thread_limit(), 3);
  amclust::set_thread_limit(0);
}

}  // namespace

int main() {
  progress_arrives_in_order_on_the_calling_thread();
  the_last_events_are_not_lost();
  nobody_listening_costs_nothing();
  the_monitor_can_stop_the_work();
  no_progress_after_the_request_to_stop();
  the_works_exception_comes_out();
  the_monitors_exception_stops_the_work_and_comes_out();
  work_that_looks_for_interrupts_is_stopped();
  brief_work_is_done_at_once();
  threads_are_used_again();
  a_limit_is_of_its_thread();
  return check::finish();
}
