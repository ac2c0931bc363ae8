// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_C_HANDLE_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_C_HANDLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/process.h"
#include "lib/zk/c_client/c_api.h"
#include "lib/zk/c_client/c_client.h"
#include "lib/zk/c_client/c_codec.h"
#include "lib/zk/c_client/c_hooks.h"
#include "lib/zk/c_client/refusals.h"
#include "lib/zk/seam/connect_pace.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/pending_replies.h"
#include "lib/zk/seam/servers.h"

namespace zkrecipes::zk::c_client {

// One zhandle_t of our private copy of the C client.
//
//   no socket --Prepare--> connecting --connected, session kept--> connected_
//      ^                       |                                       |
//      |      (pace_)          | fails: OnDisconnected(n)              | lost: OnDisconnected(0),
//      +-----------------------+---------------------------------------+       failed replies
//                              |                                       |
//                              +---> ended_: OnEnded, driven no more <-+
//
// It alone chooses the server of each attempt; the C client gets any address, and is led elsewhere
// (Boxes). The C client's callbacks: one watcher function, and one completion for each form of
// reply, to which the request's number in pending_ is all the context (c_requests.cc).
class CHandle final : public Handle, public Pollable {
 public:
  CHandle(const HandleOptions& options, HandleListener* listener, Reactor* reactor,
          PollSet* poll_set);
  ~CHandle() override;  // closes if Close was not called; leaks in a forked child
  absl::Status Open(const HandleOptions& options);

  void Send(const Request& request, Done done) override;
  void EndSession(Done done) override;
  void Close() override;
  void SetServers(const Resolution& servers, bool leave) override;
  void LeaveServer() override;
  bool TakeProgress() override { return boxes_.in.TakeProgress(); }
  void SetCredentials(const base::Secrets& all) override;
  int pending() const override { return pending_.size(); }
  std::string server() const override { return rotation_.current(); }
  bool served() const override { return served_; }
  bool OnKeeper() const override { return boxes_.in.with_keeper(); }
  ConnectPace pace() const override { return pace_; }

  void Drain() override;
  Interest Prepare() override;
  void OnReady(short revents) override;

 private:
  // While one lives, callbacks may be running, and Close is forbidden.
  class Callbacks {
   public:
    explicit Callbacks(CHandle* handle) : handle_(handle) { ++handle_->callbacks_; }
    ~Callbacks() { --handle_->callbacks_; }

   private:
    CHandle* const handle_;
  };
  friend struct Completions;  // the C client's callbacks
  struct Issue;               // sends one request

  // Session (c_handle.cc)
  void OnSessionEvent(int state);
  void OnWatchEvent(int type, const char* path);
  void Connected();
  void Served();  // a request was answered by the server
  void Lost();
  void SendCredential(const base::Secret& credential);
  void End();
  void End(Code why);

  // Failures (c_failures.cc)
  enum class Socket { kNone, kConnecting, kHandshake, kConnected };
  // After a call that failed with `rc`, in state `before`.
  void Failed(Socket before, int rc);
  // The next attempt is put off. `late`: the last one ran out of its time.
  void PutOff(bool late);
  void NoteRefusal(Socket before, int rc);
  // `error`: why the connection could not be made; 0 if it was.
  ServerFailure WhatItDid(Socket before, int rc, int error);
  std::optional<ServerFailure> WhatItDidUnderTls(Socket before, Socket late);

  // Driving (c_drive.cc)
  Socket socket_state() const;
  Socket Before() const;
  bool BeginAttempt(base::BootTime now);
  ConnectPace::Terms PaceTerms() const;
  base::BootTime AttemptEnd() const;
  int Process(int events);
  void ReadSocket();
  Interest AskInterest(base::BootTime now);
  void AbandonLateAttempt(int fd, base::BootTime now);

  // Closing (c_handle.cc)
  void PrepareToClose();

  const base::HomeProcess home_;
  HandleListener* const listener_;
  Reactor* const reactor_;
  PollSet* const poll_set_;
  const CAcl acl_;
  Rotation rotation_;
  Resolution known_;  // its addresses, and the names behind them
  const std::shared_ptr<tls::TlsContext> tls_;

  zhandle_t* zh_ = nullptr;
  Boxes boxes_;
  PendingReplies pending_;
  std::map<uint64_t, std::vector<zoo_op_result_t>> multis_;  // of requests that are on their way
  ConnectPace pace_;
  // Dies with the handle: tells a posted task that there is nothing left to do.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);

  bool connected_ = false;
  bool ended_ = false;
  Code end_code_ = Code::kSessionExpired;
  Refusals refusals_;
  uint64_t end_id_ = 0;     // of EndSession, while it is not answered
  bool write_due_ = false;  // just connected: the C client holds back its first packets
  bool undrained_ = false;  // the inbox may hold more than was processed
  bool served_ = false;     // a server has answered a request of this session
  // The socket is to be left: its server does not answer or is no longer listed, or a credential
  // that was sent on it counts no more.
  bool leaving_ = false;
  Socket abandoned_ = Socket::kNone;  // how far the connection came that was left for its silence
  base::Secrets credentials_;
  int failed_attempts_ = 0;
  int callbacks_ = 0;
  base::BootTime attempt_began_;
};

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_C_HANDLE_H_
