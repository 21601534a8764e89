// Rows read where they lie: dense or CSR, float or double, with missing values; column statistics and distinct rows.
#include "blobs.hpp"
#include "check.hpp"
#include "rows/statistics.hpp"

#include <algorithm>
#include <limits>

namespace {

using amclust::ColumnStatistics;
using amclust::Dataset;
using amclust::Team;
using tests::kCosine;
using tests::kEuclidean;

const float kNan = std::nanf("");
constexpr float kInf = std::numeric_limits<float>::infinity();

// The same table in every form there is.
template <class Value, class Index>
struct Forms {
  int n, d;
  std::vector<Value> dense, values;
  std::vector<Index> indices, indptr;

  Forms(const std::vector<float>& table, int features) : n(static_cast<int>(table.size()) / features), d(features) {
    dense.assign(table.begin(), table.end());
    indptr.push_back(0);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < d; ++j) {
        const Value value = dense[static_cast<std::size_t>(i) * d + j];
        if (value == Value{0} && j % 2 == 0) continue;  // some zeros are stored
        values.push_back(value);
        indices.push_back(j);
      }
      indptr.push_back(static_cast<Index>(values.size()));
    }
  }
  Dataset dataset(bool is_sparse) const {
    Dataset out;
    out.rows = n;
    out.features = d;
    out.storage = is_sparse ? amclust::Storage::sparse : amclust::Storage::dense;
    if (is_sparse)
      out.sparse = {values.data(), sizeof(Value) == 8, indices.data(), indptr.data(), sizeof(Index) == 8};
    else
      out.dense = {dense.data(), sizeof(Value) == 8, d};
    const std::vector<double> offset(d, 0.5);
    const std::vector<float> scale(d, 2.0f);
    out.set_units(kEuclidean, offset.data(), scale.data());
    return out;
  }
};

const std::vector<float> kTable{0.0f, 1.0f, -2.0f, 0.0f, 3.0f,   //
                                kNan, 4.0f, 0.0f,  kNan, 0.25f,  //
                                7.0f, 0.0f, 0.0f,  1.5f, -1.0f};

// Numbers beside categories, and the same with a column a level: x, of 3 levels, y, of 2 levels.
template <class Value>
struct Mixed {
  static constexpr int n = 6, d = 7, q = 2;
  std::vector<Value> numbers{1.0f, 2.0f, 0.0f, 0.0f, 3.0f, kNan, 1.0f, 2.0f, -1.0f, 0.5f, kNan, kNan};
  std::vector<std::uint8_t> codes{0, 1, 2, 0, 255, 1, 0, 1, 1, 255, 255, 255};
  std::vector<Value> table;
  std::vector<double> offset{0.5, 0.3, 0.2, 0.5, -1.0, 0.6, 0.4};
  std::vector<float> scale{2.0f, 1.5f, 1.5f, 1.5f, 0.5f, 3.0f, 3.0f};

  explicit Mixed(bool complete) {
    if (complete)
      for (Value& value : numbers) value = std::isnan(value) ? Value{4} : value;
    for (std::uint8_t& code : codes) code = complete && code == 255 ? 0 : code;
    for (int i = 0; i < n; ++i) {
      table.push_back(numbers[2 * i]);
      add_levels(codes[q * i], 3);
      table.push_back(numbers[2 * i + 1]);
      add_levels(codes[q * i + 1], 2);
    }
  }
  void add_levels(int code, int levels) {
    for (int l = 0; l < levels; ++l) table.push_back(code == 255 ? Value(kNan) : Value(code == l));
  }
  Dataset dataset(bool mixed) const {
    Dataset out;
    out.rows = n;
    out.features = d;
    if (mixed) {
      out.mixed.numbers = {numbers.data(), sizeof(Value) == 8, 2};
      out.mixed.codes = codes.data();
      out.mixed.code_stride = q;
      out.set_columns({{0, 0}, {0, 3}, {0, 0}, {0, 2}});
    } else {
      out.dense = {table.data(), sizeof(Value) == 8, d};
    }
    out.set_units(kEuclidean, offset.data(), scale.data());
    return out;
  }
};

