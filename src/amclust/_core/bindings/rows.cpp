// Rows where they lie, and their statistics.
#include "bindings/bind.hpp"
#include "energies/registry.hpp"
#include "rows/linear_map.hpp"
#include "rows/statistics.hpp"
#include "rows/stored.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace amclust::bindings {
namespace {

using namespace nb::literals;

// Original units, until others are set.
void set_plain_units(Dataset& data) {
  const std::vector<double> offset(data.features, 0.0);
  const std::vector<float> scale(data.features, 1.0f);
  data.set_units(EnergyKind{}, offset.data(), scale.data());
}

// What the core reads must lie where the row pointers say, and nowhere else.
template <class Index>
void check_csr(const AnyArray& indices, const AnyArray& indptr, int features) {
  const auto* start = static_cast<const Index*>(indptr.data());
  const auto* column = static_cast<const Index*>(indices.data());
  const auto entries = static_cast<Index>(indices.size());
  if (start[0] != 0 || start[indptr.size() - 1] > entries)
    throw std::invalid_argument("the sparse X is damaged: indptr does not fit its entries");
  for (std::size_t i = 1; i < indptr.size(); ++i)
    if (start[i] < start[i - 1]) throw std::invalid_argument("the sparse X is damaged: indptr goes back");
  for (Index e = 0; e < start[indptr.size() - 1]; ++e)
    if (column[e] < 0 || column[e] >= features)
      throw std::invalid_argument("the sparse X is damaged: it has column indices outside 0 ... " +
                                  std::to_string(features - 1));
}

HeldRows dense_rows(nb::object rows) {
  const auto x = nb::cast<AnyArray>(rows);
  if (x.ndim() != 2) throw std::invalid_argument("rows must be a matrix");
  const bool is_double = x.dtype() == nb::dtype<double>();
  if (!is_double && x.dtype() != nb::dtype<float>()) throw std::invalid_argument("rows must be float32 or float64");
  if (x.shape(0) > 0 && x.shape(1) > 1 && x.stride(1) != 1)
    throw std::invalid_argument("rows must be stored row by row");
  HeldRows out;
  out.data.rows = static_cast<std::int64_t>(x.shape(0));
  out.data.features = static_cast<int>(x.shape(1));
  out.data.dense = {x.data(), is_double, static_cast<std::ptrdiff_t>(x.shape(0) > 1 ? x.stride(0) : x.shape(1))};
  out.held = {rows};
  set_plain_units(out.data);
  return out;
}

HeldRows csr_rows(nb::object values, nb::object indices, nb::object indptr, int features) {
  const auto v = nb::cast<AnyArray>(values), i = nb::cast<AnyArray>(indices), p = nb::cast<AnyArray>(indptr);
  const bool is_double = v.dtype() == nb::dtype<double>(), wide = i.dtype() == nb::dtype<std::int64_t>();
  if (!is_double && v.dtype() != nb::dtype<float>()) throw std::invalid_argument("values must be float32 or float64");
  if (i.dtype() != p.dtype() || (!wide && i.dtype() != nb::dtype<std::int32_t>()))
    throw std::invalid_argument("indices and indptr must both be int32 or both int64");
  for (const AnyArray& array : {v, i, p})
    if (array.ndim() != 1 || (array.size() > 1 && array.stride(0) != 1))
      throw std::invalid_argument("values, indices and indptr must be stored one after the other");
  if (p.size() < 1 || v.size() != i.size())
    throw std::invalid_argument("the sparse X is damaged: its parts do not fit");
  wide ? check_csr<std::int64_t>(i, p, features) : check_csr<std::int32_t>(i, p, features);
  HeldRows out;
  out.data.rows = static_cast<std::int64_t>(p.size()) - 1;
  out.data.features = features;
  out.data.storage = Storage::sparse;
  out.data.sparse = {v.data(), is_double, i.data(), p.data(), wide};
  out.held = {values, indices, indptr};
  set_plain_units(out.data);
  return out;
}

HeldRows mixed_rows(nb::object numbers, nb::object codes, const In<std::int32_t, 1>& levels) {
  HeldRows out = dense_rows(numbers);
  const auto c = nb::cast<AnyArray>(codes);
  if (c.ndim() != 2 || c.dtype() != nb::dtype<std::uint8_t>())
    throw std::invalid_argument("codes must be a matrix of bytes");
  const std::size_t n = c.shape(0), q = c.shape(1);
  if (n > 0 && q > 1 && c.stride(1) != 1) throw std::invalid_argument("codes must be stored row by row");
  std::vector<TableColumn> columns;
  std::vector<int> most;
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const std::int32_t count = levels.data()[j];
    if (count < 0 || count > MixedRows::kMissing) throw std::invalid_argument("a column has 0 to 255 levels");
    columns.push_back({0, count});
    if (count) most.push_back(count);
  }
  const auto n_numbers = static_cast<std::size_t>(out.data.features);
  if (n != static_cast<std::size_t>(out.data.rows) || q != most.size() || q + n_numbers != columns.size())
    throw std::invalid_argument("numbers and codes do not fit the columns");
  out.data.mixed.numbers = out.data.dense;
  out.data.mixed.codes = static_cast<const std::uint8_t*>(c.data());
  out.data.mixed.code_stride = static_cast<std::ptrdiff_t>(n > 1 ? c.stride(0) : q);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t* code = out.data.mixed.codes + static_cast<std::ptrdiff_t>(i) * out.data.mixed.code_stride;
    for (std::size_t j = 0; j < q; ++j)
      if (code[j] >= most[j] && code[j] != MixedRows::kMissing)
        throw std::invalid_argument("a code is that of no level");
  }
  out.data.dense = {};
  out.data.set_columns(std::move(columns));
  out.held.push_back(codes);
  set_plain_units(out.data);
  return out;
}

