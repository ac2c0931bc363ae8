// SPDX-License-Identifier: Apache-2.0

#include "verification/timeline/timeline.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

#include "verification/checker/chronicle.h"
#include "verification/timeline/spans.h"

namespace zkrecipes::history {

// The files of page/ in one; "@DATA@" stands where the run is to be. Made by CMake.
extern const char kTimelinePage[];

namespace {

using Json = nlohmann::json;
using What = Event::What;

// The object `run` of page/model.js.
class PageData {
 public:
  PageData(const Chronicle& run, const Verdict& verdict) : run_(run), verdict_(verdict) {}

  Json Make(const std::string& title) {
    for (const ProcessLife& process : run_.processes()) parts_.insert(process.who);
    for (const Attempt& attempt : run_.attempts()) paths_.insert(attempt.path);
    Json run = {{"title", title},
                {"end", std::max<int64_t>(Micros(run_.end()), 1)},
                {"quiet", run_.quiet() == kNever ? Json() : Json(Micros(run_.quiet()))},
                {"parts", parts_},
                {"paths", paths_}};
    run["figures"] = FiguresJson();
    run["violations"] = Violations();
    run["faults"] = Faults();
    AddProcesses(run);
    AddEvents(run);
    return run;
  }

 private:
  int64_t Micros(int64_t at) const { return (at - run_.begin()) / 1000; }

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
        if (!parts_.contains(event.who) || !paths_.contains(event.path)) continue;
        marks.push_back({{"at", Micros(event.at)}, {"who", event.who}, {"path", event.path}});
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
                        {"first", fault.first_grant.has_value()
                                      ? Json(absl::ToInt64Microseconds(*fault.first_grant))
                                      : Json()}});
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
    std::map<std::string, const ProcessLife*> last;
    for (const ProcessLife& process : run_.processes()) {
      const ProcessLife*& before = last[process.who];
      if (before != nullptr) AddDeath(run, *before, process.started);
      before = &process;
      for (const Attempt* attempt : process.attempts) {
        run["attempts"].push_back(AttemptJson(*attempt, process));
      }
      run["alive"].push_back(Between(process.who, process.started, process.EndIn(run_.end())));
      for (const ProcessLife::Pause& pause : process.pauses) {
        run["paused"].push_back(Between(process.who, pause.begin, std::min(pause.end, run_.end())));
      }
    }
    for (const auto& [who, process] : last) {
      if (process->killed != kNever) AddDeath(run, *process, run_.end());
    }
  }

  void AddDeath(Json& run, const ProcessLife& process, int64_t until) const {
    if (process.EndIn(run_.end()) >= until) return;
    Json death = Between(process.who, process.EndIn(run_.end()), until);
    death["killed"] = process.killed != kNever;
    run["dead"].push_back(std::move(death));
  }

  Json Between(const std::string& who, int64_t from, int64_t to) const {
    return {{"who", who}, {"from", Micros(from)}, {"to", Micros(to)}};
  }

  // The refused writes, and the spans from a session's suspension or expiry to its next event.
  void AddEvents(Json& run) const {
    run["suspended"] = run["refused"] = Json::array();
    std::map<std::string, const Event*> suspended;
    for (const Event& event : run_.events()) {
      if (event.what == What::kWrite && !event.accepted) AddRefusal(run, event);
      if (event.what != What::kSession && event.what != What::kKilled && event.what != What::kEnd) {
        continue;
      }
      if (const auto before = suspended.extract(event.who); !before.empty()) {
        Json span = Between(event.who, before.mapped()->at, event.at);
        if (before.mapped()->detail == "expired") span["expired"] = true;
        run["suspended"].push_back(std::move(span));
      }
      if (event.detail == "suspended" || event.detail == "expired") suspended[event.who] = &event;
    }
  }

  void AddRefusal(Json& run, const Event& write) const {
    if (!paths_.contains(write.path)) return;
    run["refused"].push_back({{"who", write.who},
                              {"path", write.path},
                              {"at", Micros(write.at)},
                              {"token", std::to_string(write.token)}});
  }

  const Chronicle& run_;
  const Verdict& verdict_;
  std::set<std::string> parts_;
  std::set<std::string> paths_;
};

}  // namespace

std::string Timeline(const std::string& title, std::vector<Event> events, const Verdict& verdict) {
  const Chronicle chronicle(std::move(events));
  const Json run = PageData(chronicle, verdict).Make(title);
  // "</script>" in a name would end the script.
  const std::string json = absl::StrReplaceAll(
      run.dump(-1, ' ', false, Json::error_handler_t::replace), {{"</", "<\\/"}});
  return absl::StrReplaceAll(kTimelinePage, {{"@DATA@", json}});
}

}  // namespace zkrecipes::history