template <class Value>
void levels_are_columns(bool complete) {
  check::describe("mixed ", sizeof(Value), complete ? " complete" : "");
  const Mixed<Value> rows(complete);
  Dataset mixed = rows.dataset(true), dense = rows.dataset(false);
  CHECK_EQUAL(mixed.features, rows.d);
  CHECK_EQUAL(mixed.columns(), 4);
  mixed.has_missing = dense.has_missing = !complete;
  std::vector<std::int64_t> which{5, 0, 3, 1, 4, 2};
  const std::vector<float> fill{1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f};
  constexpr int ld = 8;
  std::vector<float> one(rows.n * ld, 9.0f), other(one);
  std::vector<std::uint8_t> missing(rows.n * rows.d, 9), marks(missing);
  mixed.load(which.data(), rows.n, fill.data(), one.data(), ld, missing.data());
  dense.load(which.data(), rows.n, fill.data(), other.data(), ld, marks.data());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK_NEAR(one[i], other[i], 1e-6);
  CHECK(missing == marks);
  for (int i = 0; i < rows.n; ++i) {
    std::vector<double> raw(rows.d), plain(rows.d);
    mixed.raw(i, raw.data());
    dense.raw(i, plain.data());
    for (int j = 0; j < rows.d; ++j) CHECK(raw[j] == plain[j] || (std::isnan(raw[j]) && std::isnan(plain[j])));
    for (int j = 0; j < rows.n; ++j) CHECK_EQUAL(mixed.compare(i, j), -mixed.compare(j, i));
    CHECK_EQUAL(mixed.compare(i, i), 0);
  }
  CHECK_EQUAL(mixed.compare(0, 3), 0);

  Team team(2);
  const ColumnStatistics found = amclust::column_statistics(mixed, nullptr, rows.n, nullptr, team);
  const ColumnStatistics wanted = amclust::column_statistics(dense, nullptr, rows.n, nullptr, team);
  CHECK(found.mean == wanted.mean && found.variance == wanted.variance && found.weight == wanted.weight);
  CHECK(found.low == wanted.low && found.high == wanted.high);
  CHECK_EQUAL(found.missing, wanted.missing);
  CHECK_EQUAL(found.empty_row, wanted.empty_row);
  CHECK_EQUAL(amclust::rows_are_plain(mixed, false, team), complete);
  CHECK(amclust::empty_rows(mixed, team) == amclust::empty_rows(dense, team));
  CHECK_EQUAL(amclust::distinct_rows(mixed, nullptr, rows.n, nullptr).rows.size(),
              amclust::distinct_rows(dense, nullptr, rows.n, nullptr).rows.size());

  if (!complete) return;
  // By entries: a look-up a column, and the origin for all that a row does not have.
  amclust::SparseEntries entries;
  std::vector<float> norms(rows.n);
  mixed.load_entries(which.data(), rows.n, entries, norms.data());
  CHECK_EQUAL(static_cast<int>(entries.values.size()), rows.n * 4);
  for (int i = 0; i < rows.n; ++i) {
    std::vector<double> row(mixed.origin(), mixed.origin() + rows.d);
    for (std::int32_t e = entries.starts[i]; e < entries.starts[i + 1]; ++e)
      row[entries.columns[e]] += entries.values[e];
    double norm = 0.0;
    for (int j = 0; j < rows.d; ++j) {
      CHECK_NEAR(row[j], one[i * ld + j], 1e-5);
      norm += row[j] * row[j];
    }
    CHECK_NEAR(norms[i], norm, 1e-4);
  }
}

void columns_are_counted_not_levels() {
  const Mixed<float> rows(false);
  const Dataset mixed = rows.dataset(true);
  std::uint8_t marks[] = {0, 1, 1, 1, 0, 0, 0};
  CHECK_EQUAL(mixed.observed_columns(nullptr), 4.0);
  CHECK_EQUAL(mixed.observed_columns(marks), 3.0);
  CHECK_EQUAL(mixed.stored(1), 4);
  CHECK_EQUAL(mixed.stored(2), 3 + 1 + 2);
}

template <class Value, class Index>
void check_loading(bool is_sparse) {
  check::describe(is_sparse ? "sparse" : "dense", " ", sizeof(Value), " ", sizeof(Index));
  const Forms<Value, Index> forms(kTable, 5);
  Dataset data = forms.dataset(is_sparse);
  data.has_missing = true;
  const std::int64_t which[] = {2, 1, 0, 1};
  const float fill[] = {-1.0f, -2.0f, -3.0f, -4.0f, -5.0f};
  constexpr int ld = 8;
  std::vector<float> out(4 * ld, 99.0f);
  std::vector<std::uint8_t> missing(4 * 5, 9);
  float row_scale[4] = {};
  data.load(which, 4, fill, out.data(), ld, missing.data(), row_scale);
  for (int i = 0; i < 4; ++i) {
    CHECK_EQUAL(row_scale[i], 1.0f);
    std::vector<double> raw(5);
    data.raw(which[i], raw.data());
    for (int j = 0; j < ld; ++j) {
      if (j >= 5) {
        CHECK_EQUAL(out[i * ld + j], 0.0f);
        continue;
      }
      const float value = kTable[static_cast<std::size_t>(which[i]) * 5 + j];
      CHECK(std::isnan(value) ? std::isnan(raw[j]) : raw[j] == value);
      CHECK_EQUAL(static_cast<int>(missing[i * 5 + j]), static_cast<int>(std::isnan(value)));
      CHECK_EQUAL(out[i * ld + j], std::isnan(value) ? fill[j] : (value - 0.5f) * 2.0f);
    }
  }
}