std::optional<Out<std::int32_t, 1>> levels_of(const HeldRows& held) {
  if (held.data.storage != Storage::mixed) return std::nullopt;
  std::vector<std::int32_t> levels;
  for (const TableColumn& column : held.data.mixed.columns) levels.push_back(column.levels);
  return array(std::move(levels));
}

HeldRows in_units(const HeldRows& rows, const std::string& energy, const In<double, 1>& offset,
                  const In<float, 1>& scale, bool has_missing) {
  const std::size_t d = static_cast<std::size_t>(rows.data.features);
  if (offset.size() != d || scale.size() != d) throw std::invalid_argument("one offset and scale per feature");
  HeldRows out = rows;
  out.data.has_missing = has_missing;
  out.data.set_units(find_energy(energy), offset.data(), scale.data());
  return out;
}

HeldRows with_fills(const HeldRows& rows, const In<std::int64_t, 1>& starts, const In<float, 1>& values,
                    const In<double, 1>& offset, const In<double, 1>& scale) {
  const std::size_t n = static_cast<std::size_t>(rows.data.rows), d = static_cast<std::size_t>(rows.data.features);
  if (starts.size() != n + 1 || starts.data()[0] != 0 || starts.data()[n] != static_cast<std::int64_t>(values.size()))
    throw std::invalid_argument("fills must start at 0 and end with their values");
  for (std::size_t i = 0; i < n; ++i)
    if (starts.data()[i + 1] < starts.data()[i]) throw std::invalid_argument("fills must not go back");
  HeldRows out = rows;
  out.data.fills = {starts.data(), values.data(), vector(offset, d, "offset"), vector(scale, d, "scale")};
  out.data.has_missing = false;
  out.held.push_back(nb::cast(starts));
  out.held.push_back(nb::cast(values));
  return out;
}

