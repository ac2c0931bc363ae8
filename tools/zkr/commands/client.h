// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_CLIENT_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "lib/queue/machine/admission.h"
#include "lib/zk/seam/types.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/partitions.h"
#include "zkrecipes/client.h"
#include "zkrecipes/fencing_pass.h"

namespace zkrecipes::zkr::commands {

// A session with the ensemble that the flags name, within `wait` or else the session timeout. Says
// on stderr that it is connecting if that lasts: see narrator.h.
// Errors: those of Client::Connect, and InvalidArgument if no servers are named.
absl::StatusOr<std::shared_ptr<Client>> Connect(const GlobalFlags& flags,
                                                std::stop_token cancel = {},
                                                std::optional<absl::Duration> wait = {});

// `path` as the servers know it: below the client's namespace.
std::string OnServer(Client& client, const std::string& path);

// The answer of the client's server to a request by the server's own paths, also that a node is not
// there or may not be read. `behind_a_write`: a server that answers has applied all that was
// committed before. Errors: those of ListContenders.
absl::StatusOr<zk::Reply> AskServer(Client& client, const zk::Request& request,
                                    const WaitOptions& wait, bool behind_a_write = false);

// The members and the owners below `path`; nullopt if it is no path of Partitions, or the members
// or the names may not be listed. Blocks for five round trips at most, in the last of which are a
// request for each partition and each contender. `wait` is of each of them. Errors: those of
// ListContenders; a partition whose queue alone may not be read is unknown.
absl::StatusOr<std::optional<PartitionsView>> ReadPartitions(Client& client,
                                                             const std::string& path,
                                                             const WaitOptions& wait);

// The users that `file` names, one "user:password" a line; empty lines count for nothing. It may be
// a pipe: it is read once. InvalidArgument if it cannot be read, is larger than 64 KiB, or has
// another line; no message shows what is in it.
absl::StatusOr<std::vector<std::string>> ReadCredentials(const std::string& file);

// How many of a node's sequence numbers its children have used: one each that was ever created.
struct Numbers {
  enum class State { kPlenty, kRunningOut, kUsedUp };
  static constexpr std::int64_t kAll = std::int64_t{1} << 31;

  std::int64_t used = 0;

  std::int64_t left() const { return kAll - used; }
  // Running out: fewer than a tenth are left, three days at 1000 grants a second.
  State Judge() const {
    if (queue::machine::SequenceExhausted(
            static_cast<std::int32_t>(used < kAll ? used : kAll - 1))) {
      return State::kUsedUp;
    }
    return left() < kAll / 10 ? State::kRunningOut : State::kPlenty;
  }
};

// A Stat's cversion is twice the creations less the children, in 32 bits.
inline Numbers NumbersOf(const zk::Stat& stat) {
  const auto twice =
      static_cast<std::uint32_t>(stat.cversion) + static_cast<std::uint32_t>(stat.num_children);
  return {twice / 2};
}

// ResourceExhausted if a contender for `path` would be refused for its number. The server numbers a
// node when it makes it, so the refused contender would use up another of the few that are left: a
// loop of `zkr lock` asks first. What cannot be known here is OK, and the contender's to find out.
// Blocks for a round trip, and for a fifth of a second at most.
absl::Status CheckNumbersLeft(Client& client, const std::string& path, std::stop_token cancel);

// The ensemble's epoch (lib/session/epoch_record.h), as the client's server knows it: all that was
// committed before its session began. Blocks. FailedPrecondition: the record is no number;
// PermissionDenied; as AskUntilAnswered.
absl::StatusOr<std::int64_t> AskEpoch(Client& client, const WaitOptions& wait);

// Makes the epoch higher than it is, and than `above`: by one than both, unless somebody else
// raises it at the same time; returns it. Every write names the version that was read, and no
// version comes back (MakeEpoch), so the epoch never goes down. The record is created with its
// parent if there is none: all may read it, and only the client's users may write it, or all if it
// has none. `wait` is of each answer. Errors: as AskEpoch; InvalidArgument: more than a million
// above what it is.
absl::StatusOr<std::int64_t> RaiseEpoch(Client& client, std::int64_t above,
                                        const WaitOptions& wait);

// Makes the record and its parent, or makes them anew, so that only the client's users may write
// them (EpochOptions::writers). The epoch stays as it is, but is above `above`, without which a
// record that is not believed stays. The new record's version is above the old one's. Errors: as
// RaiseEpoch; InvalidArgument: the client has no users, or `above` is 10,001,000 or more;
// PermissionDenied: it may not delete what is there; FailedPrecondition: the parent has other
// children, or the old record was written 10,000 times.
absl::StatusOr<std::int64_t> MakeEpoch(Client& client, std::optional<std::int64_t> above,
                                       const WaitOptions& wait);

// "TOKEN" or "TOKEN@EPOCH": what a resource has seen. InvalidArgument for anything else.
absl::StatusOr<FencingPass> ParseSeen(const std::string& text);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_CLIENT_H_
