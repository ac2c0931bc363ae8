// SPDX-License-Identifier: Apache-2.0
//
// The program of `./dev demo`: worker processes take a lock in turn and write to a ledger that
// checks their fencing tokens. Meanwhile the holder is killed, the next holder is frozen, and the
// ensemble's leader is killed.

#include <cstdio>
#include <cstring>
#include <iostream>

#include "absl/strings/str_format.h"

#include "demo/crew.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace demo {
namespace {

using zkrecipes::testing::LocalEnsemble;

constexpr char kPath[] = "/demo/ledger";
constexpr int kWorkers = 4;
constexpr int kPatience = 30;  // seconds, for what should take a few

class Demo {
 public:
  explicit Demo(LocalEnsemble& ensemble) : ensemble_(ensemble), crew_(ensemble.servers(), kPath) {}

  // False if something that should have happened did not.
  bool Run() {
    crew_.Print(
        absl::StrFormat("%d workers contend for %s on %s", kWorkers, kPath, ensemble_.servers()));
    crew_.Start(kWorkers);
    return Turns(kWorkers) && KillHolder() && FreezeHolder() && KillLeader() && ShowQueue();
  }

  int Summarise(bool ran) {
    const Crew::Tally tally = crew_.tally();
    const Ledger& ledger = tally.ledger;
    const bool good = ran && tally.tokens_grew && ledger.refused() > 0 && ledger.overlaps() == 0;
    std::printf("\n  grants                             %d\n", tally.grants);
    std::printf("  tokens strictly growing            %s\n", tally.tokens_grew ? "yes" : "NO");
    std::printf("  writes accepted                    %d\n", ledger.accepted());
    std::printf("  stale writes refused               %d\n", ledger.refused());
    std::printf("  overlaps accepted by the ledger    %d\n", ledger.overlaps());
    std::printf("\n%s\n", good ? "All held." : "SOMETHING DID NOT HOLD.");
    return good ? 0 : 1;
  }

 private:
  // The worker that is granted the lock next; -1 if there is none.
  int Turn() {
    const int holder = crew_.AwaitHolder(kPatience);
    if (holder < 0) Failed("nobody was granted the lock");
    return holder;
  }
  bool Turns(int n) {
    for (int i = 0; i < n; ++i) {
      if (Turn() < 0) return false;
    }
    return true;
  }

  bool KillHolder() {
    const int holder = Turn();
    if (holder < 0) return false;
    crew_.Kill(holder);
    if (!Turns(1)) return false;
    crew_.Print("<< its session expired, the next in the queue was granted the lock");
    return true;
  }

  bool FreezeHolder() {
    const int holder = Turn();
    if (holder < 0) return false;
    crew_.Pause(holder);
    // Its successor must have written before it wakes up.
    if (!Turns(1)) return false;
    crew_.Resume(holder);
    if (!crew_.AwaitStaleWrite(holder, kPatience)) {
      return Failed("the woken worker's write was not refused");
    }
    return true;
  }

  bool KillLeader() {
    const auto leader = ensemble_.Leader();
    if (!leader.ok()) return Failed(leader.status().ToString());
    crew_.Print(absl::StrFormat(">> SIGKILL to the ensemble's leader, server %d", *leader + 1));
    if (absl::Status killed = ensemble_.Kill(*leader); !killed.ok()) {
      return Failed(killed.ToString());
    }
    if (!ensemble_.WaitForQuorum(absl::Seconds(kPatience)).ok()) return Failed("no new leader");
    crew_.Print("<< the ensemble has a new leader");
    if (!Turns(3)) return false;
    crew_.Print("<< the work goes on");
    return true;
  }

  bool ShowQueue() {
    auto client =
        zkrecipes::Client::Connect({.servers = ensemble_.servers()}, {absl::Seconds(kPatience)});
    if (!client.ok()) return Failed(client.status().ToString());
    const auto queue = zkrecipes::ListContenders(**client, kPath, {absl::Seconds(kPatience)});
    if (!queue.ok()) return Failed(queue.status().ToString());
    crew_.Print("the queue now:");
    for (const zkrecipes::ContenderInfo& c : *queue) {
      crew_.Print(absl::StrFormat("  %d  %-7s  token %s  pid %d", c.position,
                                  c.holds ? "holds" : "waits", c.token.ToString(), c.owner.pid));
    }
    return true;
  }

  bool Failed(const std::string& why) {
    crew_.Print("FAILED: " + why);
    return false;
  }

  LocalEnsemble& ensemble_;
  Crew crew_;
};

int RunDemo() {
  std::printf("starting three ZooKeeper servers ...\n");
  std::fflush(stdout);
  auto ensemble = LocalEnsemble::Start({.servers = 3});
  if (!ensemble.ok()) {
    std::cerr << ensemble.status() << "\n";
    return 1;
  }
  Demo show(**ensemble);
  const bool ran = show.Run();
  return show.Summarise(ran);
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--worker") == 0) return demo::RunWorker(argv[2], argv[3]);
  return demo::RunDemo();
}
