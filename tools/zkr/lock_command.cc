// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/lock.h"

namespace zkr {
namespace {

using zkrecipes::Client;
using zkrecipes::Lease;

struct LockFlags {
  std::string path;
  std::vector<std::string> command;
  bool try_only = false;
  absl::Duration wait = absl::InfiniteDuration();
  absl::Duration grace = absl::Seconds(5);
  int conflict_exit_code = kNotAcquired;
  int status_fd = -1;
};

// What `zkr lock` has to say at its end.
struct Result {
  const char* word = "unavailable";
  int status = kInternal;
  int64_t token = 0;
};

Result Failed(const absl::Status& status, const LockFlags& flags) {
  Complain(status);
  const int code = ExitCodeFor(status);
  switch (code) {
    case kNotAcquired:
      return {"not_acquired", flags.conflict_exit_code};
    case kDenied:
      return {"denied", code};
    case kUsage:
      return {"usage", code};
    default:
      return {"unavailable", code};
  }
}

void WriteStatus(int fd, const Result& result) {
  if (fd < 0) return;
  nlohmann::ordered_json json = {{"result", result.word}, {"status", result.status}};
  json["token"] = result.token > 0 ? nlohmann::ordered_json(result.token) : nullptr;
  const std::string line = json.dump() + "\n";
  if (write(fd, line.data(), line.size()) < 0) Complain("cannot write to the --status-fd");
}

absl::StatusOr<Lease> Acquire(const std::shared_ptr<Client>& client, const LockFlags& flags,
                              const absl::Duration session_timeout, std::stop_token cancel) {
  zkrecipes::Lock lock(client, flags.path);
  if (!flags.try_only) return lock.Acquire({flags.wait, std::move(cancel)});
  auto result = lock.TryAcquire({session_timeout, std::move(cancel)});
  if (!result.ok()) return result.status();
  if (result->acquired()) return (*std::move(result)).lease();
  return absl::DeadlineExceededError(absl::StrCat("lock ", flags.path, ": somebody else holds it"));
}

std::vector<std::string> Environment(const LockFlags& flags, const Lease& lease) {
  return {absl::StrCat("ZKR_FENCING_TOKEN=", lease.token().ToString()),
          absl::StrCat("ZKR_SEQUENCER=", lease.sequencer().ToString()),
          absl::StrCat("ZKR_PATH=", flags.path), absl::StrCat("ZKR_NODE=", lease.node())};
}

Result ResultOf(const Outcome& outcome, const LockFlags& flags, int64_t token) {
  if (outcome.lost) {
    Complain(absl::StrCat("the lock ", flags.path, " was lost"));
    return {"lost", kLost, token};
  }
  switch (outcome.end) {
    case Outcome::End::kExited:
      return {"ran", outcome.code, token};
    case Outcome::End::kKilled:
      return {"ran", kSignalBase + outcome.code, token};
    case Outcome::End::kNotRun:
      break;
  }
  Complain(absl::StrCat("cannot run ", flags.command[0], ": ", strerror(outcome.code)));
  return {"ran", outcome.code == ENOENT ? kNotFound : kCannotRun, token};
}

Result RunHolding(Supervisor& supervisor, const LockFlags& flags, const GlobalFlags& global,
                  Client& client, Lease lease, Outcome& outcome) {
  const int64_t token = lease.token().value();
  outcome = supervisor.Run({.environment = Environment(flags, lease),
                            .lost = lease.lost(),
                            .remaining = [&lease] { return lease.remaining(); },
                            .refresh = client.session_timeout() / 10});
  // CMD and all that it started are dead: only now may the node go.
  const absl::Status released = std::move(lease).Release({global.session_timeout});
  if (!released.ok() && !outcome.lost) Complain(released);
  return ResultOf(outcome, flags, token);
}

Result Lock(const GlobalFlags& global, const LockFlags& flags, Outcome& outcome) {
  // The guard first, while this process has one thread.
  auto supervisor = Supervisor::Prepare({flags.command, flags.grace, GuardKind::kAuto});
  if (!supervisor.ok()) return Failed(supervisor.status(), flags);
  std::shared_ptr<Client> client;
  absl::StatusOr<Lease> lease = absl::UnknownError("");
  {
    Interruption interruption;
    auto connected =
        Client::Connect(ClientOptionsFrom(global), {global.session_timeout, interruption.token()});
    if (connected.ok()) {
      client = *std::move(connected);
      lease = Acquire(client, flags, global.session_timeout, interruption.token());
    } else {
      lease = connected.status();
    }
    if (interruption.signal() != 0) {
      if (client != nullptr && lease.ok())
        (void)std::move(*lease).Release({global.session_timeout});
      if (client != nullptr) (void)client->Close({global.session_timeout});
      return {"not_acquired", kSignalBase + interruption.signal()};
    }
  }
  Result result;
  if (lease.ok()) {
    result = RunHolding(**supervisor, flags, global, *client, *std::move(lease), outcome);
  } else {
    result = Failed(lease.status(), flags);
  }
  if (client != nullptr) (void)client->Close({global.session_timeout});
  return result;
}

int RunLock(const GlobalFlags& global, const LockFlags& flags) {
  Outcome outcome;
  const Result result = Lock(global, flags, outcome);
  WriteStatus(flags.status_fd, result);
  PassOnInterrupt(outcome);
  return result.status;
}

}  // namespace

void RegisterLockCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand("lock", "Run a command while holding a lock");
  command->set_version_flag("--version", app.version());
  auto lock = std::make_shared<LockFlags>();
  command->add_option("PATH", lock->path, "the lock's path")->required();
  command->add_option("CMD", lock->command, "what to run, and its arguments, after --")->required();
  auto* try_only = command->add_flag("--try", lock->try_only, "do not wait for the lock");
  AddDuration(*command, "--wait", lock->wait, "wait at most so long (for ever)")
      ->excludes(try_only);
  AddDuration(*command, "--grace", lock->grace, "between SIGTERM and SIGKILL (5s)");
  command
      ->add_option("--conflict-exit-code", lock->conflict_exit_code,
                   "exit status when the lock was not acquired (75)")
      ->check(CLI::Range(0, 255));
  command->add_option("--status-fd", lock->status_fd, "write one JSON object there at the end")
      ->check(CLI::NonNegativeNumber);
  command->callback([&flags, &exit_code, lock] { exit_code = RunLock(flags, *lock); });
}

}  // namespace zkr
