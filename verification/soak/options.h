// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_OPTIONS_H_
#define ZKRECIPES_VERIFICATION_SOAK_OPTIONS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace zkrecipes::soak {

struct Options {
  absl::Duration length = absl::Minutes(5);
  uint64_t seed = 1;  // chooses the faults and whom they hit, and what workers do
  bool docker = false;
  std::string report;               // a new directory, for histories, logs, verdict and timeline
  std::vector<std::string> faults;  // by name; empty: all that can be done to these servers
  int workers = 5;
  bool one_each = false;  // ends when each fault was done once, however long that takes
};

inline constexpr absl::Duration kSessionTimeout = absl::Seconds(4);
inline constexpr absl::Duration kTick = absl::Milliseconds(500);

// The options, or the status to exit with: the error, or the help that was asked for, is printed.
std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_OPTIONS_H_
