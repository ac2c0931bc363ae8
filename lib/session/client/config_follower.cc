// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/config_follower.h"

#include <utility>

#include "lib/zk/seam/server_list.h"

namespace zkrecipes::session::client {
namespace {

constexpr int kAskAgainFraction = 10;  // of a session timeout, after what was throttled

}  // namespace

void ConfigFollower::Stop() {
  if (session_ != nullptr) std::exchange(session_, nullptr)->Part(this);
}

// The watch first, so that what changes after the answer is heard of. It outlives reconnections.
void ConfigFollower::OnConnected() {
  if (!watched_) Watch();
  Read();
}

void ConfigFollower::Watch() {
  // The session may answer after this object has gone, or after Stop.
  const auto guarded = [this, alive = std::weak_ptr<char>(alive_)] {
    return !alive.expired() && session_ != nullptr;
  };
  watched_ = true;
  session_->Watch(
      {zk::kEnsembleConfigPath, zk::WatchKind::kExists},
      [this, guarded](const zk::Reply& reply) {
        if (!guarded()) return;
        const bool armed = reply.code == zk::Code::kOk || reply.code == zk::Code::kNoNode;
        if (!armed) watched_ = false;
        if (reply.code == zk::Code::kThrottled) AskAgain();
      },
      [this, guarded](const std::string&, zk::WatchEvent) {
        if (!guarded()) return;
        Watch();
        Read();
      });
}

void ConfigFollower::Read() {
  session_->Send(zk::Get{zk::kEnsembleConfigPath},
                 [this, alive = std::weak_ptr<char>(alive_)](const zk::Reply& reply) {
                   if (alive.expired() || session_ == nullptr) return;
                   if (reply.code == zk::Code::kOk) Take(reply.data);
                   if (reply.code == zk::Code::kThrottled) AskAgain();
                 });
}

// The connection may stay for as long as the list that it is to follow.
void ConfigFollower::AskAgain() {
  if (std::exchange(asks_again_, true)) return;
  reactor_->CallAt(reactor_->Now() + session_->timeout() / kAskAgainFraction,
                   [this, alive = std::weak_ptr<char>(alive_)] {
                     if (alive.expired()) return;
                     asks_again_ = false;
                     if (session_ != nullptr && session_->connected()) OnConnected();
                   });
}

void ConfigFollower::Take(const std::string& text) {
  auto config = zk::ParseEnsembleConfig(text);
  // Better the list that works than one that may be garbled: a client without servers never comes
  // back.
  if (!config.ok() || config->servers.empty()) return;
  // A server that lags behind must not bring back a list that was replaced.
  if (version_.has_value() && config->version <= *version_) return;
  version_ = config->version;
  session_->SetServers(std::move(config->servers));
}

}  // namespace zkrecipes::session::client
