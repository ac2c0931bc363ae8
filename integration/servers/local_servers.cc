// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/local_servers.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "integration/servers/member_files.h"
#include "testing/local/server_files.h"

namespace zkrecipes::servers {
namespace {

namespace fs = std::filesystem;

using base::UniqueFd;
using testing::LocalEnsemble;

constexpr char kSize[] = "size";
constexpr char kRoomy[] = "1g";  // a limit: memory is taken as files are written

absl::Status Failed(const char* what) {
  return absl::InternalError(
      absl::StrCat(what, ": ", strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
}

bool SetSize(int fd, const std::string& size) {
  return fsconfig(fd, FSCONFIG_SET_STRING, kSize, size.c_str(), 0) == 0;
}

constexpr char kDelayFile[] = "fsync_delay";

// What a member's Java does before it is one; `net` and `disk` are set.
std::string RunLines() {
  return absl::StrCat("ln -sfn \"$disk\" disk\n", "export LD_PRELOAD=", ZKRECIPES_SLOW_FSYNC,
                      " ZKRECIPES_FSYNC_DELAY=\"$PWD/", kDelayFile, "\"\n",
                      "exec nsenter --net=\"$net\" -- ", kJava, " \"$@\"");
}

absl::Status Internal(const std::string& what, const std::error_code& error) {
  return absl::InternalError(absl::StrCat("cannot ", what, ": ", error.message()));
}

// Adds the logs among them to `logs`.
std::error_code CopyFiles(const std::string& from, const std::string& to,
                          std::vector<std::string>& logs) {
  std::error_code error;
  fs::create_directories(to, error);
  fs::directory_iterator entry(from, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string copy = to + "/" + entry->path().filename().string();
    fs::copy_file(entry->path(), copy, fs::copy_options::overwrite_existing, error);
    if (error) break;
    if (absl::StartsWith(entry->path().filename().string(), "log.")) logs.push_back(copy);
  }
  return error;
}

}  // namespace

absl::StatusOr<Disk> Disk::Make() {
  const UniqueFd context(fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (context.get() < 0 || !SetSize(context.get(), kRoomy) ||
      fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Failed("cannot make a file system in memory");
  }
  UniqueFd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (mount.get() < 0) return Failed("cannot open a file system in memory");
  return Disk(std::move(mount));
}

std::string Disk::path() const { return absl::StrCat("/proc/", getpid(), "/fd/", mount_.get()); }

absl::Status Disk::Fill() {
  struct statvfs now {};
  if (fstatvfs(mount_.get(), &now) != 0) return Failed("cannot ask how full a disk is");
  const uint64_t used = (now.f_blocks - now.f_bfree) * now.f_frsize;
  return Resize(absl::StrCat(std::max<uint64_t>(used, now.f_frsize)));  // 0 would be no limit
}

absl::Status Disk::Free() { return Resize(kRoomy); }

absl::Status Disk::Resize(const std::string& size) {
  const UniqueFd context(fspick(mount_.get(), "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC));
  if (context.get() >= 0 && SetSize(context.get(), size) &&
      fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0) {
    return absl::OkStatus();
  }
  return Failed("cannot change the size of a file system in memory");
}

// ---- servers -------------------------------------------------------------------------------------

LocalServers::LocalServers(std::unique_ptr<LocalEnsemble> ensemble)
    : ensemble_(std::move(ensemble)) {}

absl::StatusOr<std::unique_ptr<LocalServers>> LocalServers::Launch(
    Network& network, testing::LocalEnsembleOptions options) {
  std::vector<Place> places;
  for (int i = 0; i < options.servers; ++i) {
    absl::StatusOr<Host> host = network.AddHost();
    if (!host.ok()) return host.status();
    absl::StatusOr<Disk> disk = Disk::Make();
    if (!disk.ok()) return disk.status();
    options.addresses.push_back(host->address);
    places.push_back({*std::move(host), *std::move(disk)});
  }
  std::unique_ptr<LocalServers> servers(new LocalServers(std::move(places)));
  if (auto status = servers->StartAll(std::move(options)); !status.ok()) return status;
  return servers;
}

absl::Status LocalServers::StartAll(testing::LocalEnsembleOptions options) {
  auto own = testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  if (!own.ok()) return own.status();
  own_.emplace(*std::move(own));
  std::vector<std::string> settings;
  for (const auto& [host, disk] : places_) {
    settings.push_back(absl::StrCat("net=", host.network_namespace, " disk=", disk.path()));
  }
  const absl::StatusOr<std::string> java = WriteMemberJava(own_->path(), settings, RunLines());
  if (!java.ok()) return java.status();
  options.java = *java;
  options.force_sync = true;
  options.extra_config["dataLogDir"] = "./disk";
  // A server that is cut off refuses no connection: a peer that makes one must not wait for long.
  options.extra_config.insert({"connectToLearnerMasterLimit", "4"});  // ticks
  options.extra_config.insert({"cnxTimeout", "1000"});                // milliseconds
  auto ensemble = LocalEnsemble::Start(std::move(options));
  if (!ensemble.ok()) return ensemble.status();
  ensemble_ = *std::move(ensemble);
  return absl::OkStatus();
}

Host LocalServers::host(int i) const {
  if (!places_.empty()) return places_[i].host;
  return {.address = "127.0.0.1", .network_namespace = "/proc/self/ns/net"};
}

std::string LocalServers::DirectoryOf(int i) const {
  return testing::ServerDirectory(ensemble_->directory(), i + 1);
}

// Beside them is the member's id, which a wipe leaves.
std::string LocalServers::SnapshotsOf(int i) const { return DirectoryOf(i) + "/data/version-2"; }

std::string LocalServers::LogsOf(int i) const {
  return places_.empty() ? SnapshotsOf(i) : places_[i].disk.path() + "/version-2";
}

absl::Status LocalServers::Wipe(int i) {
  if (absl::Status killed = ensemble_->Kill(i); !killed.ok()) return killed;
  for (const std::string& data : {SnapshotsOf(i), LogsOf(i)}) {
    std::error_code error;
    fs::remove_all(data, error);
    if (error) return Internal("remove " + data, error);
  }
  return absl::OkStatus();
}

absl::Status LocalServers::HasDisk() const {
  if (!places_.empty()) return absl::OkStatus();
  return absl::UnimplementedError("these servers have no disks of their own: see Launch");
}

absl::Status LocalServers::FillDisk(int i) {
  const absl::Status status = HasDisk();
  return status.ok() ? places_[i].disk.Fill() : status;
}

absl::Status LocalServers::FreeDisk(int i) {
  const absl::Status status = HasDisk();
  return status.ok() ? places_[i].disk.Free() : status;
}

absl::Status LocalServers::SlowDisk(int i, absl::Duration each_sync) {
  if (absl::Status status = HasDisk(); !status.ok()) return status;
  const std::string path = DirectoryOf(i) + "/" + kDelayFile;
  std::ofstream out(path, std::ios::trunc);
  out << absl::ToInt64Milliseconds(each_sync);
  out.close();
  return out ? absl::OkStatus() : absl::InternalError("cannot write " + path);
}

absl::Status LocalServers::Start(int i) {
  if (ensemble_->state(i) != LocalEnsemble::MemberState::kDown) return absl::OkStatus();
  return ensemble_->Restart(i);
}

absl::StatusOr<std::vector<std::string>> LocalServers::TransactionLogs(
    const std::string& directory) {
  std::vector<std::string> logs;
  for (int i = 0; i < size(); ++i) {
    const std::string to = absl::StrCat(directory, "/", i);
    for (const std::string& from : std::set<std::string>{SnapshotsOf(i), LogsOf(i)}) {
      if (std::error_code error = CopyFiles(from, to, logs)) {
        return Internal(absl::StrCat("copy ", from, " to ", to), error);
      }
    }
  }
  return logs;
}

}  // namespace zkrecipes::servers
