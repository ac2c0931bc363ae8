// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_COMMANDS_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/command.h"
#include "zkrecipes/client.h"

namespace zkrecipes::zkr::commands {

// The options of every command, before or after its name.
struct GlobalFlags {
  ClientOptions client;  // but for the session timeout
  absl::Duration session_timeout = absl::Seconds(10);
  std::string no_users;  // why --digest-file cannot be read
  bool json = false;
  bool quiet = false;  // see narrator.h
  bool verbose = false;
};

// The options of `zkr lock` and `zkr elect` about the CMD that they run.
struct CommandFlags {
  std::string path;
  std::vector<std::string> command;  // not empty
  absl::Duration grace = absl::Seconds(5);
  std::string probe;  // a shell command; empty: none
  absl::Duration alive_within = absl::Seconds(30);
  bool beside_blind = false;  // AcquireOptions::beside_blind
  int status_fd = -1;  // -1: none. Otherwise open, and never CMD's unless it is a standard stream
  supervisor::GuardKind guard = supervisor::GuardKind::kAuto;
};

struct LockFlags {
  CommandFlags command;
  bool shared = false;         // as a reader of the read/write lock
  bool exclusive = false;      // as its writer
  std::optional<int> permits;  // as one of so many, of a semaphore
  bool try_only = false;
  bool hold = false;        // without a CMD
  absl::Duration at_least;  // since its grant the lock is kept, after a CMD that succeeded
  absl::Duration wait = absl::InfiniteDuration();
  int conflict_exit_code = kNotAcquired;
};

struct ElectFlags {
  CommandFlags command;
  std::string candidate;
  bool as_lock = false;  // named as a LeaderSelector's of Curator
  bool once = false;
};

struct BreakFlags {
  std::string path;
  std::int64_t token = 0;
};

struct EpochFlags {
  bool raise = false;
  bool make = false;
  std::optional<std::int64_t> above = {};
};

struct LsFlags {
  std::string path;
  bool watch = false;
};

struct EnsembleFlags {
  std::optional<int> servers;
  std::optional<int> port;
  std::string directory;
};

// Each does what its command is for and returns zkr's exit status. REQUIRES: `path` is valid.
int RunLock(const GlobalFlags& global, const LockFlags& flags);
int RunElect(const GlobalFlags& global, const ElectFlags& flags);
int RunObserve(const GlobalFlags& global, const std::string& path);
int RunLs(const GlobalFlags& global, const LsFlags& flags);
int RunCheck(const GlobalFlags& global, const std::string& sequencer);
int RunBreak(const GlobalFlags& global, const BreakFlags& flags);
int RunEpoch(const GlobalFlags& global, const EpochFlags& flags);
int StartEnsemble(const GlobalFlags& global, const EnsembleFlags& flags);
int StopEnsemble(const GlobalFlags& global, const EnsembleFlags& flags);
int ShowEnsemble(const GlobalFlags& global, const EnsembleFlags& flags);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_COMMANDS_H_
