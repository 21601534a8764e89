// The values of a row as they are stored.
#pragma once

#include "rows/dataset.hpp"

#include <cstdint>
#include <limits>

namespace amclust {

template <class Value, class Visit>
void visit_dense(const Dataset& data, std::int64_t row, Visit&& visit) {
  const Value* x = static_cast<const Value*>(data.dense.data) + row * data.dense.stride;
  for (int j = 0; j < data.features; ++j) visit(j, x[j]);
}

// Calls visit(column, value) for the stored entries of a sparse row.
template <class Value, class Index, class Visit>
void visit_sparse(const Dataset& data, std::int64_t row, Visit&& visit) {
  const Value* values = static_cast<const Value*>(data.sparse.data);
  const Index* indices = static_cast<const Index*>(data.sparse.indices);
  const Index* indptr = static_cast<const Index*>(data.sparse.indptr);
  for (Index at = indptr[row]; at < indptr[row + 1]; ++at) visit(static_cast<int>(indices[at]), values[at]);
}

// Calls visit(column, value) for the numbers of a row and its levels: 1 for the one that it has, NaN for all of them
// where it is missing.
template <class Value, class Visit>
void visit_mixed(const Dataset& data, std::int64_t row, Visit&& visit) {
  const MixedRows& mixed = data.mixed;
  const Value* x = static_cast<const Value*>(mixed.numbers.data) + row * mixed.numbers.stride;
  const std::uint8_t* code = mixed.codes + row * mixed.code_stride;
  for (const TableColumn& column : mixed.columns) {
    if (!column.levels) {
      visit(column.first, static_cast<double>(*x++));
      continue;
    }
    const int level = *code++;
    if (level != MixedRows::kMissing) {
      visit(column.first + level, 1.0);
      continue;
    }
    for (int l = 0; l < column.levels; ++l) visit(column.first + l, std::numeric_limits<double>::quiet_NaN());
  }
}

template <class Visit>
void visit_stored(const Dataset& data, std::int64_t row, Visit&& visit) {
  if (data.is_dense())
    data.dense.is_double ? visit_dense<double>(data, row, visit) : visit_dense<float>(data, row, visit);
  else if (!data.is_sparse())
    data.mixed.numbers.is_double ? visit_mixed<double>(data, row, visit) : visit_mixed<float>(data, row, visit);
  else if (data.sparse.wide_indices)
    data.sparse.is_double ? visit_sparse<double, std::int64_t>(data, row, visit)
                          : visit_sparse<float, std::int64_t>(data, row, visit);
  else
    data.sparse.is_double ? visit_sparse<double, std::int32_t>(data, row, visit)
                          : visit_sparse<float, std::int32_t>(data, row, visit);
}

// The same with values within the limits of the columns, NaN for those that are not believed.
template <class Visit>
void visit_values(const Dataset& data, std::int64_t row, Visit&& visit) {
  const Limits& limits = data.limits;
  if (!limits) return visit_stored(data, row, visit);
  std::int64_t believed = data.features - data.stored(row);  // zeros
  visit_stored(data, row, [&](int j, double value) { believed += limits.believes(j, value); });
  visit_stored(data, row, [&](int j, double value) {
    const bool hidden = believed && !limits.believes(j, value);
    visit(j, hidden ? std::numeric_limits<double>::quiet_NaN() : limits.bring(j, value));
  });
}

}  // namespace amclust