HeldRows with_limits(const HeldRows& rows, const In<double, 1>& low, const In<double, 1>& high,
                     const In<double, 1>& believed_low, const In<double, 1>& believed_high) {
  const std::size_t d = static_cast<std::size_t>(rows.data.features);
  HeldRows out = rows;
  out.data.limits = {vector(low, d, "low"), vector(high, d, "high"), vector(believed_low, d, "believed_low"),
                     vector(believed_high, d, "believed_high")};
  return out;
}

// Every value that there is, within the limits, and nothing for the others.
HeldRows as_observed(const HeldRows& rows) {
  HeldRows out = rows;
  out.data.fills = {};
  out.data.has_missing = true;
  out.data.believe_all();
  return out;
}

template <class Visit>
void visit_missing(const Dataset& data, std::int64_t row, Visit&& visit) {
  visit_values(data, row, [&](int j, double value) {
    if (std::isnan(value)) visit(j);
  });
}

Out<std::int32_t, 1> count_missing(const HeldRows& held, int threads) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(held.data.rows), 0);
  supervised(threads, held.data.rows * held.data.features, [&](Team& team, Control&) {
    const int parts = 4 * team.size();
    team.run(parts, [&](int part, int) {
      const std::int64_t last = held.data.rows * (part + 1) / parts;
      for (std::int64_t i = held.data.rows * part / parts; i < last; ++i) {
        check_interrupt();
        visit_missing(held.data, i, [&](int) { ++counts[i]; });
      }
    });
  });
  return array(std::move(counts));
}

Out<std::int32_t, 1> missing_columns(const HeldRows& held, const Indices& indices) {
  const TrainingRows which = some_rows(held.data, indices, std::nullopt);
  std::vector<std::int32_t> columns;
  supervised(1, which.size * held.data.features, [&](Team&, Control&) {
    for (std::int64_t i = 0; i < which.size; ++i) {
      check_interrupt();
      visit_missing(held.data, which.rows ? which.rows[i] : i, [&](int j) { columns.push_back(j); });
    }
  });
  return array(std::move(columns));
}

PartialStatistics some_statistics(const HeldRows& held, const Indices& indices, const Weights& weights, int threads) {
  const TrainingRows which = some_rows(held.data, indices, weights);
  PartialStatistics stats;
  supervised(threads, which.size * held.data.features, [&](Team& team, Control&) {
    stats = partial_statistics(held.data, which.rows, which.size, which.weights, team);
  });
  return stats;
}

ColumnStatistics statistics(const HeldRows& held, const Indices& indices, const Weights& weights, int threads) {
  return some_statistics(held, indices, weights, threads).finish();
}

// What partial statistics are made of, for pickle: counts, the range of each column, and sums: which bins they have,
// and their counts of units as halves of 64 bits.
using StatisticsParts = std::tuple<Out<std::int64_t, 1>, Out<double, 1>, Out<std::int64_t, 1>, Out<std::uint64_t, 1>>;
using GivenStatistics = std::tuple<In<std::int64_t, 1>, In<double, 1>, In<std::int64_t, 1>, In<std::uint64_t, 1>>;

// Every field: one that is new must be named here.
template <class Statistics>
auto fields_of(Statistics& s) {
  auto& [n_rows, n_counted, missing, infinite_row, empty_row, zero_row, infinite_column, low, high, sum, square, weight,
         missing_weight] = s;
  return std::make_tuple(
      std::array{&n_rows, &n_counted, &missing, &infinite_row, &empty_row, &zero_row, &infinite_column},
      std::array{&low, &high}, std::array{&sum, &square, &weight, &missing_weight});
}

StatisticsParts parts_of(const PartialStatistics& statistics) {
  const auto [counts, ranges, sums] = fields_of(statistics);
  std::vector<std::int64_t> numbers, tops;
  std::vector<double> range;
  std::vector<std::uint64_t> units;
  for (const std::int64_t* count : counts) numbers.push_back(*count);
  for (const std::vector<double>* values : ranges) range.insert(range.end(), values->begin(), values->end());
  for (const ExactSums* some : sums) {
    numbers.push_back(static_cast<std::int64_t>(some->size()));
    tops.insert(tops.end(), some->tops().begin(), some->tops().end());
    for (const Int128 count : some->units()) {
      units.push_back(static_cast<std::uint64_t>(count));
      units.push_back(static_cast<std::uint64_t>(count >> 64));
    }
  }
  return {array(std::move(numbers)), array(std::move(range)), array(std::move(tops)), array(std::move(units))};
}

