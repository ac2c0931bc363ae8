// SPDX-License-Identifier: Apache-2.0
//
// This library as a participant that only looks or holds: peer.h tells the protocol.

#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

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

// One write, so that the lines of several threads stay apart.
void Note(const char* what, int64_t at, const std::string& more) {
  std::ostringstream line;
  line << what << " " << at << " " << more << "\n";
  std::cout << line.str() << std::flush;
}

// When it was last believed to be held.
int64_t LastBelief(const zkrecipes::Lease& lease) {
  int64_t last = Now();
  for (int64_t at = last; lease.believed(); at = Now()) {
    last = at;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return last;
}

// Contends for ever, and works only while it believes.
[[noreturn]] void Hold(const std::string& servers, const std::string& path,
                       absl::Duration session_timeout, const std::string& me) {
  std::shared_ptr<zkrecipes::Client> client;
  for (;;) {
    while (client == nullptr) {
      auto connected =
          zkrecipes::Client::Connect({.servers = servers, .session_timeout = session_timeout});
      if (connected.ok()) client = *connected;
    }
    const auto lease = zkrecipes::Lock(client, path).Acquire();
    if (lease.ok()) {
      Note("grant", Now(), me);
      Note("lost", LastBelief(*lease), me);
    } else {
      Note("failed", Now(), me + " " + lease.status().ToString());
      client.reset();
    }
  }
}

[[noreturn]] void HoldAll(const std::vector<std::string>& words) {
  for (int i = 0; i < 2 * std::stoi(words.at(4)); ++i) {
    for (size_t j = 5; j < words.size(); ++j) {
      const std::string path = words[3] + "/" + words[j] + "-" + std::to_string(i / 2);
      std::thread(Hold, words[1], path, absl::Milliseconds(std::stoi(words[j])),
                  path + " " + std::to_string(i))
          .detach();
    }
  }
  for (;;) absl::SleepFor(absl::Hours(1));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 5 && std::string(argv[2]) == "hold") HoldAll({argv, argv + argc});
  const auto client = zkrecipes::Client::Connect(
      {.servers = argv[1], .session_timeout = absl::Milliseconds(std::atoi(argv[2]))});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  std::cout << "ready" << std::endl;
  std::string word, id, recipe, path;
  std::cin >> word >> id >> recipe >> path >> word;
  return word == "believe" ? Believe(*client, path) : 2;
}
