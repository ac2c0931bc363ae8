// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/session_machine_test_script.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace zkrecipes::session::machine {
namespace {

struct TextOf {
  std::string operator()(const action::Resolve&) const { return "resolve"; }
  std::string operator()(const action::OpenHandle&) const { return "open"; }
  std::string operator()(const action::CloseHandle&) const { return "close handle"; }
  std::string operator()(const action::StartPause&) const { return "pause"; }
  std::string operator()(const action::AnnounceConnected& a) const {
    return absl::StrCat(a.resumed ? "connected again " : "connected ", a.session);
  }
  std::string operator()(const action::AnnounceDisconnected&) const { return "disconnected"; }
  std::string operator()(const action::AnnounceExpired&) const { return "expired"; }
  std::string operator()(const action::AnnounceFailed& a) const {
    return absl::StrCat("failed ", zk::CodeName(a.why));
  }
  std::string operator()(const action::SetServers& a) const {
    return a.leave ? "set servers, leave others" : "set servers";
  }
  std::string operator()(const action::Drain&) const { return "drain"; }
  std::string operator()(const action::EndSession&) const { return "end session"; }
  std::string operator()(const action::AnnounceClosed& a) const {
    return a.confirmed ? "closed" : "closed, unconfirmed";
  }
};

}  // namespace

std::string SessionScript::On(const std::vector<Event>& events) {
  return absl::StrJoin(events, " | ", [this](std::string* out, const Event& event) {
    absl::StrAppend(out,
                    absl::StrJoin(machine.On(event), ", ", [](auto* text, const Action& action) {
                      text->append(std::visit(TextOf(), action));
                    }));
  });
}

SessionScript After(SessionScript s, const std::vector<Event>& events) {
  s.On(events);
  return s;
}

SessionScript Fresh() { return {}; }
SessionScript Resolving() { return After(Fresh(), {event::Start{}}); }
SessionScript Connecting() { return After(Resolving(), {event::Resolved{}}); }
SessionScript Pausing() { return After(Resolving(), {event::ResolveFailed{}}); }
SessionScript Connected() { return After(Connecting(), {event::Connected{7}}); }
SessionScript Suspended() {
  return After(Connected(), {event::Disconnected{0}, event::ResolveFailed{}});
}
SessionScript Failed() { return After(Connecting(), {event::HandleEnded{kAuthFailed}}); }
SessionScript Closing(SessionScript s) { return After(std::move(s), {event::CloseRequested{}}); }
SessionScript Closed(SessionScript s) {
  return After(std::move(s), {event::CloseRequested{}, event::Drained{}, event::EndAnswered{true}});
}

}  // namespace zkrecipes::session::machine
