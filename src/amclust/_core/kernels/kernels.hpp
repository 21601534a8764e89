// The number crunching, a small block of rows at a time, compiled once per instruction set. Everything above calls it
// through this table and is plain C++. Pointers and sizes only: see simd.hpp for why.
//
// Shapes: k memories padded to kp (a multiple of the lanes), d features. Memories and their gradients are stored
// feature-major, [d][kp], so that the coordinates of all memories in one feature lie together. Row blocks are
// [rows][ld], ld being d padded to the lanes with zeros; per-row results [rows][kp]. Blocks of per-row results have
// room for rows padded to the lanes.
#pragma once

#include "energies/energy.hpp"

#include <cstddef>
#include <cstdint>

namespace amclust {

// The network as kernels see it. `bias` is the part of the logits that no state changes, and hugely negative in the
// padding.
struct Network {
  const float* memories;  // [d + 1][kp]; row d is zero, the place of "no feature"
  const float* bias;      // [kp]
  const float* gram;      // [k][k] inner products of the memories; only for kernels where all coordinates move
  int k, kp, d;
  EnergyKind energy;
  float beta, step_size;
  int n_steps;
};

// One tile (as many rows as lanes) in which only some coordinates move: their features, where they start, what they
// are compared with and how much that comparison counts. All are [n_moving][lanes]; lanes with fewer moving
// coordinates are padded with feature d.
struct MovingTile {
  const std::int32_t* feature;
  const float* start;
  const float* target;
  const float* loss_weight;
  int n_moving;
  float* products;       // [lanes][kp], in: start state times memories; out (training): gradient of these products
  float* state;          // [n_moving][lanes], out: where the coordinates end
  float* loss;           // [lanes], out
  std::int32_t* winner;  // [lanes], out: the memory that attracted most at the last step
  float* gradient;       // [d + 1][kp], added to; null: forward only
  float* bias_gradient;  // [kp], added to
  float* scratch;        // moving_scratch() floats
  int lanes_used;
};

// Rows whose coordinates all move. The state stays in the span of its start and the memories,
// v_t = scale_t x + coef_t R, so the recursion runs on k coefficients and not on d coordinates.
struct FreeTile {
  const float* products;    // [lanes][kp] rows times memories
  const float* norm;        // [lanes] squared norms of the rows (energies on the sphere)
  float* coef;              // [lanes][kp] out, after n_steps
  float* scale;             // [lanes] out
  float* history;           // free_scratch() floats: kept between forward and backward of the same tile
  float* trajectory_coef;   // [n_steps + 1][lanes][kp] or null
  float* trajectory_scale;  // [n_steps + 1][lanes] or null
  std::int32_t* winner;     // [lanes] out
};

struct FreeAdjoint {
  const float* coef_adjoint;   // [lanes][kp]
  const float* scale_adjoint;  // [lanes]
  float* products_gradient;    // [lanes][kp] out
  float* gram_gradient;        // [k][k] added to (symmetrised: S = dG + dG^T)
  float* bias_gradient;        // [kp] added to
  int lanes_used;
};

// Exact sums over the rows of a table (rows/exact_sums.hpp), per column: terms are cut by the magic numbers of the bins
// that a column keeps, the highest first, and the slices added. Both [kBins][d].
struct ColumnSlices {
  static constexpr int kBins = 4;
  const double* magic;
  double* sum;
};

// The range of values so far, and the largest terms (in size) of a block of rows; all [d].
struct ColumnRange {
  double *low, *high;
  double *largest, *largest_square;
};

// Rows whose small matrices are solved side by side.
constexpr int kLaneRows = 8;

// Squared length of a row that float32 can no longer scale to 1, and of one that may have values too large for it.
constexpr double kNothing = 1e-36, kMuch = 1e24;

enum class RowState { plain, zero, large, not_finite };

struct AdamStep {
  float learning_rate, beta1, beta2, epsilon;
  float correction1, correction2;  // 1 / (1 - beta^t)
};

// Soft silhouette of a block of rows; see objectives/silhouette.cpp for the formulas.
struct SilhouetteBlock {
  int n, k, kp;
  const float* memberships;  // [n][kp]
  const float* products;     // [n][kp] rows times soft centres
  const float* norm;         // [n] squared norms
  const float* weight;       // [n]
  const float* size;         // [kp] total membership
  float size_floor;          // a cluster below this is empty: nobody's neighbour
  const float* mean_square;  // [kp] mean squared norm of the soft cluster
  float* distance_gradient;  // [n][kp] out: dL/d(squared distance of row to cluster)
  float* direct_gradient;    // [n][kp] out: dL/d(membership), the part that is not through the statistics
  float* size_gradient;      // [kp] added to: dL/d(size) through the leave-one-out factor
  double loss;               // out: sum of weight * silhouette (to be maximised)
  float* row_value;          // [n] out: silhouette of each row
  float* scratch;            // 4 * k * lanes floats
};

// Some columns of the soft clusters' centres: from sums over the rows to means, their squared lengths and squared
// distances from the memories.
struct CentreBlock {
  int n, kp;
  const float* memories;      // [n][kp]
  const float* inverse_size;  // [kp]
  float* centres;             // [n][kp] in: sums; out: means
  float* norm;                // [kp] added to
  float* offset;              // [kp] added to
};

// The way back: gradients by the sums, of the silhouette (through the distances of rows to centres), the anchor and the
// tie. `stretch` makes a centre the best place of its memory.
struct CentreAdjoint {
  int n, kp;
  const float *memories, *centres;      // [n][kp]
  const float *inverse_size, *stretch;  // [kp]
  float by_product, anchor, tie;
  float* gradient;  // [n][kp] in: sums over the rows of the gradient by their distances; out: gradient by the sums
  float* dot;       // [kp] added to: gradient by the centres times the centres
};

// What is nearest to each of n rows, and how near; how near the second nearest is.
struct NearestTwo {
  float* closeness;     // [n]
  float* second;        // [n]
  std::int32_t* which;  // [n]
  // [n][2 lanes] or null: the memories are dealt out to the lanes, and these are the largest and the second largest
  // closeness in each lane, so that all others are known to be below
  float* by_lane;
  std::int32_t* lane_which = nullptr;  // [n][lanes], with by_lane: which memory is the largest of each lane
};

struct Kernels {
  const char* name;
  int lanes;

