// All objectives there are: a new one is its file and its line here.
#include "objectives/objective.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

namespace amclust {

using MakeObjective = std::unique_ptr<Objective>(const Dataset&, const ObjectiveSettings&);
MakeObjective make_completion, make_reconstruction, make_silhouette;  // each in the file of its name

namespace {

struct Registry {
  struct Entry {
    std::string name;
    ObjectiveFactory make;
  };
  std::vector<Entry> entries{
      {"completion", make_completion},
      {"reconstruction", make_reconstruction},
      {"silhouette", make_silhouette},
  };
  std::mutex mutex;  // restarts make their objectives at the same time

  const Entry* find(const std::string& name) const {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
    return found == entries.end() ? nullptr : &*found;
  }
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

std::unique_ptr<Objective> make_objective(const Dataset& data, const ObjectiveSettings& settings) {
  ObjectiveFactory make;
  {
    std::lock_guard<std::mutex> lock(registry().mutex);
    if (const Registry::Entry* entry = registry().find(settings.name)) make = entry->make;
  }
  if (make) return make(data, settings);
  std::string known;
  for (const std::string& name : objective_names()) known += (known.empty() ? "'" : ", '") + name + "'";
  throw std::invalid_argument("objective must be one of " + known + ", got '" + settings.name + "'");
}

void register_objective(std::string name, ObjectiveFactory make) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  if (registry().find(name)) throw std::invalid_argument("there is an objective '" + name + "' already");
  registry().entries.push_back({std::move(name), std::move(make)});
}

std::vector<std::string> objective_names() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  std::vector<std::string> names;
  for (const Registry::Entry& entry : registry().entries) names.push_back(entry.name);
  return names;
}

}  // namespace amclust
