// SPDX-License-Identifier: Apache-2.0
//
// A service of which one instance at a time does a job. SIGTERM hands over: the job is brought to an end,
// then the next instance leads within two round trips.
//
//   leader NAME SERVERS      or ZKR_SERVERS; "127.0.0.1:2181"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "zkrecipes/client.h"
#include "zkrecipes/leader_election.h"

namespace {

// What only the leader may do, until it is asked to stop or leads no more.
void Lead(const zkrecipes::Lease& lease, const std::stop_token& stop) {
  std::cout << "leading in term " << lease.token() << std::endl;
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    if (lease.state() == zkrecipes::Lease::State::kLost) {
      std::cout << "no longer leading" << std::endl;
      return;
    }
    // Give whatever the job writes to the token, and let it refuse lower ones.
    std::cout << "job in term " << lease.token() << std::endl;
    never.wait_for(lock, stop, std::chrono::milliseconds(100), [] { return false; });
  }
  std::cout << "handing over" << std::endl;  // the lease is released when this returns
}

int Run(const std::shared_ptr<zkrecipes::Client>& client, const std::string& name,
        const sigset_t& ends) {
  zkrecipes::LeaderElection election(client, "/examples/leader", {.id = name});
  absl::Status ended;
  std::jthread candidate([&](const std::stop_token& stop) {
    // Lost sessions and connections do not end it.
    ended = election.RunWhileLeading(stop, [&](const auto& lease) { Lead(lease, stop); });
    if (!ended.ok()) kill(getpid(), SIGTERM);
  });
  int signal = 0;
  sigwait(&ends, &signal);
  candidate.request_stop();
  candidate.join();
  if (!ended.ok()) std::cerr << ended << "\n";
  return ended.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 2 ? argv[2] : std::getenv("ZKR_SERVERS");
  if (argc < 2 || servers == nullptr) {
    std::cerr << "usage: leader NAME SERVERS\n";
    return 2;
  }
  // Before there is a second thread, so that none takes the signal.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  auto client = zkrecipes::Client::Connect({.servers = servers}, {absl::Seconds(10)});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 1;
  }
  return Run(*client, argv[1], ends);
}
