// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_GROUP_H_
#define ZKRECIPES_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/acquire_options.h"
#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/fencing_token.h"
#include "zkrecipes/lease_end.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class MembershipState;
struct MembershipMaker;
}  // namespace internal

// A member, as it joins. Every client that the ACL admits can read it.
struct MemberOptions {
  // If empty: ClientOptions::owner_id, or else "host:pid". No line breaks, UTF-8, at most 512
  // bytes. A process that keeps its id over a restart stays the same member for the others. It
  // belongs to one process at a time: of two that have it the others see the later node, and each
  // believes to be the member (Member::token tells whose node it is).
  std::string id = {};
  // For example, an address. Any bytes, at most 64 KiB; keep it short, since every watcher reads
  // and keeps it. It cannot be changed: join anew, with the same id, and drop the earlier
  // membership then.
  std::string data = {};
};

// A member, as others see it.
struct Member {
  // The node's name, if this client may not read the node. Any bytes: a stranger may have written
  // it.
  std::string id = {};
  std::string data = {};    // empty, if this client may not read it
  FencingToken token = {};  // of its node: of two with one id the larger is the later
  std::string node = {};    // its name, relative to the path
  int64_t session = 0;
  absl::Time since = {};  // when the node was created, by the server's wall clock

  friend bool operator==(const Member&, const Member&) = default;
};

// All members at one moment, in the order of their ids.
struct GroupView {
  std::vector<Member> members = {};
  // False: the client has lost its connection; the members are those of the last view, and may have
  // changed since. A view follows once it is connected again.
  bool connected = true;
};

// A place in a group, as a value: its owner is a member, and leaves by dropping it.
//
//   kMember <--> kSuspect -- lost --> kRejoining --> kMember ...
//      |             |                   |    `-- refused for good --> kEnded
//      +-------------+---- Leave or destruction ----+---------------> kEnded
//
// A membership outlives its session: in the next one it joins again, as the same member. Until
// remaining() runs out no other client can have seen a group without this member, on the same
// assumptions about machines as for a lease (lease.h). From then on it may be taken for gone, so
// whatever rests on being a member has to stop.
//
// Closing or destroying the client ends its memberships. Const methods are thread-safe. Only Leave
// blocks. In a forked child a Membership is inert: its state is kEnded, and it sends nothing.
class [[nodiscard]] Membership {
 public:
  enum class State {
    kMember,     // proven by a write that was committed a moment ago
    kSuspect,    // the connection is lost, or the next proof is overdue: see remaining()
    kRejoining,  // others may take it for gone; it joins again as soon as it can. Also while its
                 // node is not yet proven, without `wait_for_proof`
    kEnded,      // see status(). Final
  };

  Membership(Membership&&) noexcept = default;
  // Leaves with the target's own membership, in the background.
  Membership& operator=(Membership&& other) noexcept;
  // Leaves in the background; never blocks. The node's deletion is retried until it is confirmed or
  // the session has expired.
  ~Membership();

  // Computed from the clock on each call, so it is correct from the first call after a pause of any
  // length.
  State state() const;
  // May this process believe that the others count it? True in kMember and kSuspect.
  bool believed() const;
  // The time from now for which the others cannot have seen it gone; zero in the other states.
  absl::Duration remaining() const;
  // Stop is requested once, when the present spell of membership ends: when it is lost, and when it
  // has left. On the client's executor, with the delay of Lease::ended. After a new spell has begun
  // this returns a token for that one.
  std::stop_token ended() const;
  // Of the node in which it is a member; none while it rejoins, and once it has ended.
  std::optional<FencingToken> token() const;
  const std::string& id() const;

  // OK until the membership has ended, and after Leave. Otherwise why: PermissionDenied,
  // Unauthenticated, or FailedPrecondition (the client is closed). Other refusals of a join that
  // follows a loss may pass: it is tried again, after pauses of at most 10 s.
  absl::Status status() const;

