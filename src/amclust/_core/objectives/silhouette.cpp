// A silhouette that can be differentiated, in linear time (design: "a differentiable silhouette"), with an anchor.
//
// From the memberships p at the rows themselves come soft clusters: size w = sum p, centre c = sum p x / w and mean
// squared norm q = sum p |x|^2 / w. The mean squared distance of a row to a cluster is |x|^2 - 2 x.c + q, which makes
// the silhouette of every row a function of these statistics (kernels/silhouette.cpp). Alone it can be raised by
// shedding outliers or by letting one cluster swallow the rest; the anchor adds the scatter inside the soft clusters,
// sum_m w_m (q_m - |c_m|^2), so that a partition which explains little of the data is not worth its silhouette.
//
// Rows with missing values take part with these filled by the current memories, as constants.
#include "energies/registry.hpp"
#include "inference/filling.hpp"
#include "objectives/chunked.hpp"

#include <algorithm>

namespace amclust {
namespace {

// Sums over one part of the batch.
struct Part {
  OuterSum outer;
  Buffer size, square, bias;  // [kp]
  double value = 0.0;
  std::vector<double> wins;
  std::vector<Candidate> candidates;

  void reset(const Memories& memories) {
    outer.reset(memories.shape);
    for (Buffer* buffer : {&size, &square, &bias}) {
      buffer->resize(memories.kp);
      buffer->zero();
    }
  }
};

class Silhouette final : public Objective {
 public:
  Silhouette(const Dataset& data, const ObjectiveSettings& settings) : data_(data), settings_(settings) {}
  Evaluation evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) override;

 private:
  void resize(const Batch& batch, const Memories& memories, int parts, int members);

