// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/run_test_script.h"

#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

constexpr char kPath[] = "/lock";
constexpr int64_t kSession = 7;

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::optional<What> WhatOf(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(What::kQuiet); ++i) {
    if (name == ToString(static_cast<What>(i))) return static_cast<What>(i);
  }
  return std::nullopt;
}

bool IsOfAttempt(What what) { return what >= What::kInvoke && what <= What::kReleased; }

// "token=11" as "token" and "11".
std::pair<std::string, std::string> Split(const std::string& word) {
  return absl::StrSplit(word, absl::MaxSplits('=', 1));
}

}  // namespace

RunScript& RunScript::Add(const std::string& events) {
  static const std::set<std::string> kOthers = {"creates", "deletes", "parent", "limits"};
  for (const absl::string_view event : absl::StrSplit(events, ';', absl::SkipWhitespace())) {
    Words words = absl::StrSplit(event, ' ', absl::SkipEmpty());
    if (double at = 0; absl::SimpleAtod(words.front(), &at)) {
      at_ = at;
      words.erase(words.begin());
    }
    if (kOthers.count(words.front()) == 0 && !WhatOf(words.front()).has_value()) {
      Choose(words.front());
      words.erase(words.begin());
    }
    const std::string what = words.front();
    words.erase(words.begin());
    Happen(what, words);
  }
  return *this;
}

void RunScript::Choose(const std::string& actor) {
  absl::string_view name = actor;
  const bool shared = absl::ConsumePrefix(&name, "~");
  const Words parts = absl::StrSplit(name, absl::ByAnyChar(".<"));
  Event attempt;
  attempt.who = parts[0];
  attempt.path = kPath;
  attempt.mode = shared ? Event::Mode::kShared : Event::Mode::kExclusive;
  attempt.attempt = parts.size() > 1 ? std::stoll(parts[1]) : 1;
  attempt.from = parts.size() > 2 ? std::stoll(parts[2]) : 0;
  const std::string key = absl::StrCat(attempt.who, ".", attempt.attempt);
  attempt_ = &attempts_.try_emplace(key, std::move(attempt)).first->second;
}

void RunScript::Happen(const std::string& what, const Words& words) {
  if (what == "limits") return SetLimits(words);
  if (const std::optional<What> event = WhatOf(what)) return AddEvent(*event, words);
  AddTransaction(what, words);
}

void RunScript::AddEvent(What what, const Words& words) {
  Event event;
  if (IsOfAttempt(what)) {
    event = *attempt_;
  } else if (attempt_ != nullptr) {
    event.who = attempt_->who;
  }
  event.at = Nanoseconds(at_);
  event.what = what;
  event.accepted = what == What::kWrite;
  if (what == What::kGrant) event.session = kSession;
  for (const std::string& word : words) Set(word, event);
  if (what == What::kGrant) event.state = event.until > event.at ? "held" : "unproven";
  events_.push_back(event);
  if (what != What::kInvoke && what != What::kGrant) return;
  event.until = 0;
  event.state.clear();
  *attempt_ = std::move(event);
}

// A word that names no field is the state of a belief, or one of the detail.
void RunScript::Set(const std::string& word, Event& event) const {
  const auto [name, value] = Split(word);
  if (name == "token") {
    event.token = std::stoll(value);
  } else if (name == "until") {
    event.until = Nanoseconds(std::stod(value));
  } else if (name == "lock_delay") {
    event.lock_delay = Nanoseconds(std::stod(value));
  } else if (name == "order") {
    event.order = std::stoll(value);
  } else if (name == "node") {
    event.node = Node(std::stoll(value));
  } else if (word == "refused") {
    event.accepted = false;
  } else if (event.what == What::kBelief) {
    event.state = word;
  } else {
    absl::StrAppend(&event.detail, event.detail.empty() ? "" : " ", word);
  }
}

void RunScript::AddTransaction(const std::string& what, const Words& words) {
  using Change = Transaction::Change;
  Transaction transaction{.session = kSession};
  transaction.time_ms = std::llround(at_ * 1e3) + 1'000'000;
  std::string path = kPath;
  for (const std::string& word : words) {
    const auto [name, value] = Split(word);
    if (name == "zxid") transaction.zxid = std::stoll(value);
    if (name == "session") transaction.session = std::stoll(value);
    if (name == "node") path = Node(std::stoll(value));
  }
  if (what != "creates") transaction.changes.push_back({Change::What::kDeleted, path});
  if (what == "creates") transaction.changes.push_back({Change::What::kCreated, path, true});
  if (what == "parent") transaction.changes.push_back({Change::What::kCreated, path});
  transactions_.push_back(std::move(transaction));
}

void RunScript::SetLimits(const Words& words) {
  for (const std::string& word : words) {
    const auto [name, value] = Split(word);
    if (name == "progress") limits_.progress = absl::Seconds(std::stod(value));
    if (name == "recovery") limits_.recovery = absl::Seconds(std::stod(value));
    if (name != "left") continue;
    limits_.left.emplace();
    if (!value.empty()) limits_.left->push_back(Node(std::stoll(value)));
  }
}

std::string RunScript::Node(int64_t number) const {
  const bool shared = attempt_ != nullptr && attempt_->mode == Event::Mode::kShared;
  return absl::StrFormat("%s/_c_%032x-__%s__%010d", kPath, number, shared ? "READ" : "WRIT",
                         number);
}

std::string RunScript::Broken() const {
  return absl::StrJoin(Judge().violations, " ", [](std::string* rules, const Violation& violation) {
    rules->append(violation.rule);
  });
}

}  // namespace zkrecipes::history
