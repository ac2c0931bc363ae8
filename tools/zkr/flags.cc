// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/flags.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>

#include "absl/strings/numbers.h"

#include "lib/zk/seam/path.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/output.h"
#include "tools/zkr/result.h"

namespace zkrecipes::zkr {

void RefuseUsage(const std::string& name, const std::string& message) {
  throw CLI::ValidationError(name, message);
}

std::string PlainHelp::make_option_opts(const CLI::Option* option) const {
  const std::string type = option->get_type_name();
  return type.empty() ? "" : " " + type;
}

// In 80 columns.
std::string PlainHelp::make_option_desc(const CLI::Option* option) const {
  return absl::StrJoin(Lines(option->get_description(), 80 - get_column_width()), "\n");
}

std::string PlainHelp::make_footer(const CLI::App* app) const {
  if (app->get_footer().empty()) return "";
  return app->get_footer() + R"(
Also 64 bad arguments; 69 no ensemble; 71 the output could not be written; 73
something is used up; 77 permission denied.
The global options, such as --json, may stand before or after the command: see
`zkr --help`.
)";
}

std::string PlainHelp::make_usage(const CLI::App* app, std::string name) const {
  if (app->get_option_no_throw("--guard") == nullptr) return Formatter::make_usage(app, name);
  return absl::StrCat("Usage: ", UsageOf(*app), "\n");
}

// CLI11 does not know of CMD: what follows "--" has been taken away before it parses.
std::string UsageOf(const CLI::App& command) {
  return absl::StrCat("zkr ", command.get_name(), " [OPTIONS] PATH -- CMD [ARG...]");
}

CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& value,
                         const std::string& help) {
  const auto parse = [name, &value](const CLI::results_t& texts) {
    const std::string quoted = absl::StrCat("\"", texts.back(), "\"");
    // absl takes "5" for no duration, and so does zkr: nobody has to guess the unit.
    if (!absl::ParseDuration(texts.back(), &value)) {
      RefuseUsage(name, quoted + " is not a duration: write a number and a unit, such as 500ms");
    }
    if (value < absl::ZeroDuration()) RefuseUsage(name, quoted + " is negative");
    return true;
  };
  return app.add_option(name, parse, help)->type_name("DURATION")->expected(1);
}

CLI::Option* AddSeconds(CLI::App& app, const std::string& name, absl::Duration& value,
                        const std::string& help) {
  const auto parse = [name, &value](const CLI::results_t& texts) {
    double seconds = 0;
    // Written so that NaN is refused, too.
    if (!absl::SimpleAtod(texts.back(), &seconds) || !(seconds >= 0)) {
      RefuseUsage(name, absl::StrCat("\"", texts.back(), "\" is not a number of seconds"));
    }
    value = absl::Seconds(seconds);
    return true;
  };
  return app.add_option(name, parse, help)->type_name("SECONDS")->expected(1);
}

CLI::Validator Decimal(std::int64_t least, std::int64_t most, const std::string& wanted) {
  const auto normalize = [=](std::string& text) {
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number)) {
      return absl::StrCat("\"", text, "\" is not a decimal number");
    }
    text = std::to_string(number);
    const bool good = least <= number && number <= most;
    return good ? std::string() : absl::StrCat("\"", text, "\" is not ", wanted);
  };
  return CLI::Validator(normalize, "");
}

CLI::Option* AddPath(CLI::App& command, std::string& path, const std::string& help) {
  return command.add_option("PATH", path, help)->type_name("")->check([](const std::string& text) {
    return std::string(zk::ValidatePath("path", text).message());
  });
}

namespace {

// Each also has a variable, so that a service's settings need not repeat them in each call.
void AddTlsFlags(CLI::App& app, std::optional<TlsOptions>& tls) {
  const auto add = [&](const char* name, std::string TlsOptions::*value, const char* help,
                       const char* variable, const char* type) {
    const auto take = [&tls, value](const std::string& text) {
      // Any of them asks for TLS: a CA left out must not mean plain text.
      if (!text.empty() && !tls) tls.emplace();
      if (tls) (*tls).*value = text;
    };
    const std::string said = absl::StrCat(help, " (default: ", variable, ")");
    app.add_option_function<std::string>(name, take, said)->envname(variable)->type_name(type);
  };
  add("--tls-ca", &TlsOptions::ca_file,
      "Connect by TLS: the authorities of the servers' certificates, in PEM", "ZKR_TLS_CA", "FILE");
  add("--tls-cert", &TlsOptions::certificate_file,
      "zkr's own certificate, where servers ask for one", "ZKR_TLS_CERT", "FILE");
  add("--tls-key", &TlsOptions::key_file, "The key of that certificate", "ZKR_TLS_KEY", "FILE");
  add("--tls-crl", &TlsOptions::crl_file, "Lists of revoked certificates", "ZKR_TLS_CRL", "FILE");
  add("--tls-server-name", &TlsOptions::server_name,
      "The name in all servers' certificates, if it is not the one they are listed by",
      "ZKR_TLS_SERVER_NAME", "NAME");
}

}  // namespace

