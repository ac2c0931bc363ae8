// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/result.h"

#include "nlohmann/json.hpp"

namespace zkrecipes::soak {
namespace {

using nlohmann::json;

// The last that had begun: what a violation is counted under.
std::string FaultAt(const history::Figures& figures, int64_t at) {
  std::string name = "none";
  for (const history::FaultFigures& fault : figures.faults) {
    if (fault.begin <= at) name = fault.name;
  }
  return name;
}

json ToJson(const history::FaultFigures& fault) {
  json result = {{"name", fault.name},
                 {"target", fault.target},
                 {"seconds", static_cast<double>(fault.end - fault.begin) / 1e9},
                 {"grants", fault.grants},
                 {"gap_ms", absl::ToInt64Milliseconds(fault.longest_without_grant)},
                 {"first_grant_ms", nullptr}};
  if (fault.first_grant.has_value()) {
    result["first_grant_ms"] = absl::ToInt64Milliseconds(*fault.first_grant);
  }
  return result;
}

}  // namespace

std::string ToJson(const Options& options, absl::Duration took, const history::Verdict& verdict,
                   const std::vector<std::string>& disagreements) {
  const history::Figures& figures = verdict.figures;
  json result = {{"ensemble", options.docker ? "docker" : "local"},
                 {"seed", options.seed},
                 {"seconds", absl::ToDoubleSeconds(took)},
                 {"workers", options.workers},
                 {"grants", figures.grants},
                 {"writes_accepted", figures.writes_accepted},
                 {"writes_refused", figures.writes_refused},
                 {"losses", figures.losses},
                 {"transactions", figures.transactions},
                 {"faults", json::array()},
                 {"violations", json::array()},
                 {"disagreements", disagreements}};
  for (const history::FaultFigures& fault : figures.faults)
    result["faults"].push_back(ToJson(fault));
  for (const history::Violation& violation : verdict.violations) {
    result["violations"].push_back({{"rule", violation.rule},
                                    {"what", violation.what},
                                    {"fault", FaultAt(figures, violation.at)}});
  }
  return result.dump(1) + "\n";
}

}  // namespace zkrecipes::soak