PartialStatistics statistics_of(const GivenStatistics& parts) {
  const auto& [numbers, range, tops, units] = parts;
  PartialStatistics out;
  const auto [counts, ranges, sums] = fields_of(out);
  const auto require = [](bool fits) {
    if (!fits) throw std::invalid_argument("these are no partial statistics");
  };
  const std::size_t d = range.size() / ranges.size();
  require(numbers.size() == counts.size() + sums.size() && range.size() == ranges.size() * d);
  for (std::size_t i = 0; i < counts.size(); ++i) *counts[i] = numbers.data()[i];
  for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i]->assign(range.data() + i * d, range.data() + (i + 1) * d);
  std::size_t at = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int64_t size = numbers.data()[counts.size() + i];
    require(size >= 0 && static_cast<std::size_t>(size) <= tops.size() - at &&
            units.size() == 2 * bins::kKept * tops.size());
    const std::size_t n = static_cast<std::size_t>(size);
    std::vector<Int128> whole(bins::kKept * n);
    for (std::size_t u = 0; u < whole.size(); ++u) {
      const std::uint64_t* halves = units.data() + 2 * (bins::kKept * at + u);
      whole[u] = static_cast<Int128>(static_cast<std::int64_t>(halves[1])) * (Int128{1} << 64) + halves[0];
    }
    *sums[i] = ExactSums({tops.data() + at, tops.data() + at + n}, std::move(whole));
    at += n;
  }
  require(at == tops.size() && out.sum.size() == d && out.square.size() == d && out.weight.size() == 1 &&
          (out.missing_weight.size() == 0 || out.missing_weight.size() == d));
  return out;
}

bool are_plain(const HeldRows& held, bool zeros, int threads) {
  bool plain = false;
  supervised(threads, held.data.rows * held.data.features, [&](Team& team, Control&) {
    plain = rows_are_plain(held.data, zeros, team);
  });
  return plain;
}

Out<std::int64_t, 1> without_values(const HeldRows& held, int threads) {
  if (held.data.is_sparse()) throw std::invalid_argument("the rows must not be sparse");
  std::vector<std::int64_t> rows;
  supervised(threads, held.data.rows, [&](Team& team, Control&) {
    rows = empty_rows(held.data, team);
  });
  return array(std::move(rows));
}

std::pair<Out<std::int64_t, 1>, Out<float, 1>> distinct(const HeldRows& held, const Indices& indices,
                                                        const Weights& weights) {
  const TrainingRows which = some_rows(held.data, indices, weights);
  DistinctRows rows;
  supervised(1, which.size * held.data.features, [&](Team&, Control&) {
    rows = distinct_rows(held.data, which.rows, which.size, which.weights);
  });
  return {array(std::move(rows.rows)), array(std::move(rows.weights))};
}

Out<double, 2> mapped(const In<double, 2>& rows, const In<double, 2>& matrix, int threads) {
  const std::size_t n = rows.shape(0), d = rows.shape(1);
  if (matrix.shape(0) != d || matrix.shape(1) != d) throw std::invalid_argument("the matrix does not fit the rows");
  std::vector<double> out(n * d);
  supervised(threads, static_cast<std::int64_t>(n * d * d), [&](Team& team, Control&) {
    map_rows(rows.data(), static_cast<std::int64_t>(n), static_cast<int>(d), matrix.data(), out.data(), team);
  });
  return array(std::move(out), n, d);
}

