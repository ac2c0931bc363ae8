// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_PARTITIONS_H_
#define ZKRECIPES_PARTITIONS_H_

#include <functional>
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
#include "zkrecipes/lease.h"
#include "zkrecipes/partitions_report.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class PartitionState;
class PartitionsCore;
class PartitionRunner;
struct PartitionMaker;
}  // namespace internal

// Why the work of a partition is to end.
enum class PartitionEnd {
  kAskedBack,  // another member waits for it, to which it now belongs
  kStopping,   // this member leaves
  // Its lease has ended: another member may own it by now. If this member is to own it again, that
  // begins only once this work has returned.
  kLost,
};
std::ostream& operator<<(std::ostream& out, PartitionEnd end);

// A partition that this member owns, as a value. Owning it is holding its lock. Whoever has it
// works until end() is requested, then finishes, and destroys it: only that hands the partition
// over.
//
// Const methods are thread-safe. Destruction does not block. A child of fork() may only destroy it.
class [[nodiscard]] OwnedPartition {
 public:
  OwnedPartition(OwnedPartition&&) noexcept = default;
  // Gives back the target's own partition.
  OwnedPartition& operator=(OwnedPartition&& other) noexcept;
  // Gives the partition back: its work has ended. The lock's node is deleted in the background. A
  // partition that was not asked for, and still belongs to this member, is acquired again after a
  // pause.
  ~OwnedPartition();

  const std::string& name() const;
  // Ask it for believed(), remaining() and pass(), which the resource checks with each operation.
  const Lease& lease() const;
  // Requests that the work end. If the reason is kLost, work must stop at once; else it may finish
  // what it is about. Stop is requested once, on the client's executor, of many partitions one
  // after another: callbacks must not block.
  std::stop_token end() const;
  // The reason, once end() is requested; kLost replaces an earlier one.
  std::optional<PartitionEnd> end_reason() const;

 private:
  friend struct internal::PartitionMaker;
  explicit OwnedPartition(std::shared_ptr<internal::PartitionState> state);

  std::shared_ptr<internal::PartitionState> state_;  // null when moved from
};

// The work of a partition, for Partitions::Run. It returns once `end` is requested. If it returns
// before, it is begun again after a pause, unless the partition belongs to another member by then.
using PartitionWork =
    std::function<void(const std::string& name, const Lease& lease, std::stop_token end)>;

// How one member takes part.
struct PartitionsOptions {
  // Of this member in the group, and of no other: two with one id share one share. If empty, as
  // MemberOptions::id, and a random number. A process that comes back with its id within ten
  // minutes gets the same partitions again.
  std::string id = {};
  // Its share, from 1 to 100: a member of weight 2 gets twice as many as one of weight 1.
  int weight = 1;
  // In a group that has just begun, how long a member waits for others before it takes its share:
  // counted from the creation of the oldest member. A newcomer to an older group does not wait.
  Duration first_wait = absl::Seconds(1);
  // How many acquires may be under way at a time. Those that wait for another owner, or for the
  // lock delay after one, do not count.
  int at_once = 64;
  // A member that stops leaves the group, and works on until others have asked for its partitions:
  // at most this long. Zero: all work is asked to end at once.
  Duration drain = absl::Seconds(5);
  // The pauses before a partition is acquired again whose work returned by itself, or that was
  // refused: a random time between half a limit and all of it; the limit doubles.
  Duration first_pause = absl::Milliseconds(100);
  Duration longest_pause = absl::Seconds(10);
  // Of the locks and of the member. `marker`, `lock_delay` and `dialect` as for a Lock. Unless it
  // is set here, `wait_for_proof` is true.
  AcquireOptions acquire = {};
};

// The receivers of a member's events. Calls run on the client's executor; those of one member never
// overlap. None is made under a lock of the library.
struct PartitionEvents {
  // A partition is owned from now on. Keep the value while the work goes on, on any thread.
  std::function<void(OwnedPartition)> on_gained;
  // Optional: after each change. Other lists of names are reported here.
  std::function<void(const PartitionsReport&)> on_change = {};
  // Optional: the last call, with Running::status, if the member was refused for good.
  std::function<void(absl::Status)> on_ended = {};
};

