// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "zkrecipes/contenders.h"

namespace zkr {
namespace {

using nlohmann::ordered_json;
using zkrecipes::ContenderInfo;

std::string SessionText(int64_t session) {
  return absl::StrFormat("0x%x", static_cast<uint64_t>(session));
}

std::string OwnerText(const zkrecipes::OwnerInfo& owner) {
  const std::string where =
      owner.host.empty()
          ? ""
          : absl::StrCat(owner.host, owner.pid > 0 ? absl::StrCat(":", owner.pid) : "");
  if (owner.id.empty()) return where.empty() ? "-" : where;
  return where.empty() ? owner.id : absl::StrCat(owner.id, "@", where);
}

ordered_json OwnerJson(const zkrecipes::OwnerInfo& owner) {
  ordered_json json = ordered_json::object();
  if (!owner.id.empty()) json["id"] = owner.id;
  if (!owner.host.empty()) json["host"] = owner.host;
  if (owner.pid > 0) json["pid"] = owner.pid;
  return json;
}

void PrintJson(const std::string& path, const std::vector<ContenderInfo>& queue) {
  ordered_json contenders = ordered_json::array();
  for (const ContenderInfo& c : queue) {
    contenders.push_back(
        {{"position", c.position},
         {"mode", c.mode},
         {"state", c.holds ? "held" : "waiting"},
         {"token", c.token.value()},
         {"node_czxid", c.node_czxid},
         {"node", c.node},
         {"session", SessionText(c.session)},
         {"owner", OwnerJson(c.owner)},
         {"since", absl::FormatTime(absl::RFC3339_sec, c.since, absl::UTCTimeZone())},
         {"dialect", c.dialect == zkrecipes::NameDialect::kKazoo ? "kazoo" : "curator"}});
  }
  const ordered_json all = {{"path", path}, {"contenders", contenders}};
  std::puts(all.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

using Row = std::vector<std::string>;

Row RowOf(const ContenderInfo& c) {
  return {absl::StrCat(c.position),
          c.mode,
          c.holds ? "held" : "waiting",
          c.token.ToString(),
          OwnerText(c.owner),
          SessionText(c.session),
          absl::FormatTime("%Y-%m-%d %H:%M:%S", c.since, absl::LocalTimeZone()),
          c.node};
}

void PrintTable(const std::vector<ContenderInfo>& queue) {
  std::vector<Row> rows = {{"POS", "MODE", "STATE", "TOKEN", "OWNER", "SESSION", "SINCE", "NODE"}};
  for (const ContenderInfo& contender : queue) rows.push_back(RowOf(contender));
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      absl::StrAppend(&line, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    std::puts((line + row.back()).c_str());
  }
}

int List(const GlobalFlags& flags, const std::string& path) {
  auto client = zkrecipes::Client::Connect(ClientOptionsFrom(flags), {flags.session_timeout});
  if (!client.ok()) {
    Complain(client.status());
    return ExitCodeFor(client.status());
  }
  const auto queue = zkrecipes::ListContenders(**client, path, {flags.session_timeout});
  if (!queue.ok()) {
    Complain(queue.status());
    return absl::IsDeadlineExceeded(queue.status()) ? kUnavailable : ExitCodeFor(queue.status());
  }
  flags.json ? PrintJson(path, *queue) : PrintTable(*queue);
  return kDone;
}

}  // namespace

void RegisterLsCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand("ls", "Show the queue of a path");
  command->set_version_flag("--version", app.version());
  auto path = std::make_shared<std::string>();
  command->add_option("PATH", *path, "the recipe's path")->required();
  command->callback([&flags, &exit_code, path] { exit_code = List(flags, *path); });
}

}  // namespace zkr
