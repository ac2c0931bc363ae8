// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/global_flags.h"

namespace zkr {

CLI::Option* AddDuration(CLI::App& app, const std::string& names, absl::Duration& value,
                         const std::string& help) {
  const auto parse = [&value](const CLI::results_t& texts) {
    return absl::ParseDuration(texts.back(), &value) && value >= absl::ZeroDuration();
  };
  return app.add_option(names, parse, help)->type_name("DURATION")->expected(1);
}

void AddGlobalFlags(CLI::App& app, GlobalFlags& flags) {
  app.add_option("--servers", flags.servers, "HOST:PORT,...[/NAMESPACE]")->envname("ZKR_SERVERS");
  AddDuration(app, "--session-timeout", flags.session_timeout,
              "how long the ensemble waits for us before it gives us up (10s)");
  app.add_option("--dialect", flags.dialect, "how nodes are named (curator)")
      ->check(CLI::IsMember({"curator", "kazoo"}));
  app.add_flag("--json", flags.json, "print JSON");
}

zkrecipes::ClientOptions ClientOptionsFrom(const GlobalFlags& flags) {
  zkrecipes::ClientOptions options;
  options.servers = flags.servers;
  options.session_timeout = flags.session_timeout;
  options.dialect =
      flags.dialect == "kazoo" ? zkrecipes::NameDialect::kKazoo : zkrecipes::NameDialect::kCurator;
  return options;
}

}  // namespace zkr
