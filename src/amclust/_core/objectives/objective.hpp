// What is minimised. An objective takes a batch of rows and the memories and gives the loss and its gradient; it draws
// on nothing else of the trainer. A new objective is a file and a line in registry.cpp.
#pragma once

#include "buffer.hpp"
#include "memories.hpp"
#include "rows/dataset.hpp"
#include "team.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace amclust {

struct Batch {
  const std::int64_t* rows;  // row numbers in the dataset
  const std::int64_t* ids;   // what tells rows apart in draws: their places among the training rows
  const float* weights;      // of these rows; null: all 1
  int size;
  double total_weight;                   // what the loss is divided by
  std::uint32_t epoch;                   // tells the draws of one epoch from those of another
  const std::int32_t* hidden = nullptr;  // given masks [size][n_hidden] instead of drawn ones (tests)
  int n_hidden = 0;
};

// A row, and how badly the memories represent it.
struct Candidate {
  float badness;
  std::int64_t row;
};

struct Evaluation {
  double loss = 0.0;                  // already divided by total_weight
  std::vector<double> wins;           // [k] weight of the rows that fell to each memory
  std::vector<Candidate> candidates;  // badly represented rows, one per few rows
};

struct Gradient {
  Buffer memories;  // [d + 1][kp]
  Buffer bias;      // [kp], of the logits' bias; the log-weights' gradient
};

struct ObjectiveSettings {
  std::string name;
  std::uint64_t seed = 0;
  double mask_prob = 0.0;   // the part of the observed coordinates to hide
  std::vector<float> fill;  // where hidden and missing coordinates start, in core units
  double anchor = 0.0;      // silhouette: weight of the scatter inside the soft clusters
  int neighbours = 0;       // silhouette: a row meets so many memories; 0: all of them
  double tie = 0.0;         // silhouette: weight of the memories' squared distance from the soft centres
};

class Objective {
 public:
  virtual ~Objective() = default;
  // Lays memories out for the rows it reads; before their first refresh.
  virtual void prepare(Memories&) const {}
  // Whether Memories::refresh must bring the inner products up to date before evaluate().
  virtual bool needs_gram(const Memories&) const { return false; }
  // The gradient is overwritten; of the loss by the memories' coordinates (through the bias too).
  virtual Evaluation evaluate(const Batch& batch, const Memories& memories, Gradient& gradient, Team& team) = 0;
};

// The data must outlive the objective.
using ObjectiveFactory = std::function<std::unique_ptr<Objective>(const Dataset&, const ObjectiveSettings&)>;

// Throws std::invalid_argument for a name that is not known.
std::unique_ptr<Objective> make_objective(const Dataset& data, const ObjectiveSettings& settings);
// For objectives from outside the library; its own are listed in registry.cpp. A name can be taken once.
void register_objective(std::string name, ObjectiveFactory make);
std::vector<std::string> objective_names();

// Adds the gradient that reaches the coordinates through the bias, or projects it on the sphere.
void finish_gradient(const Memories& memories, Gradient& gradient);

}  // namespace amclust