  const Dataset& data_;
  ObjectiveSettings settings_;
  // The whole batch; [rows][d] or [rows][kp].
  Buffer rows_, norm_, weight_, memberships_, products_, distance_bar_, membership_bar_, value_;
  std::vector<std::uint8_t> missing_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Filler> fillers_;
  std::vector<Buffer> scratch_;
  // Statistics of the batch and their gradients; [d][kp] or [kp].
  Panel panel_;
  Buffer centre_, centre_bar_, size_, mean_square_, size_bar_, mean_square_bar_;
};

void Silhouette::resize(const Batch& batch, const Memories& memories, int parts, int members) {
  const std::size_t rows = padded(batch.size, kBlockRows), d = memories.d, ld = memories.ld, kp = memories.kp;
  if (rows_.size() < rows * ld) {
    rows_.resize(rows * ld);
    for (Buffer* buffer : {&norm_, &weight_, &value_}) buffer->resize(rows);
    if (data_.has_missing) missing_.resize(rows * d);
  }
  for (Buffer* buffer : {&memberships_, &products_, &distance_bar_, &membership_bar_})
    if (buffer->size() < rows * kp) buffer->resize(rows * kp);
  for (Buffer* buffer : {&centre_, &centre_bar_}) buffer->resize(memories.values.size());
  for (Buffer* buffer : {&size_, &mean_square_, &size_bar_, &mean_square_bar_}) buffer->resize(kp);
  while (static_cast<int>(parts_.size()) < parts) parts_.push_back(std::make_unique<Part>());
  if (static_cast<int>(fillers_.size()) < members) fillers_.resize(members);
  if (static_cast<int>(scratch_.size()) < members) scratch_.resize(members);
  for (Buffer& scratch : scratch_) scratch.resize(std::size_t{4} * memories.k * kernels().lanes);
}

Evaluation Silhouette::evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) {
  const Kernels& kernel = kernels();
  const int d = memories.d, ld = memories.ld, k = memories.k, kp = memories.kp;
  const int per_part = part_rows(batch.size), parts = (batch.size + per_part - 1) / per_part;
  const float logit_factor =
      with_energy(memories.metric, [&](auto energy) { return energy.logit_factor(memories.beta); });
  const double total_weight = batch.total_weight;
  const double anchor = settings_.anchor / total_weight;
  const double tie = settings_.tie / total_weight;
  resize(batch, memories, parts, team.size());
  gradient.memories.resize(memories.values.size());
  gradient.bias.resize(kp);

  const auto for_blocks = [&](auto&& work) {
    team.run(parts, [&](int index, int member) {
      const int end = std::min(batch.size, (index + 1) * per_part);
      for (int first = index * per_part; first < end; first += kBlockRows)
        work(*parts_[index], member, first, std::min(kBlockRows, end - first));
    });
  };
  const auto row = [ld](Buffer& buffer, int i) { return buffer.data() + static_cast<std::ptrdiff_t>(i) * ld; };
  const auto result = [kp](Buffer& buffer, int i) { return buffer.data() + static_cast<std::ptrdiff_t>(i) * kp; };
  const auto add_parts = [&](Buffer Part::* what, Buffer& out) {
    out.zero();
    for (int p = 0; p < parts; ++p)
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += ((*parts_[p]).*what)[i];
  };
  const auto add_outer = [&](Buffer& out) {
    OuterSum& total = parts_[0]->outer;
    const std::size_t size = total.size(), slices = size > 4096 ? parts : 1;
    team.run(static_cast<int>(slices), [&](int index, int) {
      for (int p = 1; p < parts; ++p)
        total.absorb(parts_[p]->outer, size * index / slices, size * (index + 1) / slices);
    });
    out.zero();
    total.add_to(out.data());
  };

  // 1. Memberships, and the sums they weight.
  for (int p = 0; p < parts; ++p) {
    parts_[p]->reset(memories);
    parts_[p]->wins.assign(k, 0.0);
    parts_[p]->candidates.clear();
    parts_[p]->value = 0.0;
  }
  for_blocks([&](Part& part, int member, int first, int n) {
    float* x = row(rows_, first);
    std::uint8_t* missing = data_.has_missing ? missing_.data() + static_cast<std::ptrdiff_t>(first) * d : nullptr;
    data_.load(batch.rows + first, n, settings_.fill.data(), x, ld, missing);
    if (missing) fillers_[member].fill(memories, x, missing, n, true);
    kernel.norms(x, ld, n, norm_.data() + first);
    for (int i = first; i < first + n; ++i) weight_[i] = batch.weights ? batch.weights[i] : 1.0f;
    float* p = result(memberships_, first);
    float* scaled = result(products_, first);
    memories.panel.products(x, n, p);
    kernel.logits(p, n, kp, memories.bias.data(), logit_factor, p);
    float badness[kBlockRows];
    for (int i = 0; i < n; ++i) {
      const float* logit = p + static_cast<std::ptrdiff_t>(i) * kp;
      const int best = static_cast<int>(std::max_element(logit, logit + k) - logit);
      part.wins[best] += weight_[first + i];
      badness[i] = std::max(0.0f, norm_[first + i] - logit[best] / memories.beta);
    }
    note_candidates(batch, first, n, badness, part.candidates);
    kernel.softmax(p, n, k, kp, nullptr);
    for (int i = 0; i < n; ++i) {
      const float weight = weight_[first + i], norm = norm_[first + i];
      for (int m = 0; m < kp; ++m) {
        const std::size_t at = static_cast<std::size_t>(i) * kp + m;
        scaled[at] = weight * p[at];
        part.size[m] += scaled[at];
        part.square[m] += scaled[at] * norm;
      }
    }
    part.outer.add(x, n, scaled);
  });

  Evaluation out;
  out.wins.assign(k, 0.0);
  add_outer(centre_);
  add_parts(&Part::size, size_);
  add_parts(&Part::square, mean_square_);
  const float size_floor = static_cast<float>(1e-6 * total_weight);
  std::vector<float> inverse_size(kp, 0.0f), centre_norm(kp, 0.0f), offset(kp, 0.0f);
  for (int m = 0; m < k; ++m) {
    inverse_size[m] = 1.0f / std::max(size_[m], size_floor);
    mean_square_[m] *= inverse_size[m];
  }
  for (int j = 0; j < d; ++j)
    for (int m = 0; m < kp; ++m) {
      float& c = centre_[static_cast<std::size_t>(j) * kp + m];
      c *= inverse_size[m];
      centre_norm[m] += c * c;
      const float difference = memories.values[static_cast<std::size_t>(j) * kp + m] - c;
      offset[m] += difference * difference;
    }

  panel_.refresh(memories.shape, centre_.data());

  // 2. The silhouette of every row, and how it changes with distances, sizes and the memberships themselves.
  for (int p = 0; p < parts; ++p) parts_[p]->reset(memories);
  for_blocks([&](Part& part, int member, int first, int n) {
    panel_.products(row(rows_, first), n, result(products_, first));
    SilhouetteBlock block{};
    block.n = n;
    block.k = k;
    block.kp = kp;
    block.memberships = result(memberships_, first);
    block.products = result(products_, first);
    block.norm = norm_.data() + first;
    block.weight = weight_.data() + first;
    block.size = size_.data();
    block.size_floor = size_floor;
    block.mean_square = mean_square_.data();
    block.distance_gradient = result(distance_bar_, first);
    block.direct_gradient = result(membership_bar_, first);
    block.size_gradient = part.size.data();
    block.row_value = value_.data() + first;
    block.scratch = scratch_[member].data();
    kernel.silhouette(block);
    part.value += block.loss;
    for (int i = 0; i < n; ++i)
      for (int m = 0; m < kp; ++m) part.square[m] += block.distance_gradient[static_cast<std::size_t>(i) * kp + m];
    part.outer.add(row(rows_, first), n, block.distance_gradient);
  });

  double value = 0.0, scatter = 0.0, distance = 0.0;
  for (int p = 0; p < parts; ++p) {
    value += parts_[p]->value;
    for (int m = 0; m < k; ++m) out.wins[m] += parts_[p]->wins[m];
    out.candidates.insert(out.candidates.end(), parts_[p]->candidates.begin(), parts_[p]->candidates.end());
  }
  for (int m = 0; m < k; ++m) scatter += static_cast<double>(size_[m]) * (mean_square_[m] - centre_norm[m]);
  for (int m = 0; m < k; ++m) distance += static_cast<double>(size_[m]) * offset[m];
  out.loss = -value / total_weight + anchor * scatter + tie * distance;

  // Back through the statistics: gradients by the sums  sum p x,  sum p |x|^2  and  sum p.
  add_outer(centre_bar_);
  add_parts(&Part::size, size_bar_);
  add_parts(&Part::square, mean_square_bar_);
  const float sign = static_cast<float>(-1.0 / total_weight), pull = static_cast<float>(anchor),
              hold = static_cast<float>(tie);
  std::vector<float> dot(kp, 0.0f);
  for (int j = 0; j < d; ++j)
    for (int m = 0; m < kp; ++m) {
      const std::size_t at = static_cast<std::size_t>(j) * kp + m;
      const float by_centre = -2.0f * sign * centre_bar_[at];
      dot[m] += by_centre * centre_[at];
      const float away = memories.values[at] - centre_[at];
      centre_bar_[at] = by_centre * inverse_size[m] - 2.0f * pull * centre_[at] - 2.0f * hold * away;
      // By the memory itself; added to the gradient at the end, when the centre is no longer needed.
      centre_[at] = 2.0f * hold * size_[m] * away;
    }
  for (int m = 0; m < k; ++m) {
    const float by_square = sign * mean_square_bar_[m];
    size_bar_[m] = sign * size_bar_[m] - (dot[m] + by_square * mean_square_[m]) * inverse_size[m] +
                   pull * centre_norm[m] + hold * (memories.square_norms[m] - centre_norm[m]);
    mean_square_bar_[m] = by_square * inverse_size[m] + pull;
  }

  panel_.refresh(memories.shape, centre_bar_.data());

  // 3. Through the memberships to the memories.
  for (int p = 0; p < parts; ++p) parts_[p]->reset(memories);
  for_blocks([&](Part& part, int, int first, int n) {
    float* g = result(products_, first);
    const float* direct = result(membership_bar_, first);
    panel_.products(row(rows_, first), n, g);
    for (int i = 0; i < n; ++i) {
      const float weight = weight_[first + i], norm = norm_[first + i];
      for (int m = 0; m < kp; ++m) {
        const std::size_t at = static_cast<std::size_t>(i) * kp + m;
        g[at] = sign * direct[at] + weight * (g[at] + norm * mean_square_bar_[m] + size_bar_[m]);
      }
    }
    kernel.softmax_adjoint(result(memberships_, first), g, n, kp, g);
    for (int i = 0; i < n; ++i)
      for (int m = 0; m < kp; ++m) {
        float& u = g[static_cast<std::size_t>(i) * kp + m];
        part.bias[m] += u;
        u *= logit_factor;
      }
    part.outer.add(row(rows_, first), n, g);
  });
  add_outer(gradient.memories);
  for (std::size_t i = 0; i < gradient.memories.size(); ++i) gradient.memories[i] += centre_[i];
  add_parts(&Part::bias, gradient.bias);
  finish_gradient(memories, gradient);
  return out;
}

}  // namespace

std::unique_ptr<Objective> make_silhouette(const Dataset& data, const ObjectiveSettings& settings) {
  return std::make_unique<Silhouette>(data, settings);
}

}  // namespace amclust
