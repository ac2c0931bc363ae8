// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_CLIENT_CONFIG_FOLLOWER_H_
#define ZKRECIPES_LIB_SESSION_CLIENT_CONFIG_FOLLOWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/session/session.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::session::client {

// Keeps a session's list of servers as the ensemble's own (ClientOptions::follow_config): reads it
// after each connection and after each change. What it may not read, cannot read or has no ports
// for clients changes nothing, and neither does a version that is not newer than one before: a
// server may lag. On the reactor; Stop before the session goes.
class ConfigFollower : public SessionListener {
 public:
  // `reactor` outlives it.
  ConfigFollower(zk::Reactor* reactor, Session* session) : reactor_(reactor), session_(session) {}
  void Start() { session_->Join(this); }
  void Stop();  // idempotent

  void OnConnected() override;
  // Servers that have lost their data count from the beginning.
  void OnExpired() override {
    watched_ = false;
    version_.reset();
  }
  void OnFailed(const absl::Status& /*why*/) override {}  // the session may be tried again
  void OnClosing() override { Stop(); }

 private:
  void Watch();
  void Read();
  void Take(const std::string& text);
  void AskAgain();

  zk::Reactor* const reactor_;
  Session* session_;  // null: stopped
  bool watched_ = false;
  bool asks_again_ = false;
  std::optional<uint64_t> version_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace zkrecipes::session::client

#endif  // ZKRECIPES_LIB_SESSION_CLIENT_CONFIG_FOLLOWER_H_
