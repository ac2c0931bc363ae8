// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_PATH_FOLLOWER_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_PATH_FOLLOWER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/random.h"
#include "lib/queue/machine/group_view.h"
#include "lib/queue/machine/observer.h"
#include "lib/session/client/client_core.h"
#include "lib/session/retry_pauses.h"
#include "lib/session/subscriber.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::listing {

// What Followers of all machines share: it passes on the session's events, and carries out what is
// asked of the session. Everything on the reactor. Keeps itself alive while it follows.
class PathFollower : public session::SessionListener,
                     public std::enable_shared_from_this<PathFollower> {
 public:
  // `open`: the client is. It follows in whichever session has room for its watch.
  void Start(bool open);
  void Stop();

  void OnConnected() override;
  void OnDisconnected() override;
  void OnExpired() override;
  void OnFailed(const absl::Status& why) override;
  void OnClosing() override;

 protected:
  using OpId = machine::observing::OpId;

  PathFollower(std::shared_ptr<internal::ClientCore> core, std::string path, const char* operation);

  // Passes it to the machine, and carries out what that returns.
  virtual void Handle(const machine::observing::Event& event) = 0;
  virtual void TellLast(absl::Status why) = 0;

  void Act(const machine::observing::action::Send& send);
  void Act(const machine::observing::action::Watch& watch);
  void Act(const machine::observing::action::Unwatch& unwatch);
  void Act(const machine::observing::action::StartRetryTimer&);
  void Act(const machine::observing::action::Fail& fail);

  bool following() const { return session_ != nullptr; }
  std::string parent() const { return core_->name_space().ToServer(path_); }
  // `then` runs after `pause`, if it still follows.
  void After(absl::Duration pause, absl::AnyInvocable<void() &&> then);
  zk::Reactor& reactor() { return *core_->reactor(); }

 private:
  struct Watching {
    zk::Watch watch;
    session::machine::WatcherId id = 0;
  };

  void Fail(absl::Status why);
  void On(const machine::observing::Event& event);

  const std::shared_ptr<internal::ClientCore> core_;
  const std::string path_;
  const char* const operation_;
  session::Session* session_ = nullptr;  // null before Start, and once stopped
  std::shared_ptr<PathFollower> self_;
  session::PathBudget::Reservation room_;
  std::map<OpId, Watching> watches_;
  session::RetryPauses retry_pauses_;
};

// Drives one Machine: its Tells are the news, which may repeat. A slow callback misses the states
// between two calls, never the latest.
template <typename Machine>
class Follower : public PathFollower {
 public:
  using News = absl::StatusOr<typename Machine::Tell>;

  Follower(std::shared_ptr<internal::ClientCore> core, const std::string& path,
           const char* operation, std::shared_ptr<session::Subscriber<News>> subscriber)
      : PathFollower(std::move(core), path, operation),
        subscriber_(std::move(subscriber)),
        machine_(parent()) {}

 private:
  void Handle(const machine::observing::Event& event) override {
    std::visit([this](const auto& e) { this->CarryOut(e); }, event);
  }
  void TellLast(absl::Status why) override { subscriber_->TellLatest(std::move(why)); }
  template <typename Event>
  void CarryOut(const Event& event) {
    for (const auto& action : machine_.On(event)) {
      // An action may have been the last.
      if (following()) std::visit([this](const auto& a) { this->Act(a); }, action);
    }
  }
  using PathFollower::Act;
  void Act(const typename Machine::Tell& tell) { subscriber_->TellLatest(tell); }
  void Act(const machine::grouping::action::StartPause& start) {
    After(base::Jittered(start.longest, reactor().Random()),
          [this, op = start.op] { CarryOut(machine::grouping::event::PauseOver{op}); });
  }

  const std::shared_ptr<session::Subscriber<News>> subscriber_;
  Machine machine_;
};

// Leaves out what the user was told last. Here, and not where it was read: a state that was read in
// between may have been skipped (TellLatest), and then the next one may be no change for the user.
template <typename News, typename Same>
absl::AnyInvocable<void(News)> WithoutRepeats(absl::AnyInvocable<void(News)> callback, Same same) {
  return [last = std::optional<News>(), callback = std::move(callback),
          same = std::move(same)](News news) mutable {
    if (last.has_value() && same(*last, news)) return;
    last = news;
    callback(std::move(news));
  };
}

// Has a Machine follow `path` until the Subscription is destroyed. `operation`: for messages.
template <typename Machine>
Subscription Follow(const std::shared_ptr<internal::ClientCore>& core, const std::string& path,
                    const char* operation,
                    absl::AnyInvocable<void(typename Follower<Machine>::News)> callback) {
  using News = typename Follower<Machine>::News;
  // First of all: in a forked child the subscriber's mutex must not be locked.
  if (!core->InHomeProcess()) return Subscription();
  auto subscriber =
      std::make_shared<session::Subscriber<News>>(core->executor(), std::move(callback));
  if (absl::Status status = zk::ValidatePath("path", path); !status.ok()) {
    subscriber->Tell(std::move(status));
    return session::SubscriptionOf(std::move(subscriber));
  }
  // Both tasks keep the follower alive, and the reactor runs them in this order, so a subscription
  // that ends at once still finds it started.
  const auto follower = std::make_shared<Follower<Machine>>(core, path, operation, subscriber);
  core->Post([follower](session::Session* session) { follower->Start(session != nullptr); });
  return session::SubscriptionOf<News>(std::move(subscriber), [core, follower] {
    core->Post([follower](session::Session*) { follower->Stop(); });
  });
}

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_PATH_FOLLOWER_H_
