// What a trained network says about rows: labels, memberships, energy, entropy, distances, recalled states. Missing
// values are filled first (filling.hpp), then every coordinate is free.
#pragma once

#include "inference/labels.hpp"
#include "memories.hpp"
#include "rows/dataset.hpp"
#include "team.hpp"

#include <cstdint>

namespace amclust {

// Where to write what is wanted; null for the rest. n: number of rows asked for. All in core units.
struct Inference {
  std::int32_t* labels = nullptr;     // [n]
  float* memberships = nullptr;       // [n][k]
  float* energy = nullptr;            // [n]
  float* entropy = nullptr;           // [n]
  float* square_distances = nullptr;  // [n][k], at the row, as the energy has them
  float* state = nullptr;             // [n][d], after n_steps
  float* trajectory = nullptr;        // [n_steps + 1][n][d]
  float* filled = nullptr;            // [n][d], the row with its missing values filled, before any step
  float* row_scale = nullptr;         // [n], length of the row (energies on the sphere)
  bool fill_from_observed = true;     // how missing values start (filling.hpp)
  double* counts = nullptr;           // [k], how many rows carry each label
};

// Whether the stored entries of sparse rows are enough to answer; then the memories have to be laid out for them.
bool takes_entries(const Dataset& data, const Memories& memories, const Inference& out);
// Whether states are wanted, for which Memories::refresh must bring the inner products up to date.
bool recalls(const Inference& out);

// which: row numbers, null for all. `fill` is where missing values start.
void infer(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* fill,
           Certificates& certificates, const Inference& out, Team& team, Control& control);

}  // namespace amclust
