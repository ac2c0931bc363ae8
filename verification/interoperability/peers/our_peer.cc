// SPDX-License-Identifier: Apache-2.0
//
// This library as a participant that only looks: peer.h tells the protocol.

#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/time/clock.h"

#include "zkrecipes/lock.h"

namespace {

int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

int Believe(const std::shared_ptr<zkrecipes::Client>& client, const std::string& path) {
  std::cout << "invoke " << Now() << " " << std::endl;
  const auto lease = zkrecipes::Lock(client, path).Acquire();
  if (!lease.ok()) return std::cout << "failed 1 " << lease.status() << std::endl, 1;
  std::cout << "grant " << Now() << " " << lease->node() << " " << lease->token() << " "
            << client->session_id() << std::endl;
  for (;;) {
    const int64_t at = Now();
    const char* believed = lease->believed() ? "true" : "false";
    std::cout << "look " << at << " " << believed << " " << believed << std::endl;
    absl::SleepFor(absl::Milliseconds(5));
  }
}

}  // namespace

int main(int, char** argv) {
  const auto client = zkrecipes::Client::Connect(
      {.servers = argv[1], .session_timeout = absl::Milliseconds(std::atoi(argv[2]))});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  std::cout << "ready" << std::endl;
  std::string word, id, recipe, path;
  std::cin >> word >> id >> recipe >> path >> word;
  return word == "believe" ? Believe(*client, path) : 2;
}
