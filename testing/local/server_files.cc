// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_files.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "lib/base/unique_fd.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kLowest = 10000;  // below live well-known services

int FirstEphemeralPort() {
  int first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first > kLowest + 1000 ? first : 32768;
}

// A socket bound to the port, or none. Fails too if something listens on 0.0.0.0.
base::UniqueFd TryBind(int port) {
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (fd.get() < 0 || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return base::UniqueFd();
  }
  return fd;
}

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
          absl::StrCat(peer.address, ":", peer.quorum_port, ":", peer.election_port,
                       // Not needed in a file of its own, but seen in /zookeeper/config.
                       ":participant;", peer.address, ":", peer.client_port);
    }
  }
  for (const auto& [key, value] : options.extra_config) config[key] = value;
  return absl::StrCat(absl::StrJoin(config, "\n", absl::PairFormatter("=")), "\n");
}

}  // namespace

absl::StatusOr<std::vector<int>> FreePorts(int count) {
  constexpr int kAttempts = 1000;
  absl::BitGen random;
  const int end = FirstEphemeralPort();
  std::vector<base::UniqueFd> bound;  // held to the end, so that no port is found twice
  std::vector<int> ports;
  for (int attempt = 0; attempt < kAttempts && static_cast<int>(ports.size()) < count; ++attempt) {
    const int port = absl::Uniform(random, kLowest, end);
    base::UniqueFd fd = TryBind(port);
    if (fd.get() < 0) continue;
    bound.push_back(std::move(fd));
    ports.push_back(port);
  }
  if (static_cast<int>(ports.size()) == count) return ports;
  return absl::ResourceExhaustedError(absl::StrCat("found only ", ports.size(), " of ", count,
                                                   " free ports from ", kLowest, " to ", end - 1));
}

std::string ServerList(const std::vector<ServerSpec>& specs) {
  return absl::StrJoin(
      specs, ",", [](std::string* out, const ServerSpec& spec) { out->append(spec.Address()); });
}

std::string ServerDirectory(const std::string& directory, int id) {
  return absl::StrCat(directory, "/server", id);
}

absl::StatusOr<std::vector<ServerSpec>> NewServerSpecs(const LocalEnsembleOptions& options,
                                                       const std::string& directory) {
  std::vector<base::UniqueFd> wanted;  // held, so that none of them is found below
  for (int i = 0; options.first_port != 0 && i < options.servers; ++i) {
    wanted.push_back(TryBind(options.first_port + i));
    if (wanted.back().get() >= 0) continue;
    return absl::UnavailableError(
        absl::StrCat("port ", options.first_port + i, ": ", strerror(errno)));
  }
  absl::StatusOr<std::vector<int>> ports = FreePorts(3 * options.servers);
  if (!ports.ok()) return ports.status();
  std::vector<ServerSpec> specs;
  for (int i = 0; i < options.servers; ++i) {
    specs.push_back({.id = i + 1,
                     .directory = ServerDirectory(directory, i + 1),
                     .client_port = (*ports)[3 * i],
                     .quorum_port = (*ports)[3 * i + 1],
                     .election_port = (*ports)[3 * i + 2]});
    if (options.first_port != 0) specs.back().client_port = options.first_port + i;
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

// ---- logs ---------------------------------------------------------------------------------------

std::string TailOf(const std::string& path, int lines) {
  std::vector<std::string> all = absl::StrSplit(ReadFile(path), '\n', absl::SkipEmpty());
  std::erase_if(all, [](const std::string& line) { return absl::StartsWith(line, "\tat "); });
  const size_t skip = all.size() - std::min(all.size(), static_cast<size_t>(std::max(lines, 0)));
  return absl::StrJoin(all.begin() + static_cast<std::ptrdiff_t>(skip), all.end(), "\n");
}

bool LogSaysPortTaken(const ServerSpec& spec) {
  return absl::StrContains(ReadFile(spec.LogPath()), "java.net.BindException");
}

std::string LogForMessage(const ServerSpec& spec) {
  const std::string tail = TailOf(spec.LogPath(), 15);
  return tail.empty() ? "" : absl::StrCat(" Last lines of ", spec.LogPath(), ":\n", tail);
}

}  // namespace zkrecipes::testing
