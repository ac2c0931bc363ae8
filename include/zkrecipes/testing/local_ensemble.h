// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_ENSEMBLE_H_
#define ZKRECIPES_TESTING_LOCAL_ENSEMBLE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/duration.h"

namespace zkrecipes::testing {

// How many servers there are, with which settings, and where.
struct LocalEnsembleOptions {
  // How many servers: 1 to 9. One server runs in ZooKeeper's standalone mode.
  int servers = 3;

  // Where each member listens: one numeric IPv4 address per member, reachable from this process.
  // Empty: 127.0.0.1 for all.
  std::vector<std::string> addresses = {};
  // The first member's port for clients; the next members have the next ones. 0: any that are free.
  int first_port = 0;

  // Directory for configuration, data and logs. It must be absent or empty, and is left behind at
  // the end. Empty string: a new directory under $TMPDIR (or /tmp), removed at the end unless
  // `keep_directory`.
  std::string directory = "";
  bool keep_directory = false;

  // ZooKeeper's own settings, in whole milliseconds. A session expires up to one tick late.
  Duration tick = absl::Milliseconds(500);
  int init_limit = 40;  // ticks a member may take to join
  int sync_limit = 6;   // ticks after which a silent leader or follower is given up
  Duration min_session_timeout = absl::ZeroDuration();  // zero: two ticks
  Duration max_session_timeout = absl::Minutes(1);
  Duration container_check_interval = absl::Seconds(1);
  bool force_sync = false;  // fsync every write; if off, a crash of the machine may lose data
  // Further lines of zoo.cfg. ZooKeeper turns a key that it does not know into the system property
  // `zookeeper.<key>`.
  std::map<std::string, std::string> extra_config = {};

  // A path, or a name in $PATH. Empty: /usr/bin/java, as in Debian's own start script.
  std::string java = "";
  int max_heap_megabytes = 96;  // of each server; 32 or more
  Duration start_timeout = absl::Seconds(60);
  // The servers are killed after this time, whatever happens. Infinite is allowed.
  Duration max_lifetime = absl::Hours(1);
};

// A ZooKeeper ensemble of real server processes on this machine, for tests, from Debian's packages
// `zookeeper` and `default-jre-headless`. Listens only on 127.0.0.1, unless told otherwise, on free
// ports.
//
// The servers never outlive the process that started them, even if it is killed with SIGKILL: a
// guard process notices that the other end of its socket closes, and kills them. A child forked
// without exec holds that end open, so the servers then live as long as the child does; in such a
// child the destructor does nothing.
//
// A member is in one of three states; its port and its data stay the same in all of them:
//
//   kRunning --Pause--> kPaused --Resume--> kRunning
//   any state --Stop, Kill, or the server ends by itself--> kDown --Restart--> kRunning
//
// Thread-safe; calls for one member wait for each other. Members are numbered from 0.
//
// Errors of every method: InvalidArgument for a member that does not exist; Internal when the
// operating system refuses to make a process, file or socket. Others are listed where they arise.
class LocalEnsemble {
 public:
  enum class MemberState { kRunning, kPaused, kDown };

  // Starts the servers; blocks until every one of them serves (about two seconds), at most
  // `start_timeout`. If a free port is taken in the meantime, starts again with other ports.
  //   InvalidArgument     an option is out of range; the message names it
  //   FailedPrecondition  Java or ZooKeeper's server is missing (the message names the packages),
  //                       or the directory is not empty
  //   DeadlineExceeded    not all serve within `start_timeout`; the message ends with the last
  //                       lines of a log
  //   Unavailable         a server ended by itself; the message ends in the same way
  static absl::StatusOr<std::unique_ptr<LocalEnsemble>> Start(LocalEnsembleOptions options = {});

  // Kills all servers and waits until they have ended (about ten milliseconds); removes the
  // directory if the options say so.
  ~LocalEnsemble();
  LocalEnsemble(const LocalEnsemble&) = delete;
  LocalEnsemble& operator=(const LocalEnsemble&) = delete;

  int size() const;
  std::string servers() const;      // "127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003"
  std::string server(int i) const;  // "127.0.0.1:20002".  REQUIRES: 0 <= i < size()
  std::string directory() const;

  MemberState state(int i);  // REQUIRES: 0 <= i < size()
  int pid(int i);            // 0 when kDown.  REQUIRES: 0 <= i < size()

  // Ends a member with SIGTERM (Stop) or SIGKILL (Kill) and waits until it has ended. Does nothing
  // to a member that is kDown.
  //   DeadlineExceeded  (Stop) it did not end within ten seconds, and was killed
  absl::Status Stop(int i);
  absl::Status Kill(int i);

  // SIGSTOP and SIGCONT. Idempotent.
  //   FailedPrecondition  the member is kDown
  absl::Status Pause(int i);
  absl::Status Resume(int i);

  // Restarts a member (a running one is stopped first) and blocks until it answers on its port, at
  // most `start_timeout`. It may not have joined a quorum yet. DeadlineExceeded and Unavailable
  // mean what they do for Start.
  absl::Status Restart(int i);

  // The member that leads, or the only one. Blocks up to half a second per member that does not
  // answer.
  //   NotFound  no member leads, or (during a change of leader) more than one claims to
  absl::StatusOr<int> Leader();

  // Block until one member leads and a majority serves, or until every member serves.
  //   DeadlineExceeded  not within `timeout`; the message says in which mode each member is
  absl::Status WaitForQuorum(Duration timeout);
  absl::Status WaitForAll(Duration timeout);

  // Sends one of ZooKeeper's four letter words ("srvr", "mntr", "wchs", "cons", "dump", ...) and
  // returns the answer. Blocks up to three seconds. A server that has no quorum answers most words
  // with "This ZooKeeper instance is not currently serving requests".
  //   InvalidArgument   `word` is not four lower-case letters
  //   Unavailable       nothing listens there, or the connection broke
  //   DeadlineExceeded  no answer in time
  absl::StatusOr<std::string> FourLetterWord(int i, const std::string& word);

  // The last lines of a member's log, for messages; empty if there are none.
  std::string LogTail(int i, int lines = 20) const;

 private:
  class Impl;
  explicit LocalEnsemble(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_ENSEMBLE_H_
