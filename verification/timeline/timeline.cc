// SPDX-License-Identifier: Apache-2.0

#include "verification/timeline/timeline.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

#include "verification/checker/chronicle.h"
#include "verification/checker/run_directory.h"

namespace zkrecipes::history {

// The files of page/ in one; "@DATA@" stands where the run is to be. Made by CMake.
extern const char kTimelinePage[];

namespace {

using Json = nlohmann::json;
using What = Event::What;

class RunData {
 public:
  RunData(const Chronicle& run, const Verdict& verdict) : run_(run), verdict_(verdict) {}

  Json Make(const std::string& title) {
    for (const ProcessLife& process : run_.processes()) parts_.insert(process.who);
    for (const Attempt& attempt : run_.attempts()) paths_.insert(attempt.path);
    Json run = {{"title", title},
                {"end", std::max<int64_t>(Micros(run_.end()), 1)},
                {"quiet", nullptr},
                {"parts", parts_},
                {"paths", paths_},
                {"figures", FiguresJson()},
                {"violations", Violations()},
                {"faults", Faults()}};
    if (run_.quiet() != kNever) run["quiet"] = Micros(run_.quiet());
    AddProcesses(run);
    AddEvents(run);
    return run;
  }

 private:
  int64_t Micros(int64_t at) const { return (at - run_.begin()) / 1000; }
  Json Between(const std::string& who, int64_t from, int64_t to) const {
    return {{"who", who}, {"from", Micros(from)}, {"to", Micros(to)}};
  }
  Json At(const Event& event) const {
    return {{"at", Micros(event.at)}, {"who", event.who}, {"path", event.path}};
  }
  bool HasRow(const Event& event) const {
    return parts_.contains(event.who) && paths_.contains(event.path);
  }

  Json FiguresJson() const {
    const Figures& f = verdict_.figures;
    return {{"grants", f.grants},
            {"accepted", f.writes_accepted},
            {"refused", f.writes_refused},
            {"losses", f.losses},
            {"gap", absl::ToInt64Microseconds(f.longest_without_grant)},
            {"transactions", f.transactions}};
  }

  Json Violations() const {
    Json violations = Json::array();
    for (const Violation& violation : verdict_.violations) {
      Json marks = Json::array();
      for (const Event& event : violation.events) {
        if (HasRow(event)) marks.push_back(At(event));
      }
      violations.push_back({{"rule", violation.rule},
                            {"what", violation.what},
                            {"at", Micros(violation.at)},
                            {"marks", std::move(marks)}});
    }
    return violations;
  }

  Json Faults() const {
    Json faults = Json::array();
    for (const FaultFigures& fault : verdict_.figures.faults) {
      faults.push_back({{"name", fault.name},
                        {"target", fault.target},
                        {"from", Micros(fault.begin)},
                        {"to", Micros(fault.end)},
                        {"grants", fault.grants},
                        {"gap", absl::ToInt64Microseconds(fault.longest_without_grant)},
                        {"first", nullptr}});
      if (fault.first_grant.has_value()) {
        faults.back()["first"] = absl::ToInt64Microseconds(*fault.first_grant);
      }
    }
    return faults;
  }

  Json AttemptJson(const Attempt& attempt, const ProcessLife& process) const {
    Json json = {{"who", attempt.who},
                 {"process", attempt.process},
                 {"number", attempt.number},
                 {"path", attempt.path},
                 {"exclusive", attempt.exclusive()}};
    Json& spans = json["spans"] = Json::array();
    for (const Span& span : SpansOf(attempt, process, run_.end())) {
      spans.push_back({static_cast<int>(span.phase), Micros(span.from), Micros(span.to)});
    }
    if (attempt.from != nullptr) json["change"] = attempt.from->number;
    if (attempt.failed != nullptr) json["end"] = attempt.failed->detail;
    if (attempt.released != nullptr) json["end"] = attempt.released->detail;
    if (!attempt.granted()) return json;
    const int64_t until = attempt.ProvenUntil();
    json["token"] = std::to_string(attempt.token());
    json["granted"] = Micros(attempt.granted_at());
    if (until > 0) json["until"] = Micros(until);
    return json;
  }

