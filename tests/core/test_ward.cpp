// Ward's tree against the greedy definition: every merger's cost anew from the centres and weights of two clusters.
#include "check.hpp"
#include "tables.hpp"
#include "training/ward.hpp"

#include <algorithm>
#include <limits>

namespace {

using Labels = std::vector<int>;

// Rows [n][ld], as the tree takes them, with weights.
struct Table {
  int n, d, ld;
  amclust::Buffer rows;
  std::vector<double> weights;

  Table(int rows_in, int columns)
      : n(rows_in),
        d(columns),
        ld(amclust::padded(columns, amclust::kernels().lanes)),
        rows(static_cast<std::size_t>(rows_in) * ld),
        weights(rows_in, 1.0) {}
  float& at(int i, int j) { return rows[static_cast<std::size_t>(i) * ld + j]; }
  float at(int i, int j) const { return rows[static_cast<std::size_t>(i) * ld + j]; }
  double square(int a, int b) const {
    double sum = 0.0;
    for (int j = 0; j < d; ++j) sum += (double{at(a, j)} - at(b, j)) * (double{at(a, j)} - at(b, j));
    return sum;
  }
  Labels cut(int neighbours, int k) const {
    return amclust::cut_ward_tree(amclust::squares_between({rows.data(), n, ld}, d), weights, neighbours, k);
  }
};

Table random_table(int n, int d, std::uint64_t seed) {
  tests::Source source(seed);
  Table out(n, d);
  for (int i = 0; i < n; ++i) source.fill(&out.at(i, 0), d);
  return out;
}

// Row i is near centre i % k; centres are 100 apart.
Table blobs(int n, int d, int k) {
  Table out = random_table(n, d, 7);
  for (int i = 0; i < n; ++i) out.at(i, (i % k) % d) += 100.0f * static_cast<float>(1 + i % k / d);
  return out;
}

// Clusters are numbered as they appear.
Labels numbered(const Labels& labels) {
  Labels out, seen;
  for (const int label : labels) {
    const auto found = std::find(seen.begin(), seen.end(), label);
    out.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(label);
  }
  return out;
}

Labels greedy(const Table& table, int k) {
  Labels labels(table.n);
  for (int i = 0; i < table.n; ++i) labels[i] = i;
  for (int clusters = table.n; clusters > k; --clusters) {
    std::vector<double> centre(static_cast<std::size_t>(table.n) * table.d, 0.0), size(table.n, 0.0);
    for (int i = 0; i < table.n; ++i) size[labels[i]] += table.weights[i];
    for (int i = 0; i < table.n; ++i)
      for (int j = 0; j < table.d; ++j)
        centre[static_cast<std::size_t>(labels[i]) * table.d + j] +=
            table.weights[i] / size[labels[i]] * double{table.at(i, j)};
    double lowest = std::numeric_limits<double>::infinity();
    int into = -1, from = -1;
    for (int a = 0; a < table.n; ++a)
      for (int b = a + 1; b < table.n; ++b) {
        if (size[a] == 0.0 || size[b] == 0.0) continue;
        double square = 0.0;
        for (int j = 0; j < table.d; ++j) {
          const double difference =
              centre[static_cast<std::size_t>(a) * table.d + j] - centre[static_cast<std::size_t>(b) * table.d + j];
          square += difference * difference;
        }
        const double cost = size[a] * size[b] / (size[a] + size[b]) * square;
        if (cost < lowest) {
          lowest = cost;
          into = a;
          from = b;
        }
      }
    std::replace(labels.begin(), labels.end(), from, into);
  }
  return numbered(labels);
}

void equals_the_greedy_definition() {
  for (const int n : {1, 2, 7, 20, 45})
    for (const int d : {1, 2, 5})
      for (const bool weighted : {false, true}) {
        Table table = random_table(n, d, static_cast<std::uint64_t>(100 * n + d));
        tests::Source source(3);
        for (double& weight : table.weights) weight = weighted ? source.uniform(0.1, 5.0) : 1.0;
        for (const int k : {1, 2, 3, 6, 20, 45}) {
          if (k > n) continue;
          check::describe("n=", n, " d=", d, " k=", k, weighted ? " weighted" : "");
          CHECK(table.cut(0, k) == greedy(table, k));
        }
      }
}

void a_weight_is_a_number_of_copies() {
  Table table = random_table(30, 3, 5);
  for (int i = 0; i < table.n; ++i) table.weights[i] = 1.0 + i % 4;
  std::vector<int> original;
  for (int i = 0; i < table.n; ++i) original.insert(original.end(), 1 + i % 4, i);
  Table copies(static_cast<int>(original.size()), 3);
  for (int c = 0; c < copies.n; ++c) std::copy_n(&table.at(original[c], 0), 3, &copies.at(c, 0));
  for (const int k : {2, 5, 12, 30}) {
    check::describe("k=", k);
    const Labels found = table.cut(0, k);
    Labels expected;
    for (const int i : original) expected.push_back(found[i]);
    CHECK(copies.cut(0, k) == expected);
    for (double& weight : table.weights) weight *= 8.0;  // only ratios matter
    CHECK(table.cut(0, k) == found);
  }
}

void too_few_distinct_rows_give_nothing() {
  Table table(30, 2);
  for (int i = 0; i < table.n; ++i) table.at(i, 0) = static_cast<float>(i % 3) / 7.0f;
  Labels expected;
  for (int i = 0; i < table.n; ++i) expected.push_back(i % 3);
  check::describe("three distinct rows");
  CHECK(table.cut(0, 3) == expected);
  for (const int k : {4, 29, 30, 31}) CHECK(table.cut(0, k).empty());
  check::describe("one distinct row");
  const Table same(5, 2);
  CHECK(same.cut(0, 1) == Labels(5, 0));
  CHECK(same.cut(2, 1) == Labels(5, 0));
  CHECK(same.cut(0, 2).empty());
  CHECK(random_table(4, 2, 1).cut(0, 5).empty());
}

// Every row by the mean of itself and its nearest rows.
Table smoothed(const Table& table, int neighbours) {
  Table out(table.n, table.d);
  out.weights = table.weights;
  std::vector<int> order(table.n);
  for (int i = 0; i < table.n; ++i) {
    for (int o = 0; o < table.n; ++o) order[o] = o;
    std::sort(order.begin(), order.end(), [&](int a, int b) { return table.square(i, a) < table.square(i, b); });
    for (int j = 0; j < table.d; ++j) {
      double sum = 0.0;
      for (int o = 0; o <= neighbours; ++o) sum += table.at(order[o], j);
      out.at(i, j) = static_cast<float>(sum / (neighbours + 1));
    }
  }
  return out;
}

void rows_are_smoothed_over_their_neighbours() {
  Table table = random_table(40, 3, 11);
  for (int i = 0; i < table.n; ++i) table.weights[i] = 1.0 + i % 3;
  int changed = 0;
  for (const int neighbours : {1, 4, 9})
    for (const int k : {2, 4, 7}) {
      check::describe("neighbours=", neighbours, " k=", k);
      CHECK(table.cut(neighbours, k) == greedy(smoothed(table, neighbours), k));
      changed += table.cut(neighbours, k) != table.cut(0, k);
    }
  CHECK(changed > 0);  // else it was not tested
}

void separated_blobs_are_found() {
  for (const int k : {2, 3, 8})
    for (const int neighbours : {0, 1, 5, 10}) {
      check::describe("k=", k, " neighbours=", neighbours);
      const Table table = blobs(12 * k, 3, k);
      Labels expected;
      for (int i = 0; i < table.n; ++i) expected.push_back(i % k);
      CHECK(table.cut(neighbours, k) == expected);
    }
}

void ties_end() {
  constexpr int kSide = 7;
  Table grid(kSide * kSide, 2);
  for (int i = 0; i < grid.n; ++i) {
    grid.at(i, 0) = static_cast<float>(i / kSide);
    grid.at(i, 1) = static_cast<float>(i % kSide);
  }
  for (const int neighbours : {0, 4})
    for (int k = 1; k <= grid.n; ++k) {
      check::describe("grid, k=", k, " neighbours=", neighbours);
      const Labels labels = grid.cut(neighbours, k);
      if (neighbours > 0 && labels.empty()) continue;  // two rows may have become the same
      CHECK_EQUAL(static_cast<int>(labels.size()), grid.n);
      CHECK(labels == numbered(labels));
      CHECK_EQUAL(*std::max_element(labels.begin(), labels.end()), k - 1);
    }
}

// Against costs that are all computed anew, while centres move, change their sizes and go.
void costs_follow_the_centres() {
  tests::Source source(13);
  Table table = random_table(23, 3, 12);
  amclust::MergeCosts costs(table.n, table.d);
  for (int k = table.n; k > 1; --k) {
    check::describe("k=", k);
    const auto found = costs.cheapest(table.rows.data(), table.ld, k, table.weights);
    amclust::MergeCosts fresh(k, table.d);
    CHECK(found == fresh.cheapest(table.rows.data(), table.ld, k, table.weights));
    double least = std::numeric_limits<double>::infinity();
    const auto cost = [&](int a, int b) {
      const double sizes = table.weights[a] * table.weights[b] / (table.weights[a] + table.weights[b]);
      return sizes * table.square(a, b);
    };
    for (int a = 0; a < k; ++a)
      for (int b = a + 1; b < k; ++b) least = std::min(least, cost(a, b));
    CHECK(found.first < found.second);
    CHECK_NEAR(cost(found.first, found.second), least, 1e-5 * least);
    std::copy_n(&table.at(k - 1, 0), table.d, &table.at(found.second, 0));
    table.weights[found.first] += table.weights[found.second];
    table.weights[found.second] = table.weights[k - 1];
    source.fill(&table.at(source.below(k), 0), table.d);
    table.weights[source.below(k)] += 1.0;
  }
}

}  // namespace

int main() {
  for (const char* name : tests::instruction_sets()) {
    amclust::use_instruction_set(name);
    equals_the_greedy_definition();
    a_weight_is_a_number_of_copies();
    too_few_distinct_rows_give_nothing();
    rows_are_smoothed_over_their_neighbours();
    separated_blobs_are_found();
    ties_end();
    costs_follow_the_centres();
  }
  return check::finish();
}
