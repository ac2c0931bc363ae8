// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_GLOBAL_FLAGS_H_
#define ZKRECIPES_TOOLS_ZKR_GLOBAL_FLAGS_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/client.h"

namespace zkr {

// What every command takes, before or after its name.
struct GlobalFlags {
  std::string servers;
  absl::Duration session_timeout = absl::Seconds(10);
  std::string dialect = "curator";
  bool json = false;
};

void AddGlobalFlags(CLI::App& app, GlobalFlags& flags);

// An option of Go's and Abseil's duration style ("500ms", "10s", "1m30s"), not negative. Any other
// text is a usage error that names the option.
CLI::Option* AddDuration(CLI::App& app, const std::string& names, absl::Duration& value,
                         const std::string& help);

zkrecipes::ClientOptions ClientOptionsFrom(const GlobalFlags& flags);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_GLOBAL_FLAGS_H_