void AddGlobalFlags(CLI::App& app, commands::GlobalFlags& flags) {
  app.add_option("--servers", flags.client.servers,
                 "The servers; optionally the node below which paths begin "
                 "(default: ZKR_SERVERS)")
      ->envname("ZKR_SERVERS")
      ->type_name("HOST:PORT,...[/NAMESPACE]");
  AddDuration(app, "--session-timeout", flags.session_timeout,
              "How long the ensemble waits for a silent client (10s)");
  const auto take_dialect = [&flags](const std::string& name) {
    flags.client.dialect = name == "kazoo" ? NameDialect::kKazoo : NameDialect::kCurator;
  };
  app.add_option_function<std::string>("--dialect", take_dialect, "How nodes are named (curator)")
      ->type_name("curator|kazoo")
      ->check([](const std::string& name) {
        return name == "curator" || name == "kazoo" ? ""
                                                    : "\"" + name + "\" is not curator or kazoo";
      });
  app.add_flag("--json", flags.json, "Print JSON");
  const auto read_users = [&flags](const CLI::results_t& files) {
    // Read while options are parsed: a pipe (`<(pass show zookeeper)`) can be read only once.
    absl::StatusOr<std::vector<std::string>> users = commands::ReadCredentials(files.back());
    if (users.ok()) flags.client.digest_credentials = *std::move(users);
    if (!users.ok()) flags.no_users = std::string(users.status().message());
    return true;
  };
  // Not above: --help needs no user.
  app.parse_complete_callback([&flags] {
    if (!flags.no_users.empty()) RefuseUsage("--digest-file", flags.no_users);
  });
  app.add_option("--digest-file", read_users,
                 "A file with the users whose rights zkr has, one user:password a line "
                 "(default: ZKR_DIGEST_FILE)")
      ->expected(1)
      ->envname("ZKR_DIGEST_FILE")
      ->type_name("FILE");
  AddTlsFlags(app, flags.client.tls);
  auto* quiet = app.add_flag("-q,--quiet", flags.quiet, "Do not report waits and outages");
  app.add_option_function<std::string>(
         "--log-format",
         // At once and not at the end, so that refusals of later words are in this format, too.
         [](const std::string& format) {
           if (format == "json") LogAsJson();
         },
         "How diagnostics on stderr are written: as text, or one JSON object a line")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json");
  app.add_flag("--verbose", flags.verbose, "Report waits and outages at once, not after a second")
      ->excludes(quiet);
}

void AddCommandFlags(CLI::App& command, commands::CommandFlags& flags,
                     const std::string& path_help) {
  AddPath(command, flags.path, path_help)->required();
  AddDuration(command, "--grace", flags.grace,
              "Time between SIGTERM and SIGKILL, if the lease lasts that long (5s)");
  auto* probe = command
                    .add_option("--probe", flags.probe,
                                "A shell command that succeeds while CMD works: without a success "
                                "within --alive-within CMD is ended and the lock given up")
                    ->type_name("COMMAND");
  AddDuration(command, "--alive-within", flags.alive_within,
              "See --probe, which runs four times in this time (30s)")
      ->needs(probe);
  command.add_flag("--beside-blind", flags.beside_blind,
                   "Also beside other libraries' contenders that do not see this one");
  AddNumber(command, "--status-fd", flags.status_fd, 0, INT_MAX,
            "Write the result as one JSON object to this descriptor");
  // "auto" never fails where "process" works; the other two say what is wanted, or refuse (126).
  using enum supervisor::GuardKind;
  AddChoice(command, "--guard", flags.guard,
            {{"auto", kAuto}, {"cgroup", kCgroup}, {"process", kProcess}},
            "How CMD's tree is found when it is to be killed: by a cgroup where one can be made "
            "(auto), by a cgroup, or by its processes' parents (process)");
}

void FinishCommand(const CLI::App& command, const std::optional<std::vector<std::string>>& cmd,
                   commands::CommandFlags& flags) {
  // Without "--" a CMD's options would be taken for zkr's, so it is demanded.
  const bool may_hold = command.get_option_no_throw("--hold") != nullptr;
  if (!cmd) {
    RefuseUsage("CMD", absl::StrCat("missing: write ", UsageOf(command),
                                    may_hold ? ", or --hold to run none" : ""));
  }
  if (cmd->empty()) RefuseUsage("CMD", "missing after --");
  // After CMD's end its leftovers get the grace, and the lock is held all that time.
  if (flags.grace == absl::InfiniteDuration()) RefuseUsage("--grace", "must be finite");
  // A variable that is not set would be a probe that always succeeds.
  if (command.count("--probe") > 0 && flags.probe.empty()) RefuseUsage("--probe", "is empty");
  if (flags.alive_within <= absl::ZeroDuration()) {
    RefuseUsage("--alive-within", "must be more than zero");
  }
  flags.command = *cmd;
}

void FinishStatusFd(const commands::CommandFlags& flags) {
  // -1: not asked for.
  if (flags.status_fd < 0) return;
  // Found now and not at the end, when CMD has run and its result would be lost.
  if (fcntl(flags.status_fd, F_GETFD) < 0) {
    RefuseUsage("--status-fd", absl::StrCat(flags.status_fd, " is not open"));
  }
  // It is for zkr, not for CMD: its reader would see no end while CMD's children live.
  if (flags.status_fd > STDERR_FILENO) fcntl(flags.status_fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace zkrecipes::zkr
