// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_GLOBAL_FLAGS_H_
#define ZKRECIPES_TOOLS_ZKR_GLOBAL_FLAGS_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

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

  // What stood after the first "--", if there was one: never looked at as options.
  std::optional<std::vector<std::string>> command;
};

void AddGlobalFlags(CLI::App& app, GlobalFlags& flags);

// An option of Go's and Abseil's duration style ("500ms", "10s", "1m30s"), not negative. Any other
// text is a usage error that says so.
CLI::Option* AddDuration(CLI::App& app, const std::string& names, absl::Duration& value,
                         const std::string& help);

// How --help shows options: name, type, what it is for, and nothing of CLI11's own notes.
class PlainHelp : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
};

// Throws the usage error "NAME: MESSAGE". CLI11 reports errors by exceptions; main catches them.
[[noreturn]] void RefuseUsage(const std::string& name, const std::string& message);

// A session with the ensemble that the flags name, within the session timeout. Errors: those of
// Client::Connect, and InvalidArgument if no servers are named.
absl::StatusOr<std::shared_ptr<zkrecipes::Client>> Connect(const GlobalFlags& flags,
                                                           std::stop_token cancel = {});

// InvalidArgument for a path that no recipe takes. Nothing is sent.
absl::Status CheckPath(const std::string& path);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_GLOBAL_FLAGS_H_
