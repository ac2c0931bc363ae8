// SPDX-License-Identifier: Apache-2.0

#include "testing/local/quorum.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "testing/local/four_letter_word.h"

namespace zkrecipes::testing {
namespace {

constexpr absl::Duration kModeTimeout = absl::Milliseconds(500);
constexpr absl::Duration kPollInterval = absl::Milliseconds(25);

bool Leads(ServerMode mode) {
  return mode == ServerMode::kLeader || mode == ServerMode::kStandalone;
}

}  // namespace

bool Serves(ServerMode mode) { return Leads(mode) || mode == ServerMode::kFollower; }

std::string ToString(ServerMode mode) {
  static constexpr const char* kNames[] = {"no answer", "not serving", "standalone", "leader",
                                           "follower"};
  return kNames[static_cast<size_t>(mode)];
}

ServerMode AskMode(const std::string& address, absl::Duration timeout) {
  const absl::StatusOr<std::string> answer = FourLetterWord(address, "srvr", timeout);
  if (!answer.ok()) return ServerMode::kNoAnswer;
  for (const ServerMode mode :
       {ServerMode::kStandalone, ServerMode::kLeader, ServerMode::kFollower}) {
    if (absl::StrContains(*answer, "Mode: " + ToString(mode))) return mode;
  }
  return ServerMode::kNotServing;
}

int QuorumView::leaders() const {
  return static_cast<int>(std::count_if(modes.begin(), modes.end(), Leads));
}

int QuorumView::serving() const {
  return static_cast<int>(std::count_if(modes.begin(), modes.end(), Serves));
}

int QuorumView::LeaderIndex() const {
  if (leaders() != 1) return -1;
  return static_cast<int>(std::find_if(modes.begin(), modes.end(), Leads) - modes.begin());
}

absl::StatusOr<int> QuorumView::Leader() const {
  if (LeaderIndex() >= 0) return LeaderIndex();
  return absl::NotFoundError(absl::StrCat("no one leader: ", Describe()));
}

int QuorumView::FirstNotServing() const {
  const auto found = std::find_if_not(modes.begin(), modes.end(), Serves);
  return found == modes.end() ? 0 : static_cast<int>(found - modes.begin());
}

// A leader that has just lost its followers says for a while that it leads, and followers that have
// just lost their leader that they follow: only both together are a quorum.
bool QuorumView::HasQuorum() const {
  return leaders() == 1 && 2 * serving() > static_cast<int>(modes.size());
}

bool QuorumView::AllServe() const {
  return leaders() == 1 && serving() == static_cast<int>(modes.size());
}

std::string QuorumView::Describe() const {
  std::string text;
  for (size_t i = 0; i < modes.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", i, ": ", ToString(modes[i]));
  }
  return text;
}

QuorumView AskModes(const std::vector<std::string>& addresses) {
  QuorumView view;
  for (const std::string& address : addresses) view.modes.push_back(AskMode(address, kModeTimeout));
  return view;
}

absl::Status WaitForView(const std::function<QuorumView()>& look, bool (QuorumView::*holds)() const,
                         absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (QuorumView view = look(); !(view.*holds)(); view = look()) {
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrFormat("the ensemble is not whole after %s: %s",
                                                         absl::FormatDuration(timeout),
                                                         view.Describe()));
    }
    absl::SleepFor(kPollInterval);
  }
  return absl::OkStatus();
}

}  // namespace zkrecipes::testing