  // The attempts, and when a process had each part, and when none had.
  void AddProcesses(Json& run) const {
    run["attempts"] = run["alive"] = run["dead"] = run["paused"] = Json::array();
    const auto& all = run_.processes();
    for (auto process = all.begin(); process != all.end(); ++process) {
      const std::string& who = process->who;
      for (const Attempt* attempt : process->attempts) {
        run["attempts"].push_back(AttemptJson(*attempt, *process));
      }
      for (const ProcessLife::Pause& pause : process->pauses) {
        run["paused"].push_back(Between(who, pause.begin, std::min(pause.end, run_.end())));
      }
      const int64_t end = process->EndIn(run_.end());
      run["alive"].push_back(Between(who, process->started, end));
      const bool killed = process->killed != kNever;
      const auto next = std::find_if(std::next(process), all.end(),
                                     [&](const ProcessLife& other) { return other.who == who; });
      const int64_t until = next != all.end() ? next->started : killed ? run_.end() : end;
      if (end >= until) continue;
      run["dead"].push_back(Between(who, end, until));
      run["dead"].back()["killed"] = killed;
    }
  }

  // The refused writes, and the spans from a session's suspension or expiry to its next event.
  void AddEvents(Json& run) const {
    run["suspended"] = run["refused"] = Json::array();
    std::map<std::string, const Event*> suspended;
    for (const Event& event : run_.events()) {
      if (event.what == What::kWrite && !event.accepted && HasRow(event)) {
        run["refused"].push_back(At(event));
        run["refused"].back()["token"] = std::to_string(event.token);
      }
      if (event.what != What::kSession && event.what != What::kKilled && event.what != What::kEnd) {
        continue;
      }
      if (const auto before = suspended.extract(event.who); !before.empty()) {
        run["suspended"].push_back(Between(event.who, before.mapped()->at, event.at));
        run["suspended"].back()["expired"] = before.mapped()->detail == "expired";
      }
      if (event.detail == "suspended" || event.detail == "expired") suspended[event.who] = &event;
    }
  }

  const Chronicle& run_;
  const Verdict& verdict_;
  std::set<std::string> parts_;
  std::set<std::string> paths_;
};

// Each violation with the events that show it.
void Print(const Json& figures, const Json& faults, const std::vector<Violation>& violations) {
  std::cout << "figures " << figures << "\n";
  for (const Json& fault : faults) std::cout << "fault " << fault << "\n";
  for (const Violation& violation : violations) {
    std::cout << violation.rule << ": " << violation.what << "\n";
    for (const Event& event : violation.events) std::cout << "    " << ToLine(event) << "\n";
  }
  std::cout << violations.size() << " violations\n";
}

}  // namespace

Json TimelineData(const std::string& title, std::vector<Event> events, const Verdict& verdict) {
  const Chronicle chronicle(std::move(events));
  return RunData(chronicle, verdict).Make(title);
}

std::string TimelinePage(const Json& data) {
  // "</script>" in a name would end the script.
  const std::string json = absl::StrReplaceAll(
      data.dump(-1, ' ', false, Json::error_handler_t::replace), {{"</", "<\\/"}});
  return absl::StrReplaceAll(kTimelinePage, {{"@DATA@", json}});
}

absl::StatusOr<Json> Judge(const std::string& directory) {
  absl::StatusOr<RunRecords> run = ReadRunDirectory(directory);
  if (!run.ok()) return run.status();
  const Verdict verdict = Check(run->events, run->transactions, run->limits);
  const Json data = TimelineData(run->title, std::move(run->events), verdict);
  Print(data["figures"], data["faults"], verdict.violations);
  const std::string page = directory + "/timeline.html";
  if (absl::Status drawn = WriteFile(page, TimelinePage(data)); !drawn.ok()) return drawn;
  std::cout << "timeline: " << page << "\n";
  Json judged;
  for (const char* part : {"figures", "faults", "violations"}) judged[part] = data[part];
  return judged;
}

}  // namespace zkrecipes::history
