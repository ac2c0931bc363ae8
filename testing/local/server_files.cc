// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_files.h"

#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "testing/local/free_ports.h"

namespace zkrecipes::testing {
namespace {

namespace fs = std::filesystem;

absl::Status WriteFile(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::trunc);
  out << content;
  out.close();
  if (out) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", path));
}

std::string Config(const LocalEnsembleOptions& options, const std::vector<ServerSpec>& all,
                   const ServerSpec& spec) {
  std::map<std::string, std::string> config = {
      {"4lw.commands.whitelist", "*"},
      {"admin.enableServer", "false"},  // it would listen on 0.0.0.0
      {"clientPort", absl::StrCat(spec.client_port)},
      {"clientPortAddress", spec.address},
      {"dataDir", spec.directory + "/data"},
      {"electionPortBindRetry", "1"},  // a taken port: end at once
      {"extendedTypesEnabled", "true"},
      {"forceSync", options.force_sync ? "yes" : "no"},
      {"initLimit", absl::StrCat(options.init_limit)},
      {"maxClientCnxns", "0"},  // no limit
      {"maxSessionTimeout", absl::StrCat(absl::ToInt64Milliseconds(options.max_session_timeout))},
      {"preAllocSize", "1024"},  // kB; a transaction log starts at 64 MB otherwise
      {"syncLimit", absl::StrCat(options.sync_limit)},
      {"tickTime", absl::StrCat(absl::ToInt64Milliseconds(options.tick))},
  };
  if (options.min_session_timeout != absl::ZeroDuration()) {
    config["minSessionTimeout"] =
        absl::StrCat(absl::ToInt64Milliseconds(options.min_session_timeout));
  }
  if (all.size() > 1) {
    for (const ServerSpec& peer : all) {
      config[absl::StrCat("server.", peer.id)] =
          absl::StrCat(peer.address, ":", peer.quorum_port, ":", peer.election_port);
    }
  }
  for (const auto& [key, value] : options.extra_config) config[key] = value;
  return absl::StrCat(absl::StrJoin(config, "\n", absl::PairFormatter("=")), "\n");
}

}  // namespace

std::string ServerList(const std::vector<ServerSpec>& specs) {
  return absl::StrJoin(
      specs, ",", [](std::string* out, const ServerSpec& spec) { out->append(spec.Address()); });
}

std::string ServerDirectory(const std::string& directory, int id) {
  return absl::StrCat(directory, "/server", id);
}

absl::StatusOr<std::vector<ServerSpec>> NewServerSpecs(const LocalEnsembleOptions& options,
                                                       const std::string& directory) {
  absl::StatusOr<std::vector<int>> ports = FreePorts(3 * options.servers);
  if (!ports.ok()) return ports.status();
  std::vector<ServerSpec> specs;
  for (int i = 0; i < options.servers; ++i) {
    specs.push_back({.id = i + 1,
                     .directory = ServerDirectory(directory, i + 1),
                     .client_port = (*ports)[3 * i],
                     .quorum_port = (*ports)[3 * i + 1],
                     .election_port = (*ports)[3 * i + 2]});
    if (!options.addresses.empty()) specs.back().address = options.addresses[i];
  }
  return specs;
}

absl::Status WriteServerFiles(const LocalEnsembleOptions& options,
                              const std::vector<ServerSpec>& specs) {
  for (const ServerSpec& spec : specs) {
    const std::string data = spec.directory + "/data";
    std::error_code error;
    fs::create_directories(data, error);
    if (error) {
      return absl::InternalError(absl::StrCat("cannot make ", data, ": ", error.message()));
    }
    absl::Status status = WriteFile(spec.ConfigPath(), Config(options, specs, spec));
    status.Update(WriteFile(data + "/myid", absl::StrCat(spec.id, "\n")));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace zkrecipes::testing
