// The memories of one network, with what follows from them.
#pragma once

#include "buffer.hpp"
#include "kernels/kernels.hpp"
#include "matrix.hpp"
#include "panel.hpp"

#include <vector>

namespace amclust {

struct Memories {
  int k = 0, kp = 0, d = 0, ld = 0;  // see kernels/kernels.hpp
  PanelShape shape;
  EnergyKind metric{};
  float beta = 1.0f, step_size = 1.0f;
  int n_steps = 1;

  Buffer values;       // [d + 1][kp], feature-major; the last row stays zero
  Buffer log_weights;  // [kp], zero in the padding

  Buffer square_norms, bias, gram;  // see refresh()
  Panel panel;                      // the values, to multiply rows with

  Memories() = default;
  // rows_per_refresh: about how many rows meet the memories before they change (see PanelShape).
  Memories(int k, int d, EnergyKind metric, float beta, float step_size, int n_steps, double rows_per_refresh);

  // Coordinate j of all memories, [kp].
  float* feature(int j) { return coordinates().row(j); }
  const float* feature(int j) const { return coordinates().row(j); }
  MatrixView<float> coordinates() { return {values.data(), d + 1, kp}; }
  MatrixView<const float> coordinates() const { return {values.data(), d + 1, kp}; }

  // rows [k][d] in core units
  void set(const float* rows);
  void get(float* rows) const;
  void set_one(int memory, const float* row);

  // Brings norms and bias (and, where all coordinates move, the inner products) up to date with the values. Spherical
  // memories are put back on the sphere, unless they are known to be there (doing it twice may change the last bit).
  void refresh(bool with_gram, bool on_sphere = false);

  // Where all coordinates move: with more memories than features, moving d coordinates (2 k d operations a step) is
  // cheaper than moving k coefficients (k^2, less well packed). On the sphere the normalisation needs the coefficients.
  bool cheaper_by_coordinates() const;

  Network network() const;
};

}  // namespace amclust
