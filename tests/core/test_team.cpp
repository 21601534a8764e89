// Threads that share numbered tasks.
#include "check.hpp"
#include "team.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using amclust::Team;

void every_task_is_done_once() {
  for (const int size : {1, 2, 4, 7}) {
    Team team(size);
    CHECK_EQUAL(team.size(), size);
    for (const int tasks : {0, 1, 2, 3, 50, 1000}) {
      check::describe("team of ", size, ", ", tasks, " tasks");
      const auto times = std::make_unique<std::atomic<int>[]>(static_cast<std::size_t>(tasks) + 1);
      std::atomic<bool> known_member{true};
      team.run(tasks, [&](int index, int member) {
        ++times[index];
        if (member < 0 || member >= size) known_member = false;
      });
      bool once = true;
      for (int i = 0; i < tasks; ++i) once = once && times[i] == 1;
      CHECK(once);
      CHECK_EQUAL(times[tasks].load(), 0);
      CHECK(known_member.load());
    }
  }
}

void many_small_rounds() {
  Team team(4);
  std::atomic<long> sum{0};
  constexpr int kRounds = 5000;
  for (int round = 0; round < kRounds; ++round) team.run(3, [&](int index, int) { sum += index + 1; });
  CHECK_EQUAL(sum.load(), 6L * kRounds);
}

// After a pause longer than the threads spin, so that they sleep.
void rounds_after_a_pause() {
  Team team(3);
  std::atomic<int> done{0};
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    team.run(8, [&](int, int) { ++done; });
  }
  CHECK_EQUAL(done.load(), 24);
}

// Two tasks that wait for each other meet only if two threads take them. The helpers of a team that has just gone may
// not be back yet: then a round is done alone, and the next one asks again.
void members_work_at_the_same_time() {
  using Clock = std::chrono::steady_clock;
  check::describe("team of ", 2);
  Team team(2);
  bool met = false;
  for (const auto end = Clock::now() + std::chrono::seconds(20); !met && Clock::now() < end;) {
    std::atomic<int> arrived{0};
    std::atomic<bool> alone{false};
    team.run(2, [&](int, int) {
      ++arrived;
      const auto patience = Clock::now() + std::chrono::milliseconds(200);
      while (arrived < 2 && Clock::now() < patience) std::this_thread::yield();
      if (arrived < 2) alone = true;
    });
    met = !alone;
  }
  CHECK(met);
}

void an_exception_comes_out_and_the_team_lives_on() {
  for (const int size : {1, 4}) {
    check::describe("team of ", size);
    Team team(size);
    for (int round = 0; round < 100; ++round) {
      std::atomic<int> started{0};
      bool caught = false;
      try {
        team.run(40, [&](int index, int) {
          ++started;
          if (index == 5) throw std::runtime_error("five");
        });
      } catch (const std::runtime_error& error) {
        caught = std::string(error.what()) == "five";
      }
      CHECK(caught);
      CHECK(started >= 6 && started <= 40);
      std::atomic<int> done{0};
      team.run(10, [&](int, int) { ++done; });
      CHECK_EQUAL(done.load(), 10);
    }
    CHECK_THROWS(int, team.run(30, [](int, int) { throw 1; }));  // every task
    CHECK_THROWS(int, team.run(1, [](int, int) { throw 1; }));
  }
}

void teams_come_and_go() {
  for (int i = 0; i < 50; ++i) {
    Team idle(3);
    Team used(3);
    std::atomic<int> done{0};
    used.run(3, [&](int, int) { ++done; });
    CHECK_EQUAL(done.load(), 3);
  }
}

// Teams side by side: all of them together have no more helpers than one.
void teams_share_the_threads_of_the_process() {
  for (int again = 0; again < 5; ++again) {
    std::vector<std::thread> callers;
    std::atomic<int> done{0};
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        Team team(7);
        for (int round = 0; round < 50; ++round) team.run(9, [&](int, int) { ++done; });
      });
    for (std::thread& caller : callers) caller.join();
    CHECK_EQUAL(done.load(), 4 * 50 * 9);
  }
  CHECK(amclust::pool_size() <= 6);
}

void nobody_is_needed_for_a_single_task() {
  const int before = amclust::pool_size();
  Team team(50);
  team.run(1, [](int, int) {});
  CHECK_EQUAL(amclust::pool_size(), before);
}

}  // namespace

int main() {
  every_task_is_done_once();
  many_small_rounds();
  rounds_after_a_pause();
  members_work_at_the_same_time();
  an_exception_comes_out_and_the_team_lives_on();
  teams_come_and_go();
  teams_share_the_threads_of_the_process();
  nobody_is_needed_for_a_single_task();
  return check::finish();
}