  // out[n][kp] = rows [n][ld] times memories [d][kp]; the lanes run over the memories
  void (*products)(const float* rows, int ld, int n, int d, const float* memories, int kp, float* out);
  // The same with memories packed as [pairs of vectors][d][2 lanes] (see pack), the last of them one vector wide where
  // kp has an odd number: what is read together lies together, however many memories there are
  void (*packed_products)(const float* rows, int ld, int n, int d, const float* packed, int kp, float* out);
  void (*pack)(const float* memories, int d, int kp, float* packed);
  // Of closeness = bias [kp] + factor * product with the packed memories, for each row: the largest, which memory has
  // it (the first of equals), and the second largest. The padding of bias is hugely negative
  void (*nearest_two)(const float* rows, int ld, int n, int d, const float* packed, int kp, const float* bias,
                      float factor, const NearestTwo& out);
  // The same of products [n][kp] that are there already
  void (*largest_two)(const float* products, int n, int kp, const float* bias, float factor, const NearestTwo& out);
  // The same with memories stored one by one, [k][ld]; the lanes run over the features
  void (*dots)(const float* rows, int ld, int n, const float* memories, int k, int kp, float* out);
  // out[d][kp] += rows^T [d][n] times coef [n][kp]
  void (*outer)(const float* rows, int ld, int n, int d, const float* coef, int kp, float* out);
  // The same into out[k][ld]
  void (*outer_dots)(const float* rows, int ld, int n, const float* coef, int k, int kp, float* out);
  // out[n][kp] = start [kp] + rows times memories [d][kp], with the stored entries of sparse rows, those of row i from
  // starts[i] on
  void (*sparse_products)(const float* values, const std::int32_t* columns, const std::int32_t* starts, int n,
                          const float* memories, int kp, const float* start, float* out);
  // out[n][kp] = squared Euclidean distances, from differences (no cancellation)
  void (*distances)(const float* rows, int ld, int n, int d, const float* memories, int kp, float* out);
  // values[n] = their square roots; n is a multiple of the lanes
  void (*roots)(float* values, int n);
  // out[which[i]][width] += weights[i] * values[i][width], in the order of i (weights null: 1); width is a multiple of
  // the lanes
  void (*add_to_rows)(const float* values, const float* weights, const std::int32_t* which, int n, int width,
                      float* out);
  // out[width] = which of the k values of a column of values [k][width] is least, the first of equals; width is a
  // multiple of the lanes
  void (*least)(const float* values, int k, int width, std::int32_t* out);
  // out[d] = (row[d] - offset[d]) * scale[d]
  void (*affine)(const float* row, const float* offset, const float* scale, int d, float* out);
  void (*affine_double)(const double* row, const double* offset, const float* scale, int d, float* out);
  // Each NaN of x [d] becomes the next value, times the factor of its column and shifted.
  void (*put_missing)(const float* values, const double* factor, const double* shift, int d, float* x);
  // out[m][j] = in[j][m] for j < d, m < k, between [d][kp] and [k][ld]; the second adds, the other way round
  void (*to_rows)(const float* in, int d, int k, int kp, int ld, float* out);
  void (*add_from_rows)(const float* in, int d, int k, int kp, int ld, float* out);
  // out[kp] = inner products of the memories, a and b [d][kp], each with its like
  void (*memory_dots)(const float* a, const float* b, int d, int kp, float* out);
  // memories[d][kp] *= factor[kp]
  void (*scale_memories)(const float* factor, int d, int kp, float* memories);
  // out[d][kp] -= factor[kp] * memories[d][kp]
  void (*subtract_scaled)(const float* memories, const float* factor, int d, int kp, float* out);
  // out[n] = squared norms
  void (*norms)(const float* rows, int ld, int n, float* out);
  // logits -> memberships in place, [n][kp]; log_total[n] (may be null) gets log sum exp
  void (*softmax)(float* logits, int n, int k, int kp, float* log_total);
  // logits[n][kp] = bias + factor * products
  void (*logits)(const float* products, int n, int kp, const float* bias, float factor, float* out);
  // p * (g - sum p g), row by row; out may be g
  void (*softmax_adjoint)(const float* memberships, const float* gradient, int n, int kp, float* out);

