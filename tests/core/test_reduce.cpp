// Views of matrices, and sums in parts: the same bits for any number of threads.
#include "check.hpp"
#include "matrix.hpp"
#include "reduce.hpp"
#include "tables.hpp"

#include <stdexcept>

namespace {

using amclust::Matrix;
using amclust::MatrixView;
using amclust::Slice;
using amclust::Team;

void views_show_the_matrix() {
  Matrix matrix(5, 8);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 8; ++j) matrix(i, j) = static_cast<float>(10 * i + j);
  const MatrixView<const float> block = matrix.block(2, 2);
  CHECK_EQUAL(block.rows, 2);
  CHECK_EQUAL(block(1, 3), 33.0f);
  CHECK_EQUAL(block.row(0)[7], 27.0f);
  CHECK(block.row(1) == matrix.data() + 24);
  matrix.block(1, 1)(0, 0) = -1.0f;
  CHECK_EQUAL(matrix(1, 0), -1.0f);
  const float* before = matrix.data();
  matrix.fit(3, 4);  // the memory suffices
  CHECK(matrix.data() == before && matrix.rows() == 3 && matrix.row(2) == before + 8);
  matrix.resize(2, 3);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK_EQUAL(matrix(i, j), 0.0f);
  CHECK(!MatrixView<float>{});
}

void slices_cover_everything_once() {
  for (const std::size_t size : {0, 1, 7, 64, 1000})
    for (const int count : {1, 2, 16}) {
      std::size_t next = 0;
      for (int index = 0; index < count; ++index) {
        const Slice slice{index, count};
        CHECK_EQUAL(slice.begin(size), next);
        next = slice.end(size);
      }
      CHECK_EQUAL(next, size);
    }
}

struct Sums {
  std::vector<float> values;
  std::vector<int> parts;  // in the order in which they were added
  void add(const Sums& other, Slice slice) {
    slice.add(values, other.values, values.size());
    if (slice.first()) parts.insert(parts.end(), other.parts.begin(), other.parts.end());
  }
};

void sums_do_not_depend_on_threads() {
  constexpr int kParts = 11, kTerms = 300;
  for (const int size : {5, 9000}) {
    check::describe("size ", size);
    const auto fill = [size](Sums& sums, int part, int) {
      sums.values.assign(size, 0.0f);
      sums.parts = {part};
      tests::Source source(part);
      for (int t = 0; t < kTerms; ++t) sums.values[t % size] += source.normal();
    };
    std::vector<Sums> states;
    Team alone(1);
    const Sums expected = amclust::parallel_reduce(alone, states, kParts, size, fill);
    CHECK_EQUAL(static_cast<int>(expected.parts.size()), kParts);
    for (int part = 0; part < kParts; ++part) CHECK_EQUAL(expected.parts[part], part);
    for (const int threads : {1, 2, 5}) {
      Team team(threads);
      const Sums kept = amclust::parallel_reduce(team, states, kParts, size, fill);
      const Sums made = amclust::parallel_reduce(team, kParts, [] { return Sums{}; }, fill);
      CHECK(kept.values == expected.values && kept.parts == expected.parts);
      CHECK(made.values == expected.values && made.parts == expected.parts);
      CHECK(amclust::parallel_reduce(team, states, 1, size, fill).parts ==
            std::vector<int>{0});  // fewer than there are
    }
  }
  Team team(2);
  const auto fail = [](Sums&, int part, int) {
    if (part == 3) throw std::runtime_error("no");
  };
  CHECK_THROWS(std::runtime_error, amclust::parallel_reduce(team, kParts, [] { return Sums{}; }, fail));
}

}  // namespace

int main() {
  views_show_the_matrix();
  slices_cover_everything_once();
  sums_do_not_depend_on_threads();
  return check::finish();
}
