// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/session_machine_test_script.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace zkrecipes::session {
namespace {

struct TextOf {
  std::string operator()(const action::Resolve&) const { return "resolve"; }
  std::string operator()(const action::OpenHandle&) const { return "open"; }
  std::string operator()(const action::CloseHandle&) const { return "close handle"; }
  std::string operator()(const action::StartPause& a) const {
    return absl::StrCat("pause ", a.attempt);
  }
  std::string operator()(const action::AnnounceConnected& a) const {
    return absl::StrCat(a.resumed ? "connected again " : "connected ", a.session);
  }
  std::string operator()(const action::AnnounceDisconnected&) const { return "disconnected"; }
  std::string operator()(const action::AnnounceExpired&) const { return "expired"; }
  std::string operator()(const action::AnnounceFailed& a) const {
    return absl::StrCat("failed ", zk::CodeName(a.why));
  }
  std::string operator()(const action::Drain&) const { return "drain"; }
  std::string operator()(const action::AnnounceClosed&) const { return "closed"; }
};

std::string Text(const Actions& actions) {
  return absl::StrJoin(actions, ", ", [](std::string* out, const Action& action) {
    out->append(std::visit(TextOf(), action));
  });
}

}  // namespace

std::string SessionScript::On(const Event& event) { return Text(machine.On(event)); }

SessionScript Fresh() { return {}; }
SessionScript Resolving() {
  SessionScript s;
  s.On(event::Start{});
  return s;
}
SessionScript Connecting() {
  SessionScript s = Resolving();
  s.On(event::Resolved{});
  return s;
}
SessionScript Pausing() {
  SessionScript s = Resolving();
  s.On(event::ResolveFailed{});
  return s;
}
SessionScript Connected() {
  SessionScript s = Connecting();
  s.On(event::Connected{7});
  return s;
}
SessionScript Suspended() {
  SessionScript s = Connected();
  s.On(event::Disconnected{1});
  return s;
}
SessionScript Failed() {
  SessionScript s = Connecting();
  s.On(event::HandleEnded{kAuthFailed});
  return s;
}
SessionScript Closing(SessionScript s) {
  s.On(event::CloseRequested{});
  return s;
}
SessionScript Closed(SessionScript s) {
  s.On(event::CloseRequested{});
  s.On(event::Drained{});
  return s;
}

}  // namespace zkrecipes::session
