// A silhouette that can be differentiated, in linear time (design: "a differentiable silhouette"), with an anchor.
//
// From the memberships p at the rows themselves come soft clusters: size w = sum p, centre c = sum p x / w and mean
// squared norm q = sum p |x|^2 / w. The mean squared distance of a row to a cluster is |x|^2 - 2 x.c + q, which makes
// the silhouette of every row a function of these statistics (kernels/silhouette.cpp). Alone it can be raised by
// shedding outliers or by letting one cluster swallow the rest; the anchor adds the scatter inside the soft clusters,
// sum_m w_m (q_m - |c_m|^2), so that a partition which explains little of the data is not worth its silhouette.
//
// Rows with missing values take part with these filled by the current memories, as constants.
#pragma once

#include "inference/filling.hpp"
#include "objectives/objective.hpp"

namespace amclust {

class Silhouette final : public Objective {
 public:
  Silhouette(const Dataset& data, const ObjectiveSettings& settings);
  ~Silhouette() override;
  Evaluation evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) override;

 private:
  struct Part;  // sums over one part of the batch
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

}  // namespace amclust