// Divides partitions among the members of a group. Each partition has one owner at a time, which is
// the holder of the partition's lock, with a lease whose pass a resource can check.
//
// Every member computes the same assignment from the members that it sees: nobody has more than one
// partition above its fair share, and when members come and go, what stays with its owner is not
// touched. A partition that now belongs to another member is asked back once that member waits for
// it, and handed over two round trips after its work has ended. One whose owner died is taken as
// soon as its session ends. Members that see different groups wait for each other, never own both;
// once they see the same, each partition has the owner that the assignment says.
//
// Members must be given the same names. Those with another list divide among themselves, queue for
// the same locks, and take over what the others give up: so a fleet can be given another list by
// restarting one process after another. PartitionsReport::other_lists tells.
//
// Restarting members one after another moves each partition at most twice, away and back, if each
// has an id of its own: for that it leaves a node in PATH/homes. Another member that has missed it
// for ten minutes, without losing its own connection meanwhile, deletes that with the next change
// of the group. Without ids a restart moves more than it must, and so does an id that never comes
// back, once it is forgotten.
//
// PATH/members is a Group, and PATH/partitions/NAME the path of a Lock: `zkr ls` shows both. Needs
// the ACL permissions of these. Neither Curator nor kazoo's SetPartitioner shares the path.
//
// Thread-safe and stateless; the constructor does no I/O. Any number of members may be one process,
// with ids of their own.
class Partitions {
 public:
  // The names are unique, and each is a part of a path. REQUIRES: client is not null. What breaks a
  // rule is reported by each call below.
  Partitions(std::shared_ptr<Client> client, std::string path, std::vector<std::string> names,
             PartitionsOptions options = {});
  // Named "0", "1", ...
  Partitions(std::shared_ptr<Client> client, std::string path, int count,
             PartitionsOptions options = {});

  // Until `stop`: is a member, and runs `work` on a thread of its own for each partition that it
  // owns. Then it leaves the group, drains, and waits for all work to return. Blocks. Lost
  // connections, sessions and leases do not end it. An exception that `work` throws ends the
  // process.
  //   OK                 stopped; nothing of this member is left on the servers but its home, and a
  //                      place in a queue that is being given up in the background
  //   DeadlineExceeded   stopped; a deletion was not confirmed within the session timeout, and goes
  //                      on in the background
  //   InvalidArgument    the path, a name, an option
  //   PermissionDenied, Unauthenticated, FailedPrecondition, ResourceExhausted   as for Lock, for
  //                      the group or for a partition: all work is ended first. ResourceExhausted
  //                      also if no thread can be started
  absl::Status Run(std::stop_token stop, const PartitionWork& work) const;

  // The same without threads, for many partitions. Does not block: the member joins in the
  // background, until it is given up by Leave or destroyed.
  class [[nodiscard]] Running {
   public:
    Running(Running&&) noexcept = default;
    Running& operator=(Running&& other) noexcept;
    // Ends all work (kStopping), without draining, and leaves in the background. Values that are
    // kept keep their locks until they are destroyed. Afterwards no receiver runs: blocks while
    // another thread runs one.
    ~Running();
    // Drains, asks what is left to end, and waits until every OwnedPartition is destroyed and every
    // lock is gone, and the membership; a place in a queue may still be given up in the background.
    // Blocks. OK, DeadlineExceeded and Cancelled as Lease::Release; otherwise what
    // has ended it before (status).
    absl::Status Leave(const WaitOptions& wait = {}) &&;
    // OK while it runs; then why it was refused for good: as Run.
    absl::Status status() const;

   private:
    friend class Partitions;
    explicit Running(std::shared_ptr<internal::PartitionRunner> runner);
    std::shared_ptr<internal::PartitionRunner> runner_;  // null when moved from
  };
  //   InvalidArgument     as Run
  //   FailedPrecondition  the client is closed, or belongs to the parent process
  //   ResourceExhausted   no thread for the notices of leases' ends
  absl::StatusOr<Running> Start(PartitionEvents events) const;

  // Which of the names each member would have, by the members of now; in the order of the names.
  // Blocks for three round trips. FailedPrecondition: there are members, and all have another list
  // of names. Other errors: those of Group::Members, for the homes as well.
  struct Assigned {
    std::string name;
    std::string member;  // its id; empty if there is none
  };
  absl::StatusOr<std::vector<Assigned>> Assignment(const WaitOptions& wait = {}) const;

 private:
  std::shared_ptr<const internal::PartitionsCore> core_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_PARTITIONS_H_
