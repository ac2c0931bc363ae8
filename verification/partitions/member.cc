// SPDX-License-Identifier: Apache-2.0

#include "verification/partitions/member.h"

#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/base/boot_time.h"
#include "zkrecipes/client.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::verification {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(20);
constexpr int kStepsPerLine = 5;

// One write for a line: many threads tell, and a killed process has told whole lines.
void Tell(const char* what, const std::string& partition, base::BootTime when) {
  const std::string line =
      absl::StrCat(what, " ", absl::ToInt64Nanoseconds(when.since_boot()), " ", partition, "\n");
  (void)!write(STDOUT_FILENO, line.data(), line.size());
}

// The moment is taken before the question: what is believed later was believed then.
void Work(const std::string& name, const Lease& lease, const std::stop_token& end) {
  Tell("own", name, base::BootNow());
  for (int step = 0; !end.stop_requested(); ++step) {
    const base::BootTime now = base::BootNow();
    if (lease.believed() && step % kStepsPerLine == 0) Tell("work", name, now);
    absl::SleepFor(kStep);
  }
  Tell(lease.believed() ? "asked" : "lost", name, base::BootNow());
  Tell("gave", name, base::BootNow());
}

}  // namespace

int RunMember(const std::string& id, const std::string& servers, double session_timeout) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before there is a second thread
  std::stop_source stop;
  std::thread([signals, stop]() mutable {
    int taken;
    if (sigwait(&signals, &taken) == 0) stop.request_stop();
  }).detach();
  const auto client =
      Client::Create({.servers = servers, .session_timeout = absl::Seconds(session_timeout)});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  const absl::Status ran =
      Partitions(*client, "/service", kPartitions, {.id = id}).Run(stop.get_token(), Work);
  if (!ran.ok()) return std::cerr << ran << "\n", 1;
  return (*client)->Close({absl::Seconds(10)}).ok() ? 0 : 1;
}

}  // namespace zkrecipes::verification
