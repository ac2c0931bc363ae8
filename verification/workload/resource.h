// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"

#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"
#include "lib/base/unique_fd.h"
#include "verification/checker/event.h"

namespace zkrecipes::history {

// What the locks guard, on its own side: it knows nothing of ZooKeeper, trusts no worker, and remembers
// for each path the largest tokens that it has admitted. An exclusive write is admitted if no write
// had a larger token; a shared one if no exclusive write had. Not thread-safe.
class Resource {
 public:
  // Fills in whether the kWrite is accepted, and its order: counted over all paths, from 1.
  void Judge(Event& write);

  struct Counts {
    int64_t accepted = 0;
    int64_t refused = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct LargestTokens {
    int64_t exclusive = 0;
    int64_t shared = 0;
  };

  std::map<std::string, LargestTokens> largest_;  // by path
  Counts counts_;
};

// A Resource for many workers, each at the other end of a SOCK_SEQPACKET socket. A worker sends the
// kWrite that it asks for, as ToLine writes it, and gets it back judged. A thread for each: a worker that
// does not read its answers loses them, and holds up no other. For one thread.
class ResourceServer {
 public:
  ResourceServer() = default;
  ~ResourceServer();
  ResourceServer(const ResourceServer&) = delete;
  ResourceServer& operator=(const ResourceServer&) = delete;

  // Answers what comes from there until the other end closes it, or sends something else.
  void Add(base::UniqueFd socket);

  // Of all workers so far.
  Resource::Counts counts() const {
    base::MutexLock lock(mutex_);
    return resource_.counts();
  }

 private:
  struct Peer {
    base::UniqueFd socket;
    std::jthread thread;
  };
  bool Answer(int socket);  // one message; false at the end

  mutable base::Mutex mutex_;
  Resource resource_ ABSL_GUARDED_BY(mutex_);
  std::list<Peer> peers_;  // Add's and the destructor's
};

// The worker's way to the resource (see ResourceServer). Thread-safe.
class ResourceClient {
 public:
  explicit ResourceClient(int to) : to_(to) {}

  // Blocks until the write is judged. nullopt once Close was called: what the resource did is not known.
  // REQUIRES: no other write of its attempt is under way.
  std::optional<Event> Write(const Event& write);

  void OnAnswer(const std::string& line);
  void Close();  // there will be no more answers

 private:
  using Answer = std::optional<Event>;

  const int to_;
  base::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // By attempt.
  std::map<int64_t, std::shared_ptr<base::OneShot<Answer>>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
