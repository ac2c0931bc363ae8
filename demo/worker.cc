// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <iostream>

#include "absl/time/clock.h"

#include "demo/crew.h"
#include "zkrecipes/lock.h"

namespace demo {
namespace {

constexpr int kWritesPerTurn = 4;
constexpr absl::Duration kBetweenWrites = absl::Milliseconds(120);

void Say(const char* what, zkrecipes::FencingToken token) {
  std::printf("%s %s\n", what, token.ToString().c_str());
  std::fflush(stdout);
}

// The ledger's verdict, or "" when the demo is over.
std::string Write(zkrecipes::FencingToken token) {
  Say("write", token);
  std::string verdict;
  std::getline(std::cin, verdict);
  return verdict;
}

// False when the demo is over.
bool TakeTurn(zkrecipes::Lease lease) {
  Say("grant", lease.token());
  for (int i = 0; i < kWritesPerTurn; ++i) {
    absl::SleepFor(kBetweenWrites);
    const std::string verdict = Write(lease.token());
    if (verdict.empty()) return false;
    if (verdict == "accepted") continue;
    if (lease.state() == zkrecipes::Lease::State::kLost) Say("lost", lease.token());
    return true;
  }
  (void)std::move(lease).Release();
  return true;
}

}  // namespace

int RunWorker(const std::string& servers, const std::string& path) {
  auto client = zkrecipes::Client::Connect(
      {.servers = servers, .session_timeout = absl::Seconds(2)}, {absl::Seconds(30)});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 1;
  }
  zkrecipes::Lock lock(*client, path);
  for (;;) {
    auto lease = lock.Acquire({absl::Minutes(1)});
    if (!lease.ok()) {
      std::cerr << lease.status() << "\n";
      return 1;
    }
    if (!TakeTurn(*std::move(lease))) return 0;
  }
}

}  // namespace demo
