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
    return absl::StrCat(a.resumed ? "up again " : "up ", a.session);
  }
  std::string operator()(const action::AnnounceDisconnected&) const { return "down"; }
  std::string operator()(const action::AnnounceExpired&) const { return "lost"; }
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

std::string Story::On(const Event& event) { return Text(machine.On(event)); }

Story Fresh() { return {}; }
Story Resolving() {
  Story s;
  s.On(event::Start{});
  return s;
}
Story Connecting() {
  Story s = Resolving();
  s.On(event::Resolved{});
  return s;
}
Story Pausing() {
  Story s = Resolving();
  s.On(event::ResolveFailed{});
  return s;
}
Story Connected() {
  Story s = Connecting();
  s.On(event::Connected{7});
  return s;
}
Story Suspended() {
  Story s = Connected();
  s.On(event::Disconnected{1});
  return s;
}
Story Failed() {
  Story s = Connecting();
  s.On(event::HandleEnded{kAuthFailed});
  return s;
}
Story Closing(Story s) {
  s.On(event::CloseRequested{});
  return s;
}
Story Closed(Story s) {
  s.On(event::CloseRequested{});
  s.On(event::Drained{});
  return s;
}

}  // namespace zkrecipes::session
