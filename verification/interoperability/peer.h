// SPDX-License-Identifier: Apache-2.0
//
// A process of another library's, on the same servers: peers/CuratorPeer.java, peers/kazoo_peer.py;
// or of ours, peers/our_peer.cc, which knows make, believe and hold. It says "ready", then reads
// commands, a line each:
//   make ID RECIPE PATH   a participant; its commands are carried out one after the other
//   acquire ID            "granted ID"
//   release ID            "released ID"
//   count ID              "counted ID N": its own list of who participates
//   rounds ID             takes turns for ever, and tells its history: "invoke TIME",
//                         "grant TIME NODE TOKEN SESSION", "release TIME", "released TIME STATUS",
//                         "failed TIME STATUS". One a process
//   believe ID            acquires, "invoke TIME", "grant ...", and looks for ever:
//                         "look TIME PLAIN TOLD", each "true" or "false". One a process
// It answers "failed ID WHY" for a command that fails. It ends with its input.
//
// Started as `PEER SERVERS hold PATH LOCKS MS...` it reads nothing. For each session timeout MS it
// has so many locks, PATH/MS-NUMBER, and for each of them two contenders with a session each, who
// contend for ever. It tells when who may work, "WHAT TIME LOCK CONTENDER":
//   grant   it holds the lock and works
//   stop    a listener is told SUSPENDED: it stops, as the libraries' documents ask (not ours,
//           which believes until the lease ends)
//   go      connected again, in the same session: it works again
//   lost    the lease, or the session, is lost. TIME is when ours last believed. It contends anew
//   failed  an acquire or a release failed, and why

#ifndef ZKRECIPES_VERIFICATION_INTEROPERABILITY_PEER_H_
#define ZKRECIPES_VERIFICATION_INTEROPERABILITY_PEER_H_

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

#include "lib/base/mutex.h"
#include "testing/local/server_process.h"
#include "verification/checker/event.h"

namespace zkrecipes::integration {

enum class PeerKind { kCurator, kKazoo, kOurs };

class Peer {
 public:
  // Returns once it is connected, or fails the test.
  Peer(PeerKind kind, const std::string& servers,
       absl::Duration session_timeout = absl::Seconds(10));
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Makes a participant, and returns its ID.
  std::string Make(const std::string& recipe, const std::string& path);
  void Tell(const std::string& command);
  // Whether it says this line, which has not been awaited before.
  bool Hears(const std::string& line, absl::Duration patience = absl::Seconds(30));
  bool HasSaid(const std::string& line) const;
  std::vector<std::string> lines() const;
  testing::ServerProcess& process() { return process_; }

 private:
  void Read(int from);

  testing::ServerProcess process_;
  int to_ = -1;
  int made_ = 0;
  mutable base::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  std::thread reader_;
};

// Add this to a peer's times, which are CLOCK_MONOTONIC's, for those of the events.
int64_t BootLessMonotonic();
// `words`: "grant TIME NODE TOKEN SESSION". Fails the test if they are not.
void ReadGrant(const std::vector<std::string>& words, history::Event& event);
// How many grants it has told of.
int64_t GrantsOf(const Peer& peer);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_VERIFICATION_INTEROPERABILITY_PEER_H_
