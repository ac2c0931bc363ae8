// SPDX-License-Identifier: Apache-2.0
//
// Sixteen shards, each with one owner among any number of instances, which counts on in the shard's
// file; the file refuses an owner that is not the latest.
//   partitions --create DIR              once
//   partitions ID DIR [SERVERS]          each instance; or ZKR_SERVERS; "127.0.0.1:2181"

#include "zkrecipes/partitions.h"

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "zkrecipes/client.h"
#include "zkrecipes/fencing/fenced_file.h"

int main(int argc, char** argv) {
  const char* servers = argc > 3 ? argv[3] : std::getenv("ZKR_SERVERS");
  if (argc < 3) return std::cerr << "usage: partitions ID DIR [SERVERS]\n", 2;
  const std::string prefix = std::string(argv[2]) + "/shard-";
  if (std::string(argv[1]) == "--create") {
    for (int i = 0; i < 16; ++i) {
      const auto made = zkrecipes::FencedFile(prefix + std::to_string(i)).Create();
      if (!made.ok()) return std::cerr << made << "\n", 1;
    }
    return 0;
  }
  std::stop_source stop;  // requested by SIGTERM
  sigset_t signals;       // blocked before there is a second thread: sigwait alone takes them
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, stop]() mutable {
    int taken;
    if (sigwait(&signals, &taken) == 0) stop.request_stop();
  }).detach();

  auto client = zkrecipes::Client::Create({.servers = servers ? servers : "127.0.0.1:2181"});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  const zkrecipes::Partitions shards(*client, "/examples/partitions", 16, {.id = argv[1]});
  const absl::Status ran = shards.Run(
      stop.get_token(),
      [&](const std::string& name, const zkrecipes::Lease& lease, std::stop_token end) {
        zkrecipes::FencedFile file(prefix + name);
        const auto last = file.Claim(lease.pass());  // no earlier owner can write any more
        absl::Status written = last.status();
        for (int count = last.ok() ? std::atoi(last->c_str()) : 0; written.ok();) {
          if (end.stop_requested() || !lease.believed()) return;
          written = file.Write(lease.pass(), std::to_string(++count));
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        std::cerr << name << ": " << written << std::endl;  // refused, or the disk fails
      });
  if (!ran.ok()) std::cerr << ran << std::endl;
  return (*client)->Close({absl::Seconds(5)}).ok() && ran.ok() ? 0 : 1;
}
