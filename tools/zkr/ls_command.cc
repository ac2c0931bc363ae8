// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "tools/zkr/owner.h"
#include "tools/zkr/table.h"
#include "zkrecipes/contenders.h"

namespace zkr {
namespace {

using nlohmann::ordered_json;
using zkrecipes::ContenderInfo;

std::string SessionText(std::int64_t session) {
  return absl::StrFormat("0x%x", static_cast<std::uint64_t>(session));
}

ordered_json ContenderJson(const ContenderInfo& c) {
  return {{"position", c.position},
          {"mode", c.mode},
          {"state", c.holds ? "held" : "waiting"},
          {"token", c.token.value()},
          {"node_czxid", c.node_czxid},
          {"node", c.node},
          {"session", SessionText(c.session)},
          {"owner", OwnerJson(c.owner)},
          {"dialect", c.dialect == zkrecipes::NameDialect::kKazoo ? "kazoo" : "curator"},
          {"since", absl::FormatTime(absl::RFC3339_full, c.since, absl::UTCTimeZone())}};
}

void PrintJson(const std::string& path, const std::vector<ContenderInfo>& queue) {
  ordered_json contenders = ordered_json::array();
  for (const ContenderInfo& c : queue) contenders.push_back(ContenderJson(c));
  const ordered_json all = {{"path", path}, {"contenders", std::move(contenders)}};
  std::puts(ToLine(all).c_str());
}

void PrintTable(const std::string& path, const std::vector<ContenderInfo>& queue) {
  if (queue.empty()) return Complain(absl::StrCat("nobody holds or waits for ", path));
  std::vector<TableRow> rows = {
      {"POS", "MODE", "STATE", "TOKEN", "OWNER", "SESSION", "SINCE", "NODE"}};
  for (const ContenderInfo& c : queue) {
    rows.push_back({absl::StrCat(c.position), c.mode, c.holds ? "held" : "waiting",
                    c.token.ToString(), OwnerText(c.owner), SessionText(c.session),
                    absl::FormatTime("%Y-%m-%d %H:%M:%S", c.since, absl::LocalTimeZone()), c.node});
  }
  std::fputs(FormatTable(rows).c_str(), stdout);
}

int Refuse(const absl::Status& status) {
  Complain(status);
  // There is nothing to wait for but the network.
  return absl::IsDeadlineExceeded(status) ? kUnavailable : ExitCodeFor(status);
}

int List(const GlobalFlags& flags, const std::string& path) {
  if (flags.command) RefuseUsage("CMD", "ls runs none, but there is a --");
  if (const absl::Status checked = CheckPath(path); !checked.ok()) return Refuse(checked);
  const auto client = Connect(flags);
  if (!client.ok()) return Refuse(client.status());
  const auto queue = zkrecipes::ListContenders(**client, path, {flags.session_timeout});
  if (!queue.ok()) return Refuse(queue.status());
  flags.json ? PrintJson(path, *queue) : PrintTable(path, *queue);
  return kDone;
}

}  // namespace

void RegisterLsCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand("ls", "Show who holds a lock and who waits for it");
  command->footer(
      "\nExit status: 0, also if nobody is there or the path does not exist; 69 no ensemble;\n"
      "77 permission denied; 64 bad arguments. The global options of `zkr --help`, such as "
      "--json,\n"
      "may stand before or after `ls`.");
  auto path = std::make_shared<std::string>();
  command->add_option("PATH", *path, "The lock: a path such as /locks/backup")
      ->required()
      ->type_name("");
  command->callback([&flags, &exit_code, path] { exit_code = List(flags, *path); });
}

}  // namespace zkr
