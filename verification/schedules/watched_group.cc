// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/watched_group.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::schedules {

using testing::memory::Transaction;

namespace {

std::set<int64_t> TokensOf(const GroupView& view) {
  std::set<int64_t> tokens;
  for (const Member& member : view.members) tokens.insert(member.token.value());
  return tokens;
}

}  // namespace

void WatchedGroup::WatchOrStop(const std::shared_ptr<Client>& client) {
  const Core core = internal::ClientAccess::Core(*client);
  if (StopWatching(core)) return;
  Watcher& watcher = watchers_.emplace_back(Watcher{.core = core});
  watcher.subscription =
      Group(client, kGroupPath).Watch([this, w = &watcher, core](absl::StatusOr<GroupView> view) {
        OnView(*w, view);
        after_callback_(core);
      });
}

// Those that have ended stay, since an error must have been the last call.
bool WatchedGroup::StopWatching(const Core& core) {
  return std::erase_if(watchers_, [&](const auto& w) { return w.core == core && !w.ended; }) > 0;
}

// Of two nodes with one id the later one counts.
void WatchedGroup::Read(const Transaction& change) {
  using enum Transaction::Kind;
  if (change.kind == kCreate && zk::ParentPath(change.path) == kGroupPath) {
    const auto name = queue::machine::ParseNodeName(zk::NodeName(change.path));
    const bool member = name.has_value() && name->mode == queue::machine::Mode::kMember;
    if (!member || change.node.owner == 0) return;
    present_[change.zxid] = {change.path, queue::listing::ParseCandidate(change.node.data).id,
                             change.node.owner};
  } else if (change.kind != kDelete && change.kind != kCloseSession) {
    return;
  }
  std::erase_if(present_, [&](const auto& entry) {
    const bool deleted = change.kind == kDelete && entry.second.path == change.path;
    if (deleted && change.session == 0) deleted_.insert(entry.first);
    return deleted || (change.kind == kCloseSession && entry.second.owner == change.session);
  });
  std::map<std::string, int64_t> latest;
  for (const auto& [token, node] : present_) latest[node.id] = token;
  std::set<int64_t> state;
  for (const auto& [id, token] : latest) state.insert(token);
  if (state != states_.back()) states_.push_back(std::move(state));
}

// A member that shares nothing is not begun again where it was not proven, or an operator
// deleted its node.
bool WatchedGroup::Explains(const Core& core, const absl::Status& status) const {
  return ExplainsRefusal(core, status) || (!deleted_.empty() && absl::IsAborted(status)) ||
         (absl::IsUnavailable(status) && absl::StrContains(status.message(), "not proven alive"));
}

void WatchedGroup::OnView(Watcher& watcher, const absl::StatusOr<GroupView>& view) {
  follow_();
  if (watcher.ended) break_("told after an error", "a watcher");
  if (!view.ok()) {
    watcher.ended = true;
    if (!Explains(watcher.core, view.status())) {
      break_("unexpected answer", "a watcher: " + view.status().ToString());
    }
    return;
  }
  watcher.view = *view;
  if (view->connected) CheckView(watcher);
}

// A new session may begin at a server that is behind.
void WatchedGroup::CheckView(Watcher& watcher) {
  const zk::SessionId session = watcher.core->session_id();
  if (std::exchange(watcher.session, session) != session) watcher.tells = 0;
  if (++watcher.tells <= kUnordered) watcher.state = 0;
  const std::set<int64_t> seen = TokensOf(*watcher.view);
  const auto from = states_.begin() + static_cast<std::ptrdiff_t>(watcher.state);
  const auto found = std::find(from, states_.end(), seen);
  if (found == states_.end()) {
    const bool ever = std::ranges::find(states_, seen) != states_.end();
    return break_(ever ? "saw an earlier group" : "saw a group that never was",
                  absl::StrCat(seen.size(), " members"));
  }
  watcher.state = static_cast<size_t>(found - states_.begin());
}

void WatchedGroup::CheckWatchers() const {
  for (const Watcher& watcher : watchers_) {
    if (watcher.ended || closed_.count(watcher.core) > 0) continue;
    const auto& view = watcher.view;
    if (view.has_value() && view->connected && TokensOf(*view) == states_.back()) continue;
    break_("not told of the latest group",
           absl::StrCat(view.has_value() ? std::ssize(view->members) : -1, " members instead of ",
                        states_.back().size()));
  }
}

void WatchedGroup::CheckNoMemberIsLeft() const {
  for (const auto& [token, present] : present_) break_("node left behind", present.path);
}

}  // namespace zkrecipes::schedules
