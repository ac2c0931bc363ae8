// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZK_SESSION_H_
#define ZKRECIPES_INTEGRATION_ZK_SESSION_H_

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "lib/base/mutex.h"
#include "lib/zk/handle.h"
#include "lib/zk/loop.h"
#include "lib/zk/types.h"

namespace zkrecipes::integration {

// What happened, one line each, in order. Thread-safe.
class Journal {
 public:
  void Add(std::string line);
  std::vector<std::string> lines() const;
  int Count(const std::string& line) const;
  // Waits until `line` was added `times` times; false if that did not happen in time.
  bool WaitFor(const std::string& line, int times = 1,
               absl::Duration at_most = absl::Seconds(20)) const;
  void Clear();

 private:
  mutable base::Mutex mutex_;
  mutable base::CondVar added_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

// One handle of the library's lowest layer on a loop, for a test's thread. What the handle's
// listener hears goes into the journal:
//   "connected", "disconnected 0", "ended ZSESSIONEXPIRED", "deleted /a", "changed /a", "data /a"
class ZkSession {
 public:
  struct Options {
    std::string servers;  // numeric; tried in this order
    absl::Duration timeout = absl::Seconds(10);
    std::string credentials = "";
    std::vector<zk::AclEntry> acl = {};
  };

  // Opens a handle; does not wait for its connection.
  ZkSession(std::shared_ptr<zk::Loop> loop, const Options& options);
  // Closes impatiently if Close was not called.
  ~ZkSession();

  // Sends one request and waits for its reply.
  zk::Reply Do(zk::Request request);
  std::future<zk::Reply> Send(zk::Request request);
  // Runs `task` on the loop and waits for its end.
  void OnLoop(const std::function<void(zk::Handle&)>& task);
  // Returns how long it took.
  absl::Duration Close(bool patient = true);
  // Destroys the handle on the caller's thread, as only a forked child may: it has no other.
  void DestroyInForkedChild();
  int pending();

  bool WaitUntilConnected(int times = 1) { return journal_.WaitFor("connected", times); }
  Journal& journal() { return journal_; }
  // Of the latest connection.
  zk::SessionId id() const;
  absl::Duration negotiated() const;
  base::BootTime began() const;

 private:
  class Listener;
  void RunAndWait(const std::function<void()>& task);

  const std::shared_ptr<zk::Loop> loop_;
  Journal journal_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<zk::Handle> handle_;  // of the loop's thread
};

// "deleted", "changed" (the children), "data" (or created).
const char* EventText(zk::WatchEvent event);

// Sends `request` from a task of the loop; the journal gets "<name> <code>" with the reply.
void SendAndNote(zk::Handle& handle, const zk::Request& request, Journal& journal,
                 const std::string& name);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_ZK_SESSION_H_
