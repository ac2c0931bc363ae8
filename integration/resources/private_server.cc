// SPDX-License-Identifier: Apache-2.0

#include "integration/resources/private_server.h"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace resources {
namespace {

constexpr absl::Duration kStartPatience = absl::Minutes(1);
constexpr absl::Duration kEndPatience = absl::Seconds(10);
constexpr absl::Duration kMaxLifetime = absl::Hours(1);

bool IsRoot() { return geteuid() == 0; }

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateServer>> PrivateServer::Make(const std::string& user) {
  std::string directory = (std::filesystem::temp_directory_path() / "zkr-store-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return absl::InternalError("no temporary directory");
  if (!user.empty() && IsRoot()) {
    const passwd* const entry = getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr || chown(directory.c_str(), entry->pw_uid, entry->pw_gid) != 0) {
      return absl::InternalError("there is no user " + user);
    }
    chmod(directory.c_str(), 0755);
  }
  auto server = std::unique_ptr<PrivateServer>(new PrivateServer(directory, user));
  auto guard = zkrecipes::testing::Guard::Start(kMaxLifetime, directory);
  if (!guard.ok()) return guard.status();
  server->guard_ = *std::move(guard);
  return server;
}

absl::StatusOr<pid_t> PrivateServer::Spawn(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  if (!user_.empty() && IsRoot()) {
    words = {"/usr/bin/setpriv", "--reuid=" + user_, "--regid=" + user_, "--init-groups"};
  }
  words.insert(words.end(), command.begin(), command.end());
  return zkrecipes::testing::Spawn({.command = std::move(words),
                                    .directory = directory_,
                                    .log = directory_ + "/log",
                                    .group = guard_->group()});
}

std::string PrivateServer::Printed() const {
  std::ifstream log(directory_ + "/log");
  return {std::istreambuf_iterator<char>(log), {}};
}

absl::Status PrivateServer::Run(const std::vector<std::string>& command) {
  const absl::StatusOr<pid_t> child = Spawn(command);
  if (!child.ok()) return child.status();
  if (zkrecipes::testing::WaitForChild(*child) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(absl::StrJoin(command, " "), " failed: ", Printed()));
}

absl::Status PrivateServer::Start(const std::vector<std::string>& command,
                                  const std::function<bool()>& is_up) {
  const absl::StatusOr<pid_t> child = Spawn(command);
  if (!child.ok()) return child.status();
  process_.Adopt(*child);
  const absl::Time until = absl::Now() + kStartPatience;
  while (!is_up()) {
    if (process_.pid() == 0 || absl::Now() > until) {
      return absl::InternalError(absl::StrCat(command[0], " does not come up: ", Printed()));
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return absl::OkStatus();
}

void PrivateServer::Kill() { process_.Kill(); }

void PrivateServer::End(int signal) {
  if (process_.pid() == 0) return;
  kill(process_.pid(), signal);
  const absl::Time until = absl::Now() + kEndPatience;
  while (process_.pid() != 0 && absl::Now() < until) absl::SleepFor(absl::Milliseconds(5));
  Kill();
}

}  // namespace resources
