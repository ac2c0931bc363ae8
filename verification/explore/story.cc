// SPDX-License-Identifier: Apache-2.0
//
// How a transition of a MachineWorld reads.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {
namespace {

namespace wire = memory::wire;

struct Incoming {
  std::string operator()(const wire::Welcome& m) const {
    return absl::StrCat("is welcome in session ", m.session);
  }
  std::string operator()(const wire::Expired&) const { return "hears that its session is gone"; }
  std::string operator()(const wire::Pong&) const { return "reads a pong"; }
  std::string operator()(const wire::Fired& m) const {
    return absl::StrCat("hears that ", m.path,
                        m.what == zk::WatchEvent::kDeleted ? " was deleted" : " has changed");
  }
  std::string operator()(const wire::Answer& m) const {
    std::string text = absl::StrCat("reads an answer: ", zk::CodeName(m.reply.code));
    if (!m.reply.path.empty()) absl::StrAppend(&text, ", ", m.reply.path);
    if (!m.reply.children.empty()) {
      absl::StrAppend(&text, ", ", absl::StrJoin(m.reply.children, " "));
    }
    return text;
  }
};

struct Outgoing {
  std::string operator()(const wire::Hello& m) const {
    return m.session == 0 ? "a hello" : absl::StrCat("a hello of session ", m.session);
  }
  std::string operator()(const wire::SetWatches& m) const {
    return absl::StrCat("watches to be set again: ", absl::StrJoin(m.paths, " "));
  }
  std::string operator()(const wire::Ping&) const { return "a ping"; }
  std::string operator()(const wire::EndSession&) const { return "the end of the session"; }
  std::string operator()(const wire::Call& m) const {
    return absl::StrCat(zk::OperationName(m.request), " ", zk::PathOf(m.request));
  }
};

}  // namespace

std::string MachineWorld::Describe(const Transition& transition) const {
  using Kind = Transition::Kind;
  const bool executes = transition.kind == Kind::kExecute;
  const int number = executes ? ensemble_.ServerOf(transition.who) : transition.which;
  std::string text = absl::StrReplaceAll(
      RowOf(transition).story, {{"#", absl::StrCat(transition.who)}, {"%", absl::StrCat(number)}});
  if (executes) text += std::visit(Outgoing(), *ensemble_.NextOf(transition.who));
  if (transition.kind == Kind::kDeliver) {
    const auto* message = ensemble_.NextFor(clients_[transition.who].connection);
    text +=
        message == nullptr ? "sees that its connection is gone" : std::visit(Incoming(), *message);
  }
  return text;
}

}  // namespace zkrecipes::explore
