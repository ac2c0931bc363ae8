// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/global_flags.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/zk/path.h"

namespace zkr {

void RefuseUsage(const std::string& name, const std::string& message) {
  throw CLI::ValidationError(name, message);
}

CLI::Option* AddDuration(CLI::App& app, const std::string& names, absl::Duration& value,
                         const std::string& help) {
  const auto parse = [names, &value](const CLI::results_t& texts) {
    const std::string quoted = absl::StrCat("\"", texts.back(), "\"");
    if (!absl::ParseDuration(texts.back(), &value)) {
      RefuseUsage(names, quoted + " is no duration: write a number and a unit, as in 500ms or 10s");
    }
    if (value < absl::ZeroDuration()) RefuseUsage(names, quoted + " is negative");
    return true;
  };
  return app.add_option(names, parse, help)->type_name("DURATION")->expected(1);
}

std::string PlainHelp::make_option_opts(const CLI::Option* option) const {
  const std::string type = option->get_type_name();
  return type.empty() ? "" : " " + type;
}

void AddGlobalFlags(CLI::App& app, GlobalFlags& flags) {
  app.add_option("--servers", flags.servers,
                 "The ensemble, and where in its tree paths begin\n(default: ZKR_SERVERS)")
      ->envname("ZKR_SERVERS")
      ->type_name("HOST:PORT,...[/NAMESPACE]");
  AddDuration(app, "--session-timeout", flags.session_timeout,
              "How long the ensemble waits for a silent client (10s)");
  app.add_option("--dialect", flags.dialect, "How nodes are named: curator or kazoo (curator)")
      ->type_name("NAME")
      ->check([](const std::string& name) {
        return name == "curator" || name == "kazoo" ? ""
                                                    : "\"" + name + "\" is not curator or kazoo";
      });
  app.add_flag("--json", flags.json, "Print JSON");
}

absl::StatusOr<std::shared_ptr<zkrecipes::Client>> Connect(const GlobalFlags& flags,
                                                           std::stop_token cancel) {
  if (flags.servers.empty()) {
    return absl::InvalidArgumentError("no servers are named: use --servers or set ZKR_SERVERS");
  }
  zkrecipes::ClientOptions options;
  options.servers = flags.servers;
  options.session_timeout = flags.session_timeout;
  options.lease.wait_for_proof = true;  // a command may not be one that can run twice
  options.dialect =
      flags.dialect == "kazoo" ? zkrecipes::NameDialect::kKazoo : zkrecipes::NameDialect::kCurator;
  return zkrecipes::Client::Connect(std::move(options), {flags.session_timeout, std::move(cancel)});
}

absl::Status CheckPath(const std::string& path) {
  return zkrecipes::zk::ValidatePath("path", path);
}

}  // namespace zkr
