// The paper's loss: hide some coordinates of every row, let the dynamics complete them, compare (mean over the hidden
// columns; a category is hidden as a whole). Missing values move too, and are never compared.
#include "objectives/moving_block.hpp"
#include "training/masks.hpp"

namespace amclust {
namespace {

struct CompletionWorkspace : ChunkedObjective::Workspace {
  explicit CompletionWorkspace(const Dataset& data) : masks(data.features, data.mixed.columns) {}

  struct Row {
    int n_hidden, n_missing;
    float n_columns;  // of the table, that are hidden
    int n_moving() const { return n_hidden + n_missing; }
  };
  MovingBlock moving;
  ColumnMasks masks;
  std::vector<Row> rows;
  std::vector<std::int32_t> hidden_values;
  MatrixView<std::int32_t> hidden;  // [n][most hidden], which coordinates are
  Matrix truth;                     // and what they were
};

class Completion final : public ChunkedObjective {
 public:
  Completion(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}

 protected:
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<CompletionWorkspace>(data_); }

  void add_block(const Batch& batch, BlockOfRows block, const Memories& memories, Workspace& workspace,
                 PartSums& out) const override {
    auto& work = static_cast<CompletionWorkspace&>(workspace);
    MovingBlock& moving = work.moving;
    moving.load(data_, batch, block, settings_.fill, memories.ld);
    draw(batch, block, work);
    int max_moving = 1;
    for (const auto& row : work.rows) max_moving = std::max(max_moving, row.n_moving());
    moving.prepare(memories, max_moving);

    // The products see the masked rows.
    hide(work);
    const int lanes = kernels().lanes, n = block.n;
    const auto rows = moving.rows.block(0, n);
    memories.panel.products(rows, moving.products);
    std::fill(moving.products.row(n), moving.products.row(padded(n, lanes)), 0.0f);
    for (int tile = 0; tile < n; tile += lanes) {
      const int used = std::min(lanes, n - tile);
      const int n_moving = lay_out(batch, block, memories, work, tile, used);
      moving.run(memories, tile, used, n_moving, batch.weights ? batch.weights + block.first + tile : nullptr, out);
    }
    out.outer.add(rows, moving.products);
    note_candidates(batch, block, moving.badness.data(), out.candidates);
  }

 private:
  // Which coordinates of each row are hidden: drawn, or given with the batch.
  void draw(const Batch& batch, BlockOfRows block, CompletionWorkspace& work) const {
    const int d = data_.features;
    const int room = std::max(1, batch.hidden ? batch.n_hidden : work.masks.room(settings_.mask_prob));
    work.hidden_values.resize(static_cast<std::size_t>(block.n) * room);
    work.hidden = {work.hidden_values.data(), block.n, room};
    work.rows.resize(block.n);
    const MatrixView<const std::int32_t> given{batch.hidden, batch.size, batch.n_hidden};
    for (int i = 0; i < block.n; ++i) {
      const int missing = work.moving.count_missing(i, d), place = block.first + i;
      std::int32_t* hidden = work.hidden.row(i);
      int count = 0;
      if (given) {
        for (int h = 0; h < batch.n_hidden; ++h)
          if (given(place, h) >= 0) hidden[count++] = given(place, h);
      } else {
        Random random(settings_.seed, Purpose::mask, batch.epoch, static_cast<std::uint32_t>(batch.ids[place]));
        const std::uint8_t* marks = missing ? work.moving.missing.row(i) : nullptr;
        count = work.masks.draw(random, settings_.mask_prob, marks, hidden);
      }
      work.rows[i] = {count, missing, columns_of(hidden, count)};
    }
  }

  // How many columns of the table these coordinates are.
  float columns_of(const std::int32_t* coordinates, int count) const {
    const std::vector<float>& parts = data_.column_parts();
    if (parts.empty()) return static_cast<float>(count);
    float total = 0.0f;
    for (int h = 0; h < count; ++h) total += parts[coordinates[h]];
    return total;
  }

  // Hidden coordinates become the mask value in the rows; what they were is kept.
  void hide(CompletionWorkspace& work) const {
    work.truth.fit(work.hidden.rows, static_cast<int>(work.hidden.stride));
    for (int i = 0; i < work.hidden.rows; ++i) {
      float* x = work.moving.rows.row(i);
      for (int h = 0; h < work.rows[i].n_hidden; ++h) {
        const std::int32_t j = work.hidden(i, h);
        work.truth(i, h) = x[j];
        x[j] = settings_.fill[j];
      }
    }
  }

  // The moving coordinates of one tile; returns how many the row with most of them has.
  int lay_out(const Batch& batch, BlockOfRows block, const Memories& memories, CompletionWorkspace& work, int tile,
              int used) const {
    MovingBlock& moving = work.moving;
    int n_moving = 1;
    for (int l = 0; l < used; ++l) n_moving = std::max(n_moving, work.rows[tile + l].n_moving());
    moving.clear(memories, n_moving);
    for (int l = 0; l < used; ++l) {
      const int i = tile + l;
      const auto& row = work.rows[i];
      const float weight = batch.weights ? batch.weights[block.first + i] : 1.0f;
      const float share = row.n_hidden ? static_cast<float>(weight / (row.n_columns * batch.total_weight)) : 0.0f;
      for (int h = 0; h < row.n_hidden; ++h) {
        const std::int32_t j = work.hidden(i, h);
        moving.move(h, l, j, settings_.fill[j], work.truth(i, h), share);
      }
      if (!row.n_missing) continue;
      const std::uint8_t* missing = moving.missing.row(i);
      int at = row.n_hidden;
      for (int j = 0; j < data_.features; ++j)
        if (missing[j]) moving.move(at++, l, j, settings_.fill[j], 0.0f, 0.0f);
    }
    return n_moving;
  }

  const Dataset& data_;
  ObjectiveSettings settings_;
};

}  // namespace

std::unique_ptr<Objective> make_completion(const Dataset& data, const ObjectiveSettings& settings) {
  return std::make_unique<Completion>(data, settings);
}

}  // namespace amclust
