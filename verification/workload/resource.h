// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "lib/base/mutex.h"
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

  int64_t accepted() const { return accepted_; }
  int64_t refused() const { return asked_ - accepted_; }

 private:
  struct LargestTokens {
    int64_t exclusive = 0;
    int64_t shared = 0;
  };

  std::map<std::string, LargestTokens> largest_;  // by path
  int64_t asked_ = 0;
  int64_t accepted_ = 0;
};

// A Resource for many workers, each at the other end of a SOCK_SEQPACKET socket. A worker sends the
// kWrite that it asks for, as ToLine writes it, and gets it back judged. One thread answers all of them;
// a worker that does not read its answers loses them, and holds up no other. Thread-safe.
class ResourceServer {
 public:
  ResourceServer();
  ~ResourceServer();
  ResourceServer(const ResourceServer&) = delete;
  ResourceServer& operator=(const ResourceServer&) = delete;

  // Answers what comes from there until the other end closes it, or sends something else.
  void Add(base::UniqueFd socket);

  // Writes of all workers so far.
  int64_t accepted() const;
  int64_t refused() const;

 private:
  void Serve();
  bool Answer(int socket);  // what has come; false at its end
  void Wake();

  const base::UniqueFd wake_;  // readable once something was added, or it ends
  mutable base::Mutex mutex_;
  Resource resource_ ABSL_GUARDED_BY(mutex_);
  std::vector<base::UniqueFd> added_ ABSL_GUARDED_BY(mutex_);
  bool end_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<base::UniqueFd> sockets_;  // the thread's own
  std::thread thread_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
