// SPDX-License-Identifier: Apache-2.0

#include "testing/local/state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace zkrecipes::testing {
namespace {

namespace fs = std::filesystem;

// Whether this call made it.
absl::StatusOr<bool> MakeDirectory(const std::string& path) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  if (mkdir(path.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  return absl::ErrnoToStatus(errno, "cannot make " + path);
}

// A process that had the lock before may have removed the directory, and another may have made it
// anew.
bool IsStillAt(const std::string& path, int fd) {
  struct stat by_name, by_fd;
  return stat(path.c_str(), &by_name) == 0 && fstat(fd, &by_fd) == 0 &&
         by_name.st_ino == by_fd.st_ino && by_name.st_dev == by_fd.st_dev;
}

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

absl::StatusOr<OwnedDirectory> OwnedDirectory::Lock(const std::string& given, bool make) {
  std::error_code error;
  // Without a slash at its end: with one, its parent would be itself.
  const std::string path = (fs::absolute(given, error) / "").lexically_normal().parent_path();
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("no directory '", given, "'"));
  for (;;) {
    absl::StatusOr<bool> made = make ? MakeDirectory(path) : false;
    if (!made.ok()) return made.status();
    base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0 && make && errno == ENOENT) continue;
    if (fd.get() < 0) return absl::ErrnoToStatus(errno, "cannot open " + path);
    struct stat info;
    if (fstat(fd.get(), &info) != 0) return absl::ErrnoToStatus(errno, "cannot look at " + path);
    if (info.st_uid != geteuid()) {
      return absl::PermissionDeniedError(absl::StrCat(path, " belongs to another user"));
    }
    while (flock(fd.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return absl::ErrnoToStatus(errno, "cannot lock " + path);
    }
    if (IsStillAt(path, fd.get())) return OwnedDirectory(path, std::move(fd), *made);
  }
}

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
  if (out) fs::rename(fresh, PathIn(directory), error);
  if (out && !error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", PathIn(directory)));
}

void RemoveState(const std::string& directory) {
  std::error_code ignored;
  fs::remove(PathIn(directory) + ".new", ignored);
  fs::remove(PathIn(directory), ignored);
}

}  // namespace zkrecipes::testing
