// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_MEMORY_HANDLE_H_
#define ZKRECIPES_TESTING_MEMORY_MEMORY_HANDLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lib/zk/seam/connect_pace.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/pending_replies.h"
#include "lib/zk/seam/servers.h"
#include "testing/memory/model_ensemble.h"

namespace zkrecipes::testing::memory {

class Host;

// A client library's handle to the ensemble in memory: behaves as lib/zk's CHandle does over the C
// client. Connects to one server after another, pings when idle for a third of the session timeout,
// gives a silent server up after two thirds, and sets its watches again on a new connection.
class MemoryHandle final : public zk::Handle {
 public:
  // `host` and `ensemble` outlive it.
  MemoryHandle(Host* host, ModelEnsemble* ensemble, const zk::HandleOptions& options,
               zk::HandleListener* listener);
  ~MemoryHandle() override;

  void Send(const zk::Request& request, Done done) override;
  void EndSession(Done done) override;
  void Close() override;
  void SetServers(const zk::Resolution& servers, bool leave) override;
  void LeaveServer() override;
  bool TakeProgress() override { return false; }  // messages come whole
  void SetCredentials(const base::Secrets& all) override;
  int pending() const override { return pending_.size(); }
  std::string server() const override { return server_; }
  bool served() const override { return seen_zxid_ > 0; }
  bool OnKeeper() const override { return on_keeper_; }
  zk::ConnectPace pace() const override { return pace_; }

  // ---- For the Host -----------------------------------------------------------------------------

  bool HasNews() const;
  void Deliver();  // the next message, or that the connection is lost. REQUIRES: HasNews()
  void BreakLater() { BreakLater(kClosed); }
  void Break() { Break(kClosed); }  // the connection goes now
  bool connected() const { return connected_; }
  ConnectionId connection() const { return connection_; }

 private:
  struct Receiving;  // one message
  // As CHandle has them, of zk::ServerFailure.
  struct Failure {
    NoConnection cause;
    const char* what;
  };
  static constexpr Failure kClosed = {NoConnection::kHungUp, "closed the connection"};
  static constexpr Failure kHungUp = {NoConnection::kHungUp,
                                      "closed the connection during the handshake"};
  static constexpr Failure kLate = {NoConnection::kSilent, "did not answer in time"};
  static constexpr Failure kRefused = {NoConnection::kRefused, "refused the connection"};
  static constexpr Failure kForeign = {NoConnection::kRejected, "is of another ensemble"};

  zk::Reactor::Task Guarded(zk::Reactor::Task task);
  void Connect();
  int ChooseAddress();
  void GiveUpAfter(absl::Duration limit);
  void BreakLater(Failure failure);
  void Break(Failure failure);
  void Lose(zk::Code code, Failure failure);
  void FailAttempt(Failure failure, bool late = false);
  void RetryLater(bool late);
  zk::ConnectPace::Terms PaceTerms() const;
  void HangUp();
  void CheckLiveness();
  void CheckLivenessAt(base::BootTime when);
  void SetWatchesAgain();
  void NoteWatch(const zk::Request& request, zk::Code code);
  void End();
  void OnSessionEnded();

  Host* const host_;
  ModelEnsemble* const ensemble_;
  zk::HandleListener* const listener_;
  zk::HandleOptions options_;  // the credentials may become more
  zk::PendingReplies pending_;
  zk::ConnectPace pace_;
  // Gone with the handle: tells its timers that there is nothing to do.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);

  ConnectionId connection_ = 0;
  zk::Rotation rotation_;
  std::string server_;  // of the connection, or of the one before
  int failed_attempts_ = 0;
  bool connected_ = false;
  bool on_keeper_ = false;
  bool ended_ = false;
  bool closed_ = false;
  zk::Code end_code_ = zk::Code::kSessionExpired;
  uint64_t end_id_ = 0;  // of EndSession
  zk::SessionId session_ = 0;
  absl::Duration timeout_;
  int64_t seen_zxid_ = 0;
  // Watches that are set, as far as is known; true: of a node that was not there.
  std::map<zk::Watch, bool> registered_;
  std::map<uint64_t, zk::Request> watch_calls_;  // that change them, on their way

  base::BootTime last_sent_;
  base::BootTime last_heard_;
  base::BootTime began_;  // to connect, last
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_MEMORY_HANDLE_H_
