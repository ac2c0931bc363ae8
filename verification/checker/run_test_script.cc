// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/run_test_script.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

constexpr char kPath[] = "/lock";
constexpr int64_t kSession = 7;

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

RunScript& RunScript::At(double seconds) {
  at_ = seconds;
  return *this;
}

RunScript& RunScript::Writer(const std::string& who, int64_t attempt, int64_t from) {
  next_.who = who;
  next_.attempt = attempt;
  next_.from = from;
  next_.mode = Event::Mode::kExclusive;
  return *this;
}

RunScript& RunScript::Reader(const std::string& who, int64_t attempt, int64_t from) {
  Writer(who, attempt, from);
  next_.mode = Event::Mode::kShared;
  return *this;
}

Event& RunScript::Add(What what) {
  Event event = grants_.try_emplace(absl::StrCat(next_.who, next_.attempt), next_).first->second;
  event.at = Nanoseconds(at_);
  event.what = what;
  event.path = kPath;
  return events_.emplace_back(std::move(event));
}

std::string RunScript::Node(int number) const {
  return absl::StrFormat("%s/_c_%032x-__%s__%010d", kPath, number,
                         next_.mode == Event::Mode::kShared ? "READ" : "WRIT", number);
}

RunScript& RunScript::Strictly(double seconds) {
  next_.lock_delay = Nanoseconds(seconds);
  return *this;
}

RunScript& RunScript::Asks() {
  Add(What::kInvoke);
  return *this;
}

RunScript& RunScript::Granted(int64_t token, double until, int number) {
  Event& grant = grants_.try_emplace(absl::StrCat(next_.who, next_.attempt), next_).first->second;
  grant.token = token;
  grant.session = kSession;
  grant.node = Node(number);
  Event& event = Add(What::kGrant);
  event.until = Nanoseconds(until);
  event.state = until > at_ ? "held" : "unproven";
  return *this;
}

RunScript& RunScript::Failed(const std::string& status) {
  Add(What::kFailed).detail = status;
  return *this;
}

RunScript& RunScript::Sees(const std::string& state, double until) {
  Event& event = Add(What::kBelief);
  event.state = state;
  event.until = Nanoseconds(until);
  return *this;
}

RunScript& RunScript::Lost() {
  Add(What::kLost);
  return *this;
}

RunScript& RunScript::Releases() {
  Add(What::kRelease);
  return *this;
}

RunScript& RunScript::Released(const std::string& status) {
  Add(What::kReleased).detail = status;
  return *this;
}

RunScript& RunScript::Wrote(int64_t order, int64_t token, bool accepted) {
  Event& event = Add(What::kWrite);
  event.order = order;
  event.token = token;
  event.accepted = accepted;
  return *this;
}

RunScript& RunScript::Process(const std::string& who, What what) {
  Event event;
  event.at = Nanoseconds(at_);
  event.who = who;
  event.what = what;
  events_.push_back(std::move(event));
  return *this;
}

RunScript& RunScript::Fault(const std::string& name) { return Process(name, What::kFault); }
RunScript& RunScript::Mended(const std::string& name, const std::string& target) {
  Process(name, What::kMended);
  events_.back().detail = target;
  return *this;
}
RunScript& RunScript::Quiet() { return Process("", What::kQuiet); }

Transaction& RunScript::AddTransaction(int64_t zxid) {
  Transaction transaction{.zxid = zxid};
  transaction.time_ms = std::llround((at_ + kWallLead) * 1e3);
  return transactions_.emplace_back(std::move(transaction));
}

RunScript& RunScript::Creates(int64_t zxid, int number, int64_t session) {
  Transaction& transaction = AddTransaction(zxid);
  transaction.session = session;
  transaction.changes.push_back({Transaction::Change::What::kCreated, Node(number), true});
  return *this;
}

RunScript& RunScript::Deletes(int64_t zxid, int number) {
  AddTransaction(zxid).changes.push_back({Transaction::Change::What::kDeleted, Node(number)});
  return *this;
}

RunScript& RunScript::MakesParent(int64_t zxid) {
  Transaction& transaction = AddTransaction(zxid);
  transaction.changes.push_back({Transaction::Change::What::kDeleted, kPath});
  transaction.changes.push_back({Transaction::Change::What::kCreated, kPath});
  return *this;
}

std::vector<std::string> RunScript::Broken() const {
  std::vector<std::string> rules;
  for (const Violation& violation : Judge().violations) rules.push_back(violation.rule);
  return rules;
}

}  // namespace zkrecipes::history
