// SPDX-License-Identifier: Apache-2.0

// zkr lock without the lock: runs CMD under a guard, for tests that need no server.
//
//   zkr-supervise auto|cgroup|process GRACE REMAINING [FILE] -- CMD ARG...
//
// The lock always has REMAINING left, except that it runs down while a file named FILE.doubt
// exists. It is lost when a file named FILE.loss appears. Exits with CMD's status, 70 if the lock
// was lost or given up, 126 if CMD was not run. With ZKR_TEST_RUNS=N in the environment one
// supervisor runs CMD N times; the driver ends as the last of these runs does.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/boot_time.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/supervisor.h"

namespace zkrecipes::zkr::supervisor {
namespace {

absl::Duration ParseOrZero(const std::string& text) {
  absl::Duration duration;
  absl::ParseDuration(text, &duration);
  return duration;
}

GuardKind ParseKind(const std::string& text) {
  if (text == "cgroup") return GuardKind::kCgroup;
  return text == "process" ? GuardKind::kProcess : GuardKind::kAuto;
}

bool Exists(const std::string& file) { return access(file.c_str(), F_OK) == 0; }

// The loss comes through a file, since all signals belong to CMD.
void WaitForLoss(const std::string& file, std::stop_source lost, std::stop_token end) {
  while (!end.stop_requested() && !Exists(file)) poll(nullptr, 0, 5);
  if (!end.stop_requested()) lost.request_stop();
}

class DoubtfulHold {
 public:
  DoubtfulHold(absl::Duration whole, std::string doubt) : whole_(whole), doubt_(std::move(doubt)) {}

  Hold operator()() {
    const base::BootTime now = base::BootNow();
    const bool confirmed = !Exists(doubt_);
    if (confirmed) deadline_ = now + whole_;
    return {confirmed, std::max(deadline_ - now, absl::ZeroDuration())};
  }

 private:
  const absl::Duration whole_;
  const std::string doubt_;
  base::BootTime deadline_;
};

// The outcome of the last of `runs`.
Outcome RunUnderAHold(Supervisor& supervisor, int runs, absl::Duration remaining,
                      const std::string& file) {
  std::stop_source lost;
  const std::jthread loser([&](std::stop_token end) { WaitForLoss(file + ".loss", lost, end); });
  const WhileHeld held = {.environment = {"ZKR_TEST=a b=c", "ZKR_EMPTY="},
                          .lost = lost.get_token(),
                          .hold = DoubtfulHold(remaining, file + ".doubt"),
                          .margin = std::min(remaining / 10, absl::Seconds(1))};
  Outcome outcome = supervisor.Run(held);
  while (--runs > 0 && supervisor.CanRunAgain()) outcome = supervisor.Run(held);
  return outcome;
}

int Main(const std::vector<std::string>& words) {
  const auto split = std::find(words.begin(), words.end(), "--");
  if (split == words.end() || split - words.begin() < 3) return 64;
  const char* runs = std::getenv("ZKR_TEST_RUNS");
  auto supervisor = Supervisor::Prepare({{split + 1, words.end()},
                                         ParseOrZero(words[1]),
                                         ParseKind(words[0]),
                                         "lock",
                                         runs != nullptr});
  if (!supervisor.ok()) {
    std::fprintf(stderr, "%s\n", std::string(supervisor.status().message()).c_str());
    return 126;
  }
  const Outcome outcome =
      RunUnderAHold(**supervisor, runs == nullptr ? 1 : std::atoi(runs), ParseOrZero(words[2]),
                    split - words.begin() > 3 ? words[3] : "/nonexistent/file");
  supervisor->reset();
  EndBy(outcome.later != 0 ? outcome.later : outcome.signal, outcome.typed);
  if (outcome.lost) return 70;
  if (outcome.end == Outcome::End::kNotRun) {
    std::fprintf(stderr, "not run: %s\n", std::strerror(outcome.code));
    return 126;
  }
  return outcome.end == Outcome::End::kKilled ? 128 + outcome.code : outcome.code;
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor

int main(int argc, char** argv) {
  zkrecipes::zkr::supervisor::OccupyStandardStreams();
  zkrecipes::zkr::supervisor::BeInitIfFirst();
  return zkrecipes::zkr::supervisor::Main({argv + 1, argv + argc});
}