  // What kind of row this is; what follows may only take rows that are finite or have missing values.
  RowState (*inspect_float)(const float* row, int d);
  RowState (*inspect_double)(const double* row, int d);
  // Terms are weight * x and weight * x^2 (weights null: 1); missing values have none.
  void (*range_float)(const float* const* rows, const double* weights, int n, int d, const ColumnRange& range);
  void (*range_double)(const double* const* rows, const double* weights, int n, int d, const ColumnRange& range);
  void (*slice_float)(const float* const* rows, const double* weights, int n, int d, const ColumnSlices& sums,
                      const ColumnSlices& squares);
  void (*slice_double)(const double* const* rows, const double* weights, int n, int d, const ColumnSlices& sums,
                       const ColumnSlices& squares);
  // The same of some entries of one row
  void (*slice_entries)(const double* values, const std::int32_t* columns, int n, double weight, int d,
                        const ColumnSlices& sums, const ColumnSlices& squares);

  double (*dot_double)(const double* a, const double* b, int n);
  // out[n] += factor * x[n]
  void (*add_scaled_double)(double factor, const double* x, int n, double* out);
  // out[n] += sum_i factors[i] * rows[i][n], of so many rows
  void (*add_rows_double)(const double* rows, int ld, const double* factors, int count, int n, double* out);
  // out[n][ld] += sum_i factors[i] * rows[i] rows[i]', the lower triangle, and something beyond it: lines have whole
  // vectors, ld >= n is a multiple of kLaneRows. At most kLaneRows rows [ld].
  void (*add_outers_double)(const double* rows, int ld, const double* factors, int count, int n, double* out);
  // A = L L' by its lower triangle, [n][n], in place; false where A is not positive definite. Then x <- L^-1 x,
  // x <- L'^-1 x, and the lower triangle of A^-1 (`scratch` [n][n]).
  bool (*cholesky)(double* a, int n);
  void (*cholesky_half_solve)(const double* l, int n, double* x);
  void (*cholesky_transposed_solve)(const double* l, int n, double* x);
  void (*cholesky_invert)(const double* l, int n, double* scratch, double* out);
  // The same for kLaneRows rows at a time, each with a matrix [n][n] and a vector [n] of its own; entries have the
  // numbers of all rows beside each other. The diagonal of L is inverted. Inner products are of lines [count][n] that
  // all rows share, and of vectors.
  void (*lane_dots)(const double* lines, int n, int count, const double* x, double* out);
  void (*lane_products)(const double* a, const double* b, int n, double* out);
  bool (*lane_cholesky)(double* a, int n);
  void (*lane_half_solve)(const double* l, int n, double* x);
  void (*lane_transposed_solve)(const double* l, int n, double* x);
  // L^-1, whose column j becomes row j, from the diagonal on.
  void (*lane_half_invert)(const double* l, int n, double* columns);
  // Of these columns the lower triangle of (L L')^-1.
  void (*lane_squared)(const double* columns, int n, double* out);

  std::size_t (*moving_scratch)(const Network&, int n_moving);
  // Which of two ways moving() goes, which round differently.
  bool (*moves_by_coefficients)(const Network&, int n_moving);
  void (*moving)(const Network&, const MovingTile&);

  std::size_t (*free_scratch)(const Network&);
  void (*free_forward)(const Network&, const FreeTile&);
  void (*free_backward)(const Network&, const FreeTile&, const FreeAdjoint&);

  void (*silhouette)(SilhouetteBlock&);
  void (*finish_centres)(const CentreBlock&);
  void (*centre_adjoint)(const CentreAdjoint&);
  // out[n][kp] += rate[kp] * (memories - centres)
  void (*add_tie)(const float* memories, const float* centres, const float* rate, int n, int kp, float* out);
  void (*adam)(const AdamStep&, const float* gradient, float* first, float* second, float* values, std::size_t n);
};

// The best table for this machine, or the one named by `use_instruction_set`.
const Kernels& kernels();
// "avx512", "avx2", "baseline" or "best"; false when this machine or build has no such table.
bool use_instruction_set(const char* name);

}  // namespace amclust
