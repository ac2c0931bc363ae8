// SPDX-License-Identifier: Apache-2.0

// zkr lock without the lock: runs CMD under a guard, for tests that need no server.
//
//   zkr-supervise auto|namespace|process GRACE REMAINING [LOSS] -- CMD ARG...
//
// REMAINING is what the guard is told at every refresh. The lock is lost when a file named LOSS
// appears. Exits with CMD's status, 70 if the lock was lost, 126 if CMD was not run.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/supervisor.h"

namespace {

absl::Duration ParseOrZero(const std::string& text) {
  absl::Duration duration;
  absl::ParseDuration(text, &duration);
  return duration;
}

zkr::GuardKind ParseKind(const std::string& text) {
  if (text == "namespace") return zkr::GuardKind::kNamespace;
  return text == "process" ? zkr::GuardKind::kProcess : zkr::GuardKind::kAuto;
}

// The loss comes through a file, since all signals are CMD's.
void WaitForLoss(const std::string& file, std::stop_source lost, std::stop_token end) {
  while (!end.stop_requested() && access(file.c_str(), F_OK) != 0) poll(nullptr, 0, 5);
  if (!end.stop_requested()) lost.request_stop();
}

}  // namespace

int main(int argc, char** argv) {
  zkr::OccupyStandardStreams();
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto split = std::find(words.begin(), words.end(), "--");
  if (split == words.end() || split - words.begin() < 3) return 64;

  zkr::Command command{{split + 1, words.end()}, ParseOrZero(words[1]), ParseKind(words[0])};
  auto supervisor = zkr::Supervisor::Prepare(command);
  if (!supervisor.ok()) return 71;

  std::stop_source lost;
  std::jthread loser;
  if (split - words.begin() > 3) {
    loser = std::jthread([&](std::stop_token end) { WaitForLoss(words[3], lost, end); });
  }
  const absl::Duration remaining = ParseOrZero(words[2]);
  const zkr::Outcome outcome = (*supervisor)
                                   ->Run({.environment = {"ZKR_TEST=a b=c", "ZKR_EMPTY="},
                                          .lost = lost.get_token(),
                                          .remaining = [&] { return remaining; },
                                          .refresh = absl::Milliseconds(50)});
  loser = {};
  zkr::PassOnInterrupt(outcome);
  if (outcome.lost) return 70;
  if (outcome.end == zkr::Outcome::End::kNotRun) {
    std::fprintf(stderr, "not run: %s\n", std::strerror(outcome.code));
    return 126;
  }
  return outcome.end == zkr::Outcome::End::kKilled ? 128 + outcome.code : outcome.code;
}
