// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_RUN_H_
#define ZKRECIPES_VERIFICATION_SOAK_RUN_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "verification/faults/catalogue.h"

namespace zkrecipes::soak {

struct SoakOptions {
  absl::Duration length = absl::Minutes(5);
  uint64_t seed = 1;                // chooses the faults and their targets, and what workers do
  std::string ensemble = "local";   // or "docker"
  std::string report;               // a new directory, for histories, logs, verdict and timeline
  std::vector<std::string> faults;  // by name; empty: all that can be done to these servers
  int workers = 5;
  bool one_each = false;  // ends when each fault was done once, however long that takes

  bool docker() const { return ensemble == "docker"; }
};

inline constexpr absl::Duration kSessionTimeout = absl::Seconds(4);
inline constexpr absl::Duration kTick = absl::Milliseconds(500);

// Workers on the stage's hosts, faults one after another for as long as the options say, then rest.
// Its records are in `options.report`, for history::ReadRunDirectory. Blocks. An error: the
// run could not be done as it should, so nothing is known. REQUIRES: that directory is there and
// has nothing but the servers' files.
absl::Status Run(const faults::Stage& stage, const SoakOptions& options);

// The lines of a server's log in which it says that a transaction has led it to another state than
// its leader. Then it shows what never was (docs/adr/0021), and nothing can be said about its
// clients. What it says while it reads its files at its start is left out: a snapshot that was
// taken while transactions went on is ahead of its name, which does no harm.
std::vector<std::string> Disagreements(const std::string& log);

// Of all servers whose files are in `directory`, each with the server's name: "server3: 13:51:57".
std::vector<std::string> DisagreementsIn(const std::string& directory);

// Faults like a deck of cards: each comes once before one comes again.
class Deck {
 public:
  // REQUIRES: there are some.
  explicit Deck(std::vector<const faults::Fault*> faults)
      : faults_(std::move(faults)), next_(faults_.size()) {}

  const faults::Fault& Draw(std::mt19937_64& random) {
    if (at_end()) {
      std::ranges::shuffle(faults_, random);
      next_ = 0;
    }
    return *faults_[next_++];
  }
  // Each has been drawn equally often.
  bool at_end() const { return next_ == faults_.size(); }

 private:
  std::vector<const faults::Fault*> faults_;
  size_t next_;
};

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_RUN_H_
