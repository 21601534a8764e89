// Sums over many rows, to the same bits for any number of threads: the rows are cut into parts in a way that the
// threads have no say in, each part has a state of its own to add into, and the states are added up in their order.
#pragma once

#include "team.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace amclust {

// A share of the work of adding one state to another, so that several threads can do it.
struct Slice {
  int index = 0, count = 1;

  bool first() const { return index == 0; }  // whoever adds what cannot be shared
  std::size_t begin(std::size_t size) const { return size * index / count; }
  std::size_t end(std::size_t size) const { return size * (index + 1) / count; }
  // out[i] += in[i] for the slice's share of 0 ... size - 1
  template <class Out, class In>
  void add(Out&& out, const In& in, std::size_t size) const {
    for (std::size_t i = begin(size); i < end(size); ++i) out[i] += in[i];
  }
};

// fill(state, part, member) for the first `parts` states (there are made to be as many), then state 0 += state 1, ...
// by State::add(const State& other, Slice). `size`: about how many numbers a state holds. Returns state 0.
template <class State, class Fill>
State& parallel_reduce(Team& team, std::vector<State>& states, int parts, std::size_t size, const Fill& fill) {
  constexpr std::size_t kMinShared = 4096;  // fewer numbers are not worth waking threads for
  if (static_cast<int>(states.size()) < parts) states.resize(parts);
  team.run(parts, [&](int part, int member) { fill(states[part], part, member); });
  const int slices = size > kMinShared ? parts : 1;
  if (parts > 1)
    team.run(slices, [&](int index, int) {
      for (int part = 1; part < parts; ++part) states[0].add(states[part], Slice{index, slices});
    });
  return states[0];
}

// The same with states that last no longer: make() gives one.
template <class Make, class Fill>
auto parallel_reduce(Team& team, int parts, const Make& make, const Fill& fill) {
  std::vector<std::optional<decltype(make())>> states(parts);
  team.run(parts, [&](int part, int member) {
    states[part].emplace(make());
    fill(*states[part], part, member);
  });
  for (int part = 1; part < parts; ++part) states[0]->add(*states[part], Slice{});
  return std::move(*states[0]);
}

}  // namespace amclust