// Rows in core units, NaN where a value is missing.
Out<float, 2> load_rows(const HeldRows& held, const Indices& indices) {
  const TrainingRows which = some_rows(held.data, indices, std::nullopt);
  const std::size_t n = static_cast<std::size_t>(which.size), d = held.data.features;
  std::vector<float> out(n * d);
  supervised(1, static_cast<std::int64_t>(n * d), [&](Team&, Control&) {
    const std::vector<float> fill(d, std::numeric_limits<float>::quiet_NaN());
    std::vector<std::uint8_t> missing(d);
    for (std::int64_t i = 0; i < which.size; ++i) {
      check_interrupt();
      const std::int64_t row = which.rows ? which.rows[i] : i;
      held.data.load(&row, 1, fill.data(), out.data() + i * d, static_cast<int>(d), missing.data());
    }
  });
  return array(std::move(out), n, d);
}

// The stored entries of sparse rows in core units.
struct LoadedEntries {
  SparseEntries entries;
  std::vector<float> squares;
};

LoadedEntries load_entries(const HeldRows& held, const Indices& indices) {
  if (!held.data.gives_entries()) throw std::invalid_argument("these rows have no entries of their own");
  const TrainingRows which = some_rows(held.data, indices, std::nullopt);
  LoadedEntries out;
  out.squares.resize(static_cast<std::size_t>(which.size));
  std::vector<std::int64_t> all;
  if (!which.rows) {
    all.resize(out.squares.size());
    std::iota(all.begin(), all.end(), std::int64_t{0});
  }
  held.data.load_entries(which.rows ? which.rows : all.data(), static_cast<int>(which.size), out.entries,
                         out.squares.data());
  return out;
}

