// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_LOCK_FIGURES_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_LOCK_FIGURES_FIXTURE_H_

#include <cstdint>
#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/stall.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {

// A session timeout so long that no beat, ping or watch on a contender's own node is sent while
// requests are counted: the first is due after a fortieth of it.
inline constexpr absl::Duration kQuiet = absl::Hours(1);

// Measures what recipes cost on a real server, by its own counters. One, and no quorum: 3.8.0's
// members may forget to answer a request until another one comes (ZOOKEEPER-4537), and here none
// does for minutes.
class FiguresTest : public ClientTest {
 protected:
  static void SetUpTestSuite() {
    SharedEnsemble::Options().servers = 1;
    SharedEnsemble::Options().max_session_timeout = kQuiet;
    // A lock's container that went between a release and the next acquire would cost that three
    // requests more.
    SharedEnsemble::Options().container_check_interval = kQuiet;
  }

  std::shared_ptr<Client> NewQuietClient() { return NewClient({.session_timeout = kQuiet}); }
  LeaderElection Election(const std::shared_ptr<Client>& client) { return {client, node_path()}; }

  int64_t Packets() { return ensemble().PacketsReceived().value_or(-1); }

  // The number of packets that `work` sends, counted once no more arrive.
  template <typename F>
  int64_t PacketsOf(F work) {
    const int64_t before = SettledPackets();
    work();
    return SettledPackets() - before;
  }
  int64_t SettledPackets() {
    return Settled([this] { return Packets(); });
  }

  // The value that several looks in a row agree on, while what is under way could go on: deletions
  // in the background take a moment.
  template <typename F>
  int64_t Settled(F look) {
    return Undisturbed(
        [&look] {
          int64_t last = look();
          for (int same = 0; same < 4;) {
            absl::SleepFor(absl::Milliseconds(25));
            const int64_t now = look();
            same = now == last ? same + 1 : 0;
            last = now;
          }
          return last;
        },
        absl::Milliseconds(50));
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_LOCK_FIGURES_FIXTURE_H_