  // Deletes the node and waits for the confirmation; blocks. Others see the group without this
  // member as soon as their servers do. Statuses: those of Lease::Release, but never Aborted: a
  // member that was lost has left. (Then OK comes at once, and what is left of its node is deleted
  // in the background, as is the node of a join that is under way.)
  absl::Status Leave(const WaitOptions& wait = {}) &&;

 private:
  friend struct internal::MembershipMaker;
  explicit Membership(std::shared_ptr<internal::MembershipState> state);

  std::shared_ptr<internal::MembershipState> state_;  // null when moved from
};

std::ostream& operator<<(std::ostream& out, Membership::State state);

// Who is here: the members of a path, each an ephemeral znode.
//
// A group tells who is there as far as its watcher's server knows; it excludes nobody. Two watchers
// see changes at different moments. What only one may do needs a Lock or a LeaderElection.
//
// Thread-safe and stateless; the constructor does no I/O. Joining needs the ACL permissions read,
// create and delete on the path's node, watching needs read. If the node does not exist, it is
// created as a container, with its ancestors. No recipe of Curator's or kazoo's sees these members
// as its own, nor is seen: use a path of its own (docs/interoperability.md).
class Group {
 public:
  // REQUIRES: client is not null. An invalid path is reported by each call below. Of the options,
  // `marker`, `dialect`, `beside_blind`, `lock_delay`, `alive_within` and `hold_at_most` have no
  // meaning here: InvalidArgument if set, but for the client's own dialect. So is `ends_at` =
  // kExpiry; a client's is ignored: a membership ends at its deadline.
  Group(std::shared_ptr<Client> client, std::string path, const AcquireOptions& options = {});

  // Becomes a member. Blocks for one round trip; with `wait_for_proof` (the default) until the
  // membership is proven, so that believed() is true.
  //   InvalidArgument     the path, the timeout, an option, the id or the data
  //   DeadlineExceeded, Unavailable, Cancelled   not a member; a node is deleted in the background
  //   Aborted             another client deleted the node before it was proven
  //   PermissionDenied, FailedPrecondition, ResourceExhausted, Unauthenticated   as Lock (lock.h)
  absl::StatusOr<Membership> Join(const MemberOptions& member = {},
                                  const WaitOptions& wait = {}) const;
  // Does not block. `done` runs exactly once, on the client's executor; if that destroys it without
  // running it, the membership is dropped.
  void JoinAsync(MemberOptions member, WaitOptions wait,
                 absl::AnyInvocable<void(absl::StatusOr<Membership>) &&> done) const;

  // The members now: a snapshot, which may already be stale. Two nodes with one id are one member,
  // the later one. Blocks for two round trips, and retries when the connection is lost, and when a
  // node went meanwhile. A member that has just joined may be missing, since the connected server
  // may lag. Errors: those of ListContenders.
  absl::StatusOr<GroupView> Members(const WaitOptions& wait = {}) const;

  // Reports the members, and every change. Calls run on the client's executor, in order, and never
  // overlap. The latest view is always reported; earlier ones may be skipped, and none is reported
  // twice in a row. Each view is complete, as of one listing. The connected server may lag a
  // moment.
  //
  // Changes that come together are reported together. The first one after a calm is seen within 20
  // ms and two round trips. While changes go on, the next look comes after 0.05 s, and then after
  // pauses that double, up to 0.02 s for each member, at least 0.1 s and at most 4 s: while a
  // hundred members restart within 100 s, a watcher lists some 70 times.
  //
  // A watcher has one watch, on the path's node. It reads the data of those members that it has not
  // seen before, once. If one goes before it is read, another look follows before anything is told:
  // its id may have passed to a later node, and no view lacks an id that was there throughout.
  // After a reconnection the first look comes within the pause above, but within 1 s, so that a
  // fleet's watchers do not look all at once.
  //
  // An error is the last call: as LeaderElection::Observe. Does not block; does not keep the client
  // alive.
  Subscription Watch(absl::AnyInvocable<void(absl::StatusOr<GroupView>)> callback) const;

  const std::string& path() const;

 private:
  std::shared_ptr<Client> client_;
  std::shared_ptr<const internal::PathQueue> queue_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_GROUP_H_
