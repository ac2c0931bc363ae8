// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_FIGURES_TEST_H_
#define ZKRECIPES_INTEGRATION_FIGURES_TEST_H_

#include <cstdint>
#include <memory>

#include "absl/time/clock.h"

#include "integration/client_fixture.h"

namespace zkrecipes::integration {

// So long that no beat, ping or watch on the own node is sent while requests are counted: the first of
// them is due after a twelfth of it.
constexpr absl::Duration kQuiet = absl::Hours(1);

// What recipes cost on a real ensemble, by the servers' own counters.
class FiguresTest : public ClientTest {
 protected:
  static void SetUpTestSuite() { SharedEnsemble::Options().max_session_timeout = kQuiet; }

  std::shared_ptr<Client> NewQuietClient() { return NewClient({.session_timeout = kQuiet}); }

  int64_t Packets() { return *ensemble().PacketsReceived(); }

  // Counts what `work` sends, once nothing more comes.
  template <typename F>
  int64_t PacketsOf(F work) {
    const int64_t before = Packets();
    work();
    return SettledPackets() - before;
  }
  int64_t SettledPackets() {
    return Settled([this] { return Packets(); });
  }

  // The value that two looks in a row agree on: deletions in the background take a moment.
  template <typename F>
  int64_t Settled(F look) {
    int64_t last = look();
    for (int same = 0; same < 4;) {
      absl::SleepFor(absl::Milliseconds(25));
      const int64_t now = look();
      same = now == last ? same + 1 : 0;
      last = now;
    }
    return last;
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_FIGURES_TEST_H_
