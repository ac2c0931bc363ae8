// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/flags.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/credentials.h"
#include "tools/zkr/options.h"
#include "tools/zkr/result.h"

namespace zkrecipes::zkr {

namespace {

void AddTlsFlags(CLI::App& app, TlsOptions& tls) {
  const auto add = [&app](const char* name, std::string& value, const char* help,
                          const char* variable, const char* type) {
    app.add_option(name, value, absl::StrCat(help, "\n(default: ", variable, ")"))
        ->envname(variable)
        ->type_name(type);
  };
  add("--tls-ca", tls.ca_file,
      "Connect by TLS: the authorities of the servers' certificates, in PEM", "ZKR_TLS_CA", "FILE");
  add("--tls-cert", tls.certificate_file, "zkr's own certificate, where servers ask for one",
      "ZKR_TLS_CERT", "FILE");
  add("--tls-key", tls.key_file, "The key of that", "ZKR_TLS_KEY", "FILE");
  add("--tls-crl", tls.crl_file, "Lists of revoked certificates", "ZKR_TLS_CRL", "FILE");
  add("--tls-server-name", tls.server_name,
      "The name in all servers' certificates, if it is not the one they are listed by",
      "ZKR_TLS_SERVER_NAME", "NAME");
}

}  // namespace

void AddGlobalFlags(CLI::App& app, commands::GlobalFlags& flags) {
  app.add_option("--servers", flags.servers,
                 "The servers; optionally the node below which paths begin\n"
                 "(default: ZKR_SERVERS)")
      ->envname("ZKR_SERVERS")
      ->type_name("HOST:PORT,...[/NAMESPACE]");
  AddDuration(app, "--session-timeout", flags.session_timeout,
              "How long the ensemble waits for a silent client (10s)");
  app.add_option("--dialect", flags.dialect, "How nodes are named (curator)")
      ->type_name("curator|kazoo")
      ->check([](const std::string& name) {
        return name == "curator" || name == "kazoo" ? ""
                                                    : "\"" + name + "\" is not curator or kazoo";
      });
  app.add_flag("--json", flags.json, "Print JSON");
  const auto read_users = [&flags](const CLI::results_t& files) {
    absl::StatusOr<std::vector<std::string>> users = commands::ReadCredentials(files.back());
    if (!users.ok()) RefuseUsage("--digest-file", std::string(users.status().message()));
    flags.users = *std::move(users);
    return true;
  };
  app.add_option("--digest-file", read_users,
                 "A file with the users whose rights zkr has, one user:password a line\n"
                 "(default: ZKR_DIGEST_FILE)")
      ->expected(1)
      ->envname("ZKR_DIGEST_FILE")
      ->type_name("FILE");
  AddTlsFlags(app, flags.tls);
  auto* quiet = app.add_flag("-q,--quiet", flags.quiet, "Do not tell of waits and outages");
  app.add_option_function<std::string>(
         "--log-format",
         [](const std::string& format) {
           if (format == "json") LogAsJson();
         },
         "How diagnostics on stderr are written: as text, or one JSON object a line")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json");
  app.add_flag("--verbose", flags.verbose, "Tell of them at once, not after a second")
      ->excludes(quiet);
}

void AddCommandFlags(CLI::App& command, commands::CommandFlags& flags,
                     const std::string& path_help) {
  command.formatter(std::make_shared<CommandHelp>());
  AddPath(command, flags.path, path_help);
  AddDuration(command, "--grace", flags.grace,
              "Time between SIGTERM and SIGKILL, if the lease lasts that long (5s)");
  auto* probe = command
                    .add_option("--probe", flags.probe,
                                "A shell command that succeeds while CMD works: without a success\n"
                                "within --alive-within CMD is ended and the lock given up")
                    ->type_name("COMMAND");
  AddDuration(command, "--alive-within", flags.alive_within,
              "See --probe, which runs four times in this time (30s)")
      ->needs(probe);
  command.add_flag("--beside-blind", flags.beside_blind,
                   "Also beside other libraries' contenders that do not see this one");
  AddNumber(command, "--status-fd", flags.status_fd, INT_MAX,
            "Write one JSON object to this descriptor at the end");
  const std::map<std::string, supervisor::GuardKind> kinds = {
      {"auto", supervisor::GuardKind::kAuto},
      {"cgroup", supervisor::GuardKind::kCgroup},
      {"process", supervisor::GuardKind::kProcess}};
  auto* guard =
      command
          .add_option("--guard", flags.guard,
                      "How CMD's tree is kept together, to be killed: by a cgroup where one\n"
                      "can be made (auto), by a cgroup, or by its processes' parents (process)")
          ->type_name("auto|cgroup|process")
          ->transform(CLI::CheckedTransformer(kinds).description(""));
  command
      .add_flag_callback(
          "--isolate", [&flags] { flags.guard = supervisor::GuardKind::kIsolate; },
          "Run CMD in a PID namespace with a /proc of its own (root)")
      ->excludes(guard);
}

void FinishCommand(const CLI::App& command, const std::optional<std::vector<std::string>>& cmd,
                   commands::CommandFlags& flags) {
  if (!cmd) RefuseUsage("CMD", absl::StrCat("missing: write ", UsageOf(command)));
  if (cmd->empty()) RefuseUsage("CMD", "missing after --");
  if (flags.grace == absl::InfiniteDuration()) RefuseUsage("--grace", "must be finite");
  if (flags.alive_within <= absl::ZeroDuration()) {
    RefuseUsage("--alive-within", "must be more than zero");
  }
  flags.command = *cmd;
}

void FinishStatusFd(const commands::CommandFlags& flags) {
  if (flags.status_fd < 0) return;
  if (fcntl(flags.status_fd, F_GETFD) < 0) {
    RefuseUsage("--status-fd", absl::StrCat(flags.status_fd, " is not open"));
  }
  // It is for zkr, not for CMD: its reader would see no end while CMD's children live.
  if (flags.status_fd > STDERR_FILENO) fcntl(flags.status_fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace zkrecipes::zkr
