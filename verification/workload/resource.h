// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"

#include "lib/base/mutex.h"
#include "lib/base/unique_fd.h"
#include "verification/checker/event.h"

namespace zkrecipes::history {

// The resource that the locks guard: it knows nothing of ZooKeeper, trusts no worker, and
// remembers for each path the largest tokens that it has admitted. An exclusive write is admitted
// if no write had a larger token; a shared one if no exclusive write had. For one thread, but for
// its own.
class Resource {
 public:
  Resource() = default;
  ~Resource();
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;

  // Fills in whether the kWrite is accepted, and its order: counted over all paths, from 1.
  void Judge(Event& write);

  // Judges what a worker at the other end of this SOCK_SEQPACKET socket asks for, until that closes
  // it or sends something else: a kWrite as ToLine writes it, which it gets back judged. A thread
  // for each: a worker that does not read its answers loses them, and holds up no other.
  void Serve(base::UniqueFd socket);

  struct Counts {
    int64_t accepted = 0;
    int64_t refused = 0;
  };
  Counts counts() const {
    base::MutexLock lock(mutex_);
    return counts_;
  }

 private:
  struct LargestTokens {
    int64_t exclusive = 0;
    int64_t shared = 0;
  };
  struct Peer {
    base::UniqueFd socket;
    std::jthread thread;
  };

  mutable base::Mutex mutex_;
  std::map<std::string, LargestTokens> largest_ ABSL_GUARDED_BY(mutex_);  // by path
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  std::list<Peer> peers_;  // goes first
};

// The worker's way to the resource (see Resource::Serve). Thread-safe: one write after the other,
// since each is answered at once.
class ResourceClient {
 public:
  explicit ResourceClient(int socket) : socket_(socket) {}

  // Blocks until the write is judged. nullopt if the socket was shut down, by whichever end: what
  // the resource did is not known.
  std::optional<Event> Write(const Event& write);

 private:
  const int socket_;
  base::Mutex mutex_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
