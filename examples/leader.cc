// SPDX-License-Identifier: Apache-2.0
//
// A service of which one instance at a time does a job, whose report is a file that refuses whoever led
// before. SIGTERM hands over: the job ends, then the next instance leads within two round trips.
//
//   leader --create FILE          once: the report
//   leader NAME FILE [SERVERS]    or ZKR_SERVERS; "127.0.0.1:2181"

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "zkrecipes/client.h"
#include "zkrecipes/fenced_file.h"
#include "zkrecipes/leader_election.h"

namespace {

// The leader's job: runs until it is asked to stop or no longer leads.
void Lead(const zkrecipes::Lease& lease, const std::stop_token& stop,
          zkrecipes::FencedFile& report) {
  std::cout << "leading in term " << lease.token() << std::endl;
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    if (!lease.believed()) {
      std::cout << "no longer leading" << std::endl;
      return;
    }
    // Between that look and this write the process may be frozen for an hour: then the file refuses it.
    const absl::Status written =
        report.Write(lease.pass(), "done in term " + lease.token().ToString() + "\n");
    if (!written.ok()) {
      std::cout << written << std::endl;
      return;
    }
    std::cout << "job in term " << lease.token() << std::endl;
    never.wait_for(lock, stop, std::chrono::milliseconds(100), [] { return false; });
  }
  std::cout << "handing over" << std::endl;  // the lease is released when this returns
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 3 ? argv[3] : std::getenv("ZKR_SERVERS");
  if (argc < 3 || servers == nullptr) {
    std::cerr << "usage: leader --create FILE | leader NAME FILE SERVERS\n";
    return 2;
  }
  zkrecipes::FencedFile report(argv[2]);
  if (argv[1] == std::string("--create")) {
    const absl::Status created = report.Create();
    if (!created.ok()) std::cerr << created << "\n";
    return created.ok() ? 0 : 1;
  }
  // Blocked before there is a second thread, so that only sigwait takes the signals.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread([signals, stop]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    stop.request_stop();
  }).detach();

  auto client = zkrecipes::Client::Connect({.servers = servers, .lease = {.wait_for_proof = true}},
                                           {absl::Seconds(10)});
  absl::Status ended = client.status();
  if (client.ok()) {
    zkrecipes::LeaderElection election(*client, "/examples/leader", {.id = argv[1]});
    // Continues after lost sessions and connections.
    ended = election.RunWhileLeading(
        stop.get_token(), [&](const auto& lease, auto end) { Lead(lease, end, report); });
  }
  if (!ended.ok()) std::cerr << ended << "\n";
  return ended.ok() ? 0 : 1;
}
