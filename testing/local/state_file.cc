// SPDX-License-Identifier: Apache-2.0

#include "testing/local/state_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace zkrecipes::testing {
namespace {

constexpr char kMagic[] = "zkr-ensemble";
constexpr int kVersion = 1;

std::string PathIn(const std::string& directory) { return directory + "/ensemble"; }

bool ParseServer(const std::string& line, RecordedServer& server) {
  std::istringstream in(line);
  ServerSpec& spec = server.spec;
  in >> spec.client_port >> spec.quorum_port >> spec.election_port >> server.pid >>
      server.start_time;
  return !in.fail() && spec.client_port > 0 && spec.client_port < 65536 && server.pid >= 0;
}

}  // namespace

std::vector<ServerSpec> EnsembleState::Specs() const {
  std::vector<ServerSpec> specs;
  for (const RecordedServer& server : servers) specs.push_back(server.spec);
  return specs;
}

absl::StatusOr<EnsembleState> ReadState(const std::string& directory) {
  std::ifstream in(PathIn(directory));
  if (!in) return absl::NotFoundError(absl::StrCat("no ensemble in ", directory));
  const absl::Status unknown =
      absl::DataLossError(absl::StrCat(PathIn(directory), " is not what zkr has written"));
  std::string magic, origin, line;
  int version = 0;
  in >> magic >> version >> origin;
  std::getline(in, line);
  if (magic != kMagic || version != kVersion) return unknown;
  EnsembleState state{.directory_made = origin == "made", .servers = {}};
  while (std::getline(in, line)) {
    RecordedServer server;
    if (!ParseServer(line, server)) return unknown;
    server.spec.id = static_cast<int>(state.servers.size()) + 1;
    server.spec.directory = ServerDirectory(directory, server.spec.id);
    state.servers.push_back(server);
  }
  if (state.servers.empty()) return unknown;
  return state;
}

absl::Status WriteState(const std::string& directory, const EnsembleState& state) {
  const std::string fresh = PathIn(directory) + ".new";
  std::ofstream out(fresh, std::ios::trunc);
  out << kMagic << " " << kVersion << " " << (state.directory_made ? "made" : "given") << "\n";
  for (const auto& [spec, pid, start_time] : state.servers) {
    out << spec.client_port << " " << spec.quorum_port << " " << spec.election_port << " " << pid
        << " " << start_time << "\n";
  }
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(fresh, PathIn(directory), error);
  if (out && !error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", PathIn(directory)));
}

void RemoveState(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove(PathIn(directory) + ".new", ignored);
  std::filesystem::remove(PathIn(directory), ignored);
}

}  // namespace zkrecipes::testing
