// SPDX-License-Identifier: Apache-2.0

#include "verification/partitions/member.h"

#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <iostream>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

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

// For sigwait. Before there is a second thread.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// One of several members of this process.
class OneOfMany {
 public:
  OneOfMany(std::string id, std::shared_ptr<Client> client, int partitions)
      : id_(std::move(id)), client_(std::move(client)), partitions_(partitions) {}
  void Start() {
    stop_ = std::stop_source();
    thread_ = std::thread([this] {
      const absl::Status ran =
          Partitions(client_, "/service", partitions_, {.id = id_})
              .Run(stop_.get_token(), [this](const std::string& name, const Lease&,
                                             const std::stop_token& end) { Hold(name, end); });
      if (!ran.ok()) std::cerr << ran << std::endl;
    });
  }
  void Stop() { stop_.request_stop(); }
  void Restart() {
    Stop();
    thread_.join();
    Tell("left", "- " + id_, base::BootNow());
    Start();
  }
  void Join() { thread_.join(); }

 private:
  void Hold(const std::string& name, const std::stop_token& end) const {
    Tell("own", name + " " + id_, base::BootNow());
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, end, [] { return false; });
    Tell("gave", name + " " + id_, base::BootNow());
  }

  const std::string id_;
  const std::shared_ptr<Client> client_;
  const int partitions_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace

int RunMembers(const std::string& process, const std::string& servers, double session_timeout,
               int each, int partitions) {
  const sigset_t signals = BlockSignals();
  std::vector<std::shared_ptr<Client>> clients;
  for (int i = 0; i < each; ++i) {
    const auto client =
        Client::Create({.servers = servers, .session_timeout = absl::Seconds(session_timeout)});
    if (!client.ok()) return std::cerr << client.status() << "\n", 1;
    clients.push_back(*client);
  }
  std::list<OneOfMany> members;
  for (const auto& client : clients) {
    const std::string id = absl::StrCat(process, "-", members.size());
    members.emplace_back(id, client, partitions).Start();
  }
  int taken = 0;
  for (auto next = members.begin(); sigwait(&signals, &taken) == 0 && taken != SIGTERM;) {
    next->Restart();
    if (++next == members.end()) next = members.begin();
  }
  for (OneOfMany& member : members) member.Stop();
  for (OneOfMany& member : members) member.Join();
  for (const auto& client : clients) (void)client->Close({absl::Seconds(10)});
  return 0;
}

int RunMember(const std::string& id, const std::string& servers, double session_timeout) {
  const sigset_t signals = BlockSignals();
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