// Values beyond a limit count as it, those that are not believed as missing, unless there is no other in their row.
template <class Value>
void limits_hold_in_every_form(bool is_sparse) {
  check::describe(is_sparse ? "sparse" : "dense", " limits, ", sizeof(Value));
  const Forms<Value, std::int32_t> forms({0.0f, 3.0f, 9.0f, 1.0f, kNan, -9.0f, 9.0f, -9.0f, 9.0f}, 3);
  Dataset data = forms.dataset(is_sparse);
  data.has_missing = true;
  data.limits = {{-1, -2, -2}, {2, 2, 2}, {-4, -4, -4}, {4, 4, 4}};
  const std::vector<double> offset(3, 0.5);
  const std::vector<float> scale(3, 2.0f);
  data.set_units(kEuclidean, offset.data(), scale.data());
  const std::int64_t which[] = {0, 1, 2};
  const std::vector<float> fill(3, 77.0f);
  std::vector<float> out(9);
  std::vector<std::uint8_t> missing(9);
  const auto check_rows = [&](const std::vector<float>& expected) {  // in original units; NaN: filled
    data.load(which, 3, fill.data(), out.data(), 3, missing.data());
    for (int i = 0; i < 9; ++i) {
      CHECK_EQUAL(static_cast<int>(missing[i]), static_cast<int>(std::isnan(expected[i])));
      CHECK_EQUAL(out[i], std::isnan(expected[i]) ? 77.0f : (expected[i] - 0.5f) * 2.0f);
    }
  };
  check_rows({0.0f, 2.0f, kNan, 1.0f, kNan, kNan, 2.0f, -2.0f, 2.0f});
  data.believe_all();
  check_rows({0.0f, 2.0f, 2.0f, 1.0f, kNan, -2.0f, 2.0f, -2.0f, 2.0f});
}

void rows_on_the_sphere() {
  const tests::Rows rows{2, 4, {3.0f, 0.0f, 4.0f, 0.0f, kNan, 1.0f, -1.0f, kNan}};
  Dataset data = rows.dataset(kCosine);
  const std::int64_t which[] = {0, 1};
  const float fill[] = {0.1f, 0.2f, 0.3f, 0.4f};
  float out[8], row_scale[2];
  std::uint8_t missing[8];
  data.load(which, 2, fill, out, 4, missing, row_scale);
  CHECK_NEAR(row_scale[0], 5.0, 1e-6);
  CHECK_NEAR(out[0], 0.6, 1e-6);
  CHECK_NEAR(out[2], 0.8, 1e-6);
  // Two of four are observed: the row is taken to be as long in the others.
  CHECK_NEAR(row_scale[1], 2.0, 1e-6);
  CHECK_NEAR(out[5], 0.5, 1e-6);
  CHECK_NEAR(out[6], -0.5, 1e-6);
  CHECK_EQUAL(out[4], 0.1f);
  CHECK_EQUAL(out[7], 0.4f);
}

void a_stride_skips_what_is_not_ours() {
  const std::vector<float> wide{1, 2, 99, 3, 4, 99};
  Dataset data;
  data.rows = 2;
  data.features = 2;
  data.dense = {wide.data(), false, 3};
  const double offset[] = {0.0, 0.0};
  const float scale[] = {1.0f, 1.0f};
  data.set_units(kEuclidean, offset, scale);
  const std::int64_t which[] = {1, 0};
  float out[4];
  data.load(which, 2, nullptr, out, 2, nullptr);
  CHECK_EQUAL(out[0], 3.0f);
  CHECK_EQUAL(out[1], 4.0f);
  CHECK_EQUAL(out[2], 1.0f);
  CHECK_EQUAL(out[3], 2.0f);
}

