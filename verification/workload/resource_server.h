// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_SERVER_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_SERVER_H_

#include <list>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "lib/base/mutex.h"
#include "lib/base/unique_fd.h"
#include "verification/workload/resource.h"
#include "verification/workload/write_lines.h"

namespace zkrecipes::history {

// A Resource for many workers, each at the other end of a stream socket: see write_lines.h. One
// thread answers all of them; who does not read its answers loses them, and holds up nobody.
// Thread-safe.
class ResourceServer {
 public:
  ResourceServer();
  ~ResourceServer();
  ResourceServer(const ResourceServer&) = delete;
  ResourceServer& operator=(const ResourceServer&) = delete;

  // Answers what comes from there until the other end closes it.
  void Add(base::UniqueFd socket);

  // Writes of all workers so far.
  int64_t accepted() const;
  int64_t refused() const;

 private:
  struct Peer {
    base::UniqueFd socket;
    LineBuffer lines = {};
  };

  void Serve();
  bool Answer(Peer& peer);  // what has come; false at its end
  void Wake();

  const base::UniqueFd wake_;  // something was added, or it ends
  mutable base::Mutex mutex_;
  Resource resource_ ABSL_GUARDED_BY(mutex_);
  std::vector<base::UniqueFd> added_ ABSL_GUARDED_BY(mutex_);
  bool end_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Peer> peers_;  // the thread's own
  std::thread thread_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_SERVER_H_
