// The rows to be clustered, read where they lie: dense, CSR, or numbers beside categories, float or double, with NaN
// for missing values. Rows are handed out in blocks of floats in core units: (x - offset) * scale, or on the unit
// sphere.
#pragma once

#include "energies/energy.hpp"
#include "kernels/kernels.hpp"
#include "rows/row_block.hpp"
#include "team.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace amclust {

struct DenseRows {
  const void* data = nullptr;
  bool is_double = false;
  std::ptrdiff_t stride = 0;  // elements from row to row
};

struct SparseRows {  // CSR, indices sorted within a row
  const void* data = nullptr;
  bool is_double = false;
  const void* indices = nullptr;
  const void* indptr = nullptr;
  bool wide_indices = false;  // 64-bit
};

// A column of a table that has categories: the first of its columns in the core, and how many levels it has, each a
// column of the core that is 1 where a row has the level and 0 elsewhere. A number has no levels and one column.
struct TableColumn {
  int first = 0, levels = 0;
  int width() const { return levels ? levels : 1; }
};

struct MixedRows {  // of each row its numbers, and the codes of its levels, both in the order of the columns
  static constexpr std::uint8_t kMissing = 255;
  DenseRows numbers;
  const std::uint8_t* codes = nullptr;
  std::ptrdiff_t code_stride = 0;
  std::vector<TableColumn> columns;
};

enum class Storage { dense, sparse, mixed };

// What stands for the missing values of rows, row by row: value * scale[j] + offset[j] in original units.
struct Fills {
  const std::int64_t* starts = nullptr;  // [rows + 1]
  const float* values = nullptr;
  std::vector<double> offset, scale;  // [features]

  explicit operator bool() const { return starts != nullptr; }
};

// What values of a column may be, in original units: outside of low ... high they count as that end, and outside of
// believed_low ... believed_high as missing, unless the row has no other value.
struct Limits {
  std::vector<double> low, high, believed_low, believed_high;  // [features]; empty: values are taken as they are

  explicit operator bool() const { return !low.empty(); }
  bool believes(int column, double value) const {  // not a missing one
    return value >= believed_low[column] && value <= believed_high[column];
  }
  double bring(int column, double value) const {  // NaN stays NaN
    return value < low[column] ? low[column] : value > high[column] ? high[column] : value;
  }
};

class Dataset {
 public:
  std::int64_t rows = 0;
  int features = 0;
  Storage storage = Storage::dense;
  DenseRows dense;
  SparseRows sparse;
  MixedRows mixed;
  // Rows are loaded with these, which are to be set before units; statistics, copies and order are still those of the
  // rows as they are. Limits of sparse columns hold zero.
  Fills fills;
  Limits limits;

  bool is_dense() const { return storage == Storage::dense; }
  bool is_sparse() const { return storage == Storage::sparse; }
  // How many columns the table has: the levels of a category are one.
  int columns() const { return storage == Storage::mixed ? static_cast<int>(mixed.columns.size()) : features; }
  // What part of a column of the table each feature is; empty: all of it.
  const std::vector<float>& column_parts() const { return column_parts_; }
  // How many columns of the table are there in a row, by the marks of its missing values (null: all).
  double observed_columns(const std::uint8_t* missing) const;
  void set_columns(std::vector<TableColumn> columns);

  bool has_missing = false;  // values that nothing stands for
  EnergyKind metric{};
  void set_units(EnergyKind metric, const double* offset, const float* scale);  // before load()
  void believe_all();  // no value counts as missing for being far away

  // Raw values of one row, missing as NaN.
  void raw(std::int64_t row, double* out) const;
  // n rows into out [n][ld], ld >= features, the rest of a row being zeros. Missing values become fill[j] (already in
  // core units); missing [n][features] (may be null when has_missing is false) marks them. row_scale [n] (may be
  // null) gets the factor that undoes the normalisation of an energy on the sphere.
  void load(const std::int64_t* which, int n, const float* fill, float* out, int ld, std::uint8_t* missing,
            float* row_scale = nullptr) const;

  // Whether rows can be had as their stored entries: they are sparse (or have many levels for each column of the
  // table), all there, and not far from zero (the origin and the entries of a column far away would cancel).
  bool gives_entries() const {
    return (is_sparse() || features > kManyLevels * columns()) && !has_missing && near_zero_;
  }
  // The entries of n rows, and their squared norms [n].
  void load_entries(const std::int64_t* which, int n, SparseEntries& out, float* norms) const;
  // How many entries a row has, and how many on average.
  std::int64_t stored(std::int64_t row) const;
  double mean_entries() const;
  // What a row without entries is in core units, [features]; null: zero.
  const float* origin() const { return origin_.empty() ? nullptr : origin_.data(); }

  // -1, 0 or 1: a total order of rows by value, NaN first and equal to NaN.
  int compare(std::int64_t a, std::int64_t b) const;

 private:
  // Beyond so many features for each column of the table, rows are read by their entries.
  static constexpr int kManyLevels = 8;

  template <class Value>
  void load_dense_row(std::int64_t row, float* out) const;
  template <class Value>
  void load_mixed_row(std::int64_t row, float* out) const;
  // The values of a row that are stored, each in core units by itself; all others are zeros.
  void load_stored_row(std::int64_t row, float* out) const;
  // Brings a dense row that was loaded within the limits.
  template <class Value>
  void limit(std::int64_t row, float* out) const;
  // Puts what stands for missing values into a row in core units, before it is normalised.
  void put_fills(std::int64_t row, float* out) const;

  std::vector<double> offset_;
  std::vector<double> fill_factor_, fill_shift_;  // from the units of fills to those of the core
  std::vector<float> narrow_offset_, scale_;      // per feature
  std::vector<float> low_, high_;                 // the limits in core units
  std::vector<float> origin_;                     // empty where all offsets are zero
  std::vector<double> entry_offset_;              // what is subtracted from entries; empty: nothing
  std::vector<float> zero_, one_;                 // of mixed rows, what indicators are in core units
  std::vector<float> column_parts_;
  double origin_square_ = 0.0;
  bool near_zero_ = true;
};

// Whether all rows are stored dense, have all their values, none of them huge, and not only zeros unless rows may be
// `zeros`: most tables, and quickly seen. What else there is only column_statistics() tells.
bool rows_are_plain(const Dataset& data, bool zeros, Team& team);

// The rows, not sparse ones, that have no value at all: of most rows the first value tells that they have one.
std::vector<std::int64_t> empty_rows(const Dataset& data, Team& team);

// The distinct ones of the listed rows (all when `which` is null) in their total order, and for each how much weight
// its copies have together (1 a row when `weights` is null). Rows of weight 0 are left out. So training sees the same
// thing whether a row is there twice or has weight 2, and in whatever order rows come.
struct DistinctRows {
  std::vector<std::int64_t> rows;
  std::vector<float> weights;
};
DistinctRows distinct_rows(const Dataset& data, const std::int64_t* which, std::int64_t n, const float* weights);

}  // namespace amclust
