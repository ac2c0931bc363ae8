// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/result.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

#include "testing/local/read_file.h"

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

std::vector<std::string> Disagreements(const std::string& log) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    if (!absl::StrContains(line, "Digests are not matching")) continue;
    if (!absl::StrContains(line, "[main]")) lines.emplace_back(line);
  }
  return lines;
}

std::vector<std::string> DisagreementsIn(const std::string& directory) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& server : std::filesystem::directory_iterator(directory, none)) {
    for (const std::string& line : Disagreements(testing::ReadFile(server.path() / "server.log"))) {
      all.push_back(absl::StrCat(server.path().filename().string(), ": ", line));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string ToJson(const SoakOptions& options, absl::Duration took, const history::Verdict& verdict,
                   const std::vector<std::string>& disagreements) {
  const history::Figures& figures = verdict.figures;
  json result = {{"ensemble", options.ensemble()},
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
  for (const auto& fault : figures.faults) result["faults"].push_back(ToJson(fault));
  for (const history::Violation& violation : verdict.violations) {
    result["violations"].push_back({{"rule", violation.rule},
                                    {"what", violation.what},
                                    {"fault", FaultAt(figures, violation.at)}});
  }
  return result.dump(1) + "\n";
}

}  // namespace zkrecipes::soak
