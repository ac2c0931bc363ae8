// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/local_servers.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "integration/servers/command.h"
#include "testing/local/server_files.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::servers {
namespace {

namespace fs = std::filesystem;

using base::UniqueFd;
using testing::LocalEnsemble;

constexpr char kSize[] = "size";

bool SetSize(int fd, const std::string& size) {
  return fsconfig(fd, FSCONFIG_SET_STRING, kSize, size.c_str(), 0) == 0;
}

constexpr char kDelayFile[] = "fsync_delay";

// Writes a script for LocalEnsembleOptions::java, in `directory`, and returns its path. It knows
// the members by the directories they run in: `settings` are a member's shell assignments, of `net`
// and `disk`.
absl::StatusOr<std::string> WriteMemberJava(const std::string& directory,
                                            const std::vector<std::string>& settings) {
  const std::string path = directory + "/java";
  std::ofstream out(path);
  out << "#!/bin/sh\ncase ${PWD##*/} in\n";
  for (size_t i = 0; i < settings.size(); ++i) {
    out << "server" << i + 1 << ") " << settings[i] << " ;;\n";
  }
  out << "esac\nln -sfn \"$disk\" disk\nexport LD_PRELOAD=" << ZKRECIPES_SLOW_FSYNC
      << " ZKRECIPES_FSYNC_DELAY=\"$PWD/" << kDelayFile
      << "\"\nexec nsenter --net=\"$net\" -- /usr/bin/java \"$@\"\n";
  out.close();
  std::error_code error;
  fs::permissions(path, fs::perms::owner_all, error);
  if (out && !error) return path;
  return absl::InternalError(absl::StrCat("cannot write ", path));
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

absl::Status Disk::Resize(const std::string& size) {
  const UniqueFd context(fspick(mount_.get(), "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC));
  if (context.get() >= 0 && SetSize(context.get(), size) &&
      fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0) {
    return absl::OkStatus();
  }
  return Failed("cannot change the size of a file system in memory");
}

// ---- servers ------------------------------------------------------------------------------------

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
  const absl::StatusOr<std::string> java = WriteMemberJava(own_->path(), settings);
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

// A line of its configuration: "server.2=127.0.0.1:20001:20002".
int LocalServers::QuorumPort(int i) const {
  const std::string config = testing::ReadFile(DirectoryOf(i) + "/zoo.cfg");
  const std::string its = absl::StrCat("\nserver.", i + 1, "=");
  const std::string address = config.substr(config.find(its) + its.size());
  return std::stoi(address.substr(address.find(':') + 1));
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

absl::Status LocalServers::FillDisk(int i) {
  return places_.empty() ? Servers::FillDisk(i) : places_[i].disk.Fill();
}

absl::Status LocalServers::FreeDisk(int i) {
  return places_.empty() ? Servers::FreeDisk(i) : places_[i].disk.Free();
}

absl::Status LocalServers::SlowDisk(int i, absl::Duration each_sync) {
  if (places_.empty()) return Servers::SlowDisk(i, each_sync);
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