std::optional<Out<float, 1>> origin_of(const HeldRows& held) {
  const float* origin = held.data.origin();
  if (!origin) return std::nullopt;
  return array(std::vector<float>(origin, origin + held.data.features));
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<HeldRows>(m, "Rows", "Rows where they lie: dense, CSR or numbers beside categories, float32 or float64.")
      .def_prop_ro("n_rows", [](const HeldRows& h) { return h.data.rows; })
      .def_prop_ro("n_features", [](const HeldRows& h) { return h.data.features; })
      .def_prop_ro("energy", [](const HeldRows& h) { return energy_name(h.data.metric); })
      .def_prop_ro("is_sparse", [](const HeldRows& h) { return h.data.is_sparse(); })
      .def_prop_ro("levels", &levels_of, "How many levels each column of the table has, 0 for numbers; None: all are.",
                   kOwned)
      .def_prop_ro("has_missing", [](const HeldRows& h) { return h.data.has_missing; })
      .def_prop_ro(
          "gives_entries", [](const HeldRows& h) { return h.data.gives_entries(); },
          "Whether rows are sparse in core units too, as their entries and `origin`.")
      .def_prop_ro("origin", &origin_of, "What a row without entries is in core units; None: zero.", kOwned)
      .def("in_units", &in_units, "energy"_a, "offset"_a, "scale"_a, "has_missing"_a,
           "Return the same rows, read as (x - offset) * scale and placed where the energy has them.")
      .def("with_fills", &with_fills, "starts"_a, "values"_a, "offset"_a, "scale"_a,
           "Return the same rows, read with value * scale + offset for their missing values, row by row.")
      .def("with_limits", &with_limits, "low"_a, "high"_a, "believed_low"_a, "believed_high"_a,
           "Return the same rows, read with values within limits of the columns; units come after.")
      .def("as_observed", &as_observed,
           "Return the same rows with every value that there is within the limits, and nothing for missing ones.");

  const auto column = [](auto field) { return [field](const ColumnStatistics& s) { return array(s.*field); }; };
  nb::class_<ColumnStatistics>(m, "Statistics", "Statistics of columns, over their observed values.")
      .def_prop_ro("weight", column(&ColumnStatistics::weight), kOwned)
      .def_prop_ro("mean", column(&ColumnStatistics::mean), kOwned)
      .def_prop_ro("variance", column(&ColumnStatistics::variance), kOwned)
      .def_prop_ro("min", column(&ColumnStatistics::low), kOwned)
      .def_prop_ro("max", column(&ColumnStatistics::high), kOwned)
      .def_ro("missing", &ColumnStatistics::missing, "How many values are missing.")
      .def_ro("infinite_row", &ColumnStatistics::infinite_row, "The first row with an infinity; -1: none.")
      .def_ro("infinite_column", &ColumnStatistics::infinite_column)
      .def_ro("empty_row", &ColumnStatistics::empty_row, "The first row without any value; -1: none.")
      .def_ro("zero_row", &ColumnStatistics::zero_row, "The first row that has no direction; -1: none.");

  m.def("dense_rows", &dense_rows, "rows"_a);
  m.def(
      "mixed_rows", &mixed_rows, "numbers"_a, "codes"_a, "levels"_a,
      "Return rows of numbers beside categories: codes of levels, 255 where they are missing. `levels` has how many a "
      "column has, in the order of the table; 0: it is a number.");
  m.def("csr_rows", &csr_rows, "values"_a, "indices"_a, "indptr"_a, "n_features"_a);
  nb::class_<PartialStatistics>(m, "PartialStatistics",
                                "What the statistics of some rows are made of: the same bits in whatever blocks rows "
                                "come.")
      .def(
          "add", [](PartialStatistics& s, const PartialStatistics& later) { s.add(later); }, "later"_a, nb::lock_self(),
          "Add rows that come after these.")
      .def("finish", &PartialStatistics::finish)
      .def_prop_ro("n_features", &PartialStatistics::features)
      .def_ro("n_rows", &PartialStatistics::n_rows, "How many rows there are, listed or not.")
      .def_ro("n_counted", &PartialStatistics::n_counted, "How many rows are listed with a weight above 0.")
      .def("__getstate__", [](const PartialStatistics& s) { return parts_of(s); })
      .def("__setstate__", [](PartialStatistics& s, const GivenStatistics& parts) {
        new (&s) PartialStatistics(statistics_of(parts));
      });
  m.def("partial_statistics", &some_statistics, "rows"_a, "indices"_a.none(), "weights"_a.none(), "threads"_a);
  m.def("statistics", &statistics, "rows"_a, "indices"_a.none(), "weights"_a.none(), "threads"_a);
  m.def("are_plain", &are_plain, "rows"_a, "zeros"_a, "threads"_a,
        "Whether rows are dense, with all their values, none of them huge, and not only zeros unless they may be.");
  m.def("empty_rows", &without_values, "rows"_a, "threads"_a, "Return which dense rows have no value at all.");
  m.def("distinct_rows", &distinct, "rows"_a, "indices"_a.none(), "weights"_a.none());
  m.def("map_rows", &mapped, "rows"_a, "matrix"_a, "threads"_a,
        "Return every row times a matrix; unlike a product of BLAS it does not depend on the other rows.");
  m.def("count_missing", &count_missing, "rows"_a, "threads"_a, "Return how many values each row lacks.");
  m.def("missing_columns", &missing_columns, "rows"_a, "indices"_a.none(),
        "Return the columns of missing values, one row after the other.");
  m.def("load_rows", &load_rows, "rows"_a, "indices"_a.none());
  nb::class_<LoadedEntries>(m, "Entries", "Sparse rows in core units, as CSR without their origin.")
      .def_prop_ro(
          "values", [](const LoadedEntries& e) { return array(e.entries.values); }, kOwned)
      .def_prop_ro(
          "columns", [](const LoadedEntries& e) { return array(e.entries.columns); }, kOwned)
      .def_prop_ro(
          "starts", [](const LoadedEntries& e) { return array(e.entries.starts); }, kOwned)
      .def_prop_ro(
          "squares", [](const LoadedEntries& e) { return array(e.squares); }, "Squared norms of the rows.", kOwned);
  m.def("load_entries", &load_entries, "rows"_a, "indices"_a.none());
}

}  // namespace amclust::bindings