void check_statistics(const Dataset& data, const std::vector<float>& table, const std::int64_t* which, std::int64_t n,
                      const float* weights, Team& team) {
  const ColumnStatistics stats = amclust::column_statistics(data, which, n, weights, team);
  std::int64_t n_missing = 0;
  for (int j = 0; j < data.features; ++j) {
    double weight = 0.0, mean = 0.0, square = 0.0, low = kInf, high = -kInf;
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = table[static_cast<std::size_t>(which ? which[i] : i) * data.features + j];
      n_missing += std::isnan(value);
      if (std::isnan(value)) continue;
      const double w = weights ? weights[i] : 1.0;
      weight += w;
      mean += w * value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    mean /= weight;
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = table[static_cast<std::size_t>(which ? which[i] : i) * data.features + j];
      if (!std::isnan(value)) square += (weights ? weights[i] : 1.0) * (value - mean) * (value - mean);
    }
    CHECK_NEAR(stats.weight[j], weight, 1e-9);
    CHECK_NEAR(stats.mean[j], mean, 1e-9 * (1.0 + std::abs(mean)));
    CHECK_NEAR(stats.variance[j], square / weight, 1e-6 * (1.0 + square / weight));
    CHECK_EQUAL(stats.low[j], low);
    CHECK_EQUAL(stats.high[j], high);
  }
  CHECK_EQUAL(stats.missing, n_missing);
  CHECK_EQUAL(stats.infinite_row, std::int64_t{-1});
  CHECK_EQUAL(stats.empty_row, std::int64_t{-1});
}

void statistics_are_right_in_every_form() {
  const Forms<float, std::int32_t> narrow(kTable, 5);
  const Forms<double, std::int64_t> wide(kTable, 5);
  const std::int64_t which[] = {2, 0};
  const float weights[] = {0.5f, 3.0f, 1.0f};
  for (const int size : {1, 3})
    for (const bool is_sparse : {false, true}) {
      Team team(size);
      for (const Dataset& data : {narrow.dataset(is_sparse), wide.dataset(is_sparse)}) {
        check_statistics(data, kTable, nullptr, 3, nullptr, team);
        check_statistics(data, kTable, nullptr, 3, weights, team);
        check_statistics(data, kTable, which, 2, weights, team);
      }
    }
}

void variance_far_from_zero() {
  tests::Rows rows{1000, 2, std::vector<float>(2000)};
  for (int i = 0; i < 1000; ++i) {
    rows.values[2 * static_cast<std::size_t>(i)] = 1e6f + static_cast<float>(i % 2);
    rows.values[2 * static_cast<std::size_t>(i) + 1] = 5.0f;
  }
  Team team(2);
  const ColumnStatistics stats = amclust::column_statistics(rows.dataset(), nullptr, 1000, nullptr, team);
  CHECK_NEAR(stats.variance[0], 0.25, 1e-9);
  CHECK_NEAR(stats.mean[0], 1e6 + 0.5, 1e-9);
  CHECK_EQUAL(stats.variance[1], 0.0);
}

void statistics_do_not_depend_on_the_threads() {
  tests::Rows rows = tests::Rows::blobs(333, 4, 3, 1.0, 1);
  rows.remove_values(0.2, 2);
  const Dataset data = rows.dataset();
  Team one(1), four(4);
  const ColumnStatistics a = amclust::column_statistics(data, nullptr, 333, nullptr, one);
  const ColumnStatistics b = amclust::column_statistics(data, nullptr, 333, nullptr, four);
  CHECK(a.mean == b.mean && a.variance == b.variance && a.weight == b.weight);
}

void bad_rows_are_found() {
  tests::Rows rows = tests::Rows::blobs(100, 3, 2, 1.0, 3);
  const auto at = [&](int i, int j) -> float& { return rows.values[static_cast<std::size_t>(i) * 3 + j]; };
  at(70, 2) = -kInf;
  at(80, 0) = kInf;
  for (int j = 0; j < 3; ++j) at(55, j) = at(90, j) = kNan;
  for (int j = 0; j < 3; ++j) at(33, j) = 0.0f;
  at(44, 0) = kNan, at(44, 1) = at(44, 2) = 0.0f;
  Team team(3);
  const ColumnStatistics stats = amclust::column_statistics(rows.dataset(), nullptr, 100, nullptr, team);
  CHECK_EQUAL(stats.infinite_row, std::int64_t{70});
  CHECK_EQUAL(stats.infinite_column, 2);
  CHECK_EQUAL(stats.empty_row, std::int64_t{55});
  CHECK_EQUAL(stats.zero_row, std::int64_t{33});
  at(33, 1) = 1.0f;  // now the first is the one with a hole
  CHECK_EQUAL(amclust::column_statistics(rows.dataset(), nullptr, 100, nullptr, team).zero_row, std::int64_t{44});
  at(44, 1) = 1.0f;  // rows without any value are not zero
  CHECK_EQUAL(amclust::column_statistics(rows.dataset(), nullptr, 100, nullptr, team).zero_row, std::int64_t{-1});
}

void distinct_rows_are_ordered_and_weighed() {
  const std::vector<float> table{2, 1, kNan, 1, 2, 1, 1, 9, kNan, 1, 2, 0};
  const float weights[] = {1.0f, 0.5f, 2.0f, 0.0f, 0.25f, 4.0f};
  const Forms<float, std::int32_t> narrow(table, 2);
  const Forms<double, std::int64_t> wide(table, 2);
  for (const Dataset& data : {narrow.dataset(false), narrow.dataset(true), wide.dataset(false), wide.dataset(true)}) {
    const amclust::DistinctRows all = amclust::distinct_rows(data, nullptr, data.rows, nullptr);
    CHECK_EQUAL(all.rows.size(), std::size_t{4});  // (NaN, 1), (1, 9), (2, 0), (2, 1)
    CHECK((all.weights == std::vector<float>{2.0f, 1.0f, 1.0f, 2.0f}));
    for (std::size_t i = 1; i < all.rows.size(); ++i) CHECK(data.compare(all.rows[i - 1], all.rows[i]) < 0);
    CHECK_EQUAL(data.compare(0, 2), 0);
    CHECK_EQUAL(data.compare(1, 4), 0);
    CHECK_EQUAL(data.compare(1, 0), -1);
    CHECK_EQUAL(data.compare(0, 5), 1);
    const amclust::DistinctRows some = amclust::distinct_rows(data, nullptr, data.rows, weights);
    CHECK((some.weights == std::vector<float>{0.75f, 4.0f, 3.0f}));  // without (1, 9)
  }
}

// Small whole numbers with missing values: many rows are equal, or differ only far along.
template <class Value, class Index>
void sparse_rows_compare_like_dense_ones() {
  check::describe("compare ", sizeof(Value), " ", sizeof(Index));
  tests::Source source(8);
  std::vector<float> table(60 * 7);
  for (float& value : table) {
    const int drawn = source.below(9);
    value = drawn < 6 ? 0.0f : drawn == 6 ? -1.0f : drawn == 7 ? 2.0f : kNan;
  }
  std::copy_n(table.begin(), 7, table.begin() + 21);  // a copy
  std::fill_n(table.begin() + 28, 14, 0.0f);          // two rows with nothing but zeros
  const Forms<Value, Index> forms(table, 7);
  const Dataset dense = forms.dataset(false), sparse = forms.dataset(true);
  for (int a = 0; a < forms.n; ++a)
    for (int b = 0; b < forms.n; ++b) CHECK_EQUAL(sparse.compare(a, b), dense.compare(a, b));
  CHECK_EQUAL(sparse.compare(0, 3), 0);
  CHECK_EQUAL(sparse.compare(4, 5), 0);
  CHECK(amclust::distinct_rows(sparse, nullptr, sparse.rows, nullptr).rows.size() < 60);
}

}  // namespace

int main() {
  for (const bool complete : {false, true}) {
    levels_are_columns<float>(complete);
    levels_are_columns<double>(complete);
  }
  columns_are_counted_not_levels();
  for (const bool is_sparse : {false, true}) {
    check_loading<float, std::int32_t>(is_sparse);
    check_loading<float, std::int64_t>(is_sparse);
    check_loading<double, std::int32_t>(is_sparse);
    check_loading<double, std::int64_t>(is_sparse);
  }
  check::describe("");
  for (const bool is_sparse : {false, true}) {
    limits_hold_in_every_form<float>(is_sparse);
    limits_hold_in_every_form<double>(is_sparse);
  }
  rows_on_the_sphere();
  a_stride_skips_what_is_not_ours();
  statistics_are_right_in_every_form();
  variance_far_from_zero();
  statistics_do_not_depend_on_the_threads();
  bad_rows_are_found();
  distinct_rows_are_ordered_and_weighed();
  sparse_rows_compare_like_dense_ones<float, std::int32_t>();
  sparse_rows_compare_like_dense_ones<double, std::int64_t>();
  return check::finish();
}
