// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_OBSERVER_RUNNER_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_OBSERVER_RUNNER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/queue/machine/observer.h"
#include "lib/session/client/client_core.h"
#include "lib/session/retry_pauses.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/leader.h"

namespace zkrecipes::queue::listing {

// Drives one Observer. Everything on the reactor, except Observe. Keeps itself alive while it
// observes.
class ObserverRunner : public session::SessionListener,
                       public std::enable_shared_from_this<ObserverRunner> {
 public:
  using News = absl::StatusOr<std::optional<Leader>>;

  // See LeaderElection::Observe.
  static Subscription Observe(const std::shared_ptr<internal::ClientCore>& core,
                              const std::string& path, absl::AnyInvocable<void(News)> callback);

  void OnConnected() override;
  void OnDisconnected() override;
  void OnExpired() override;
  void OnFailed(const absl::Status& why) override;
  void OnClosing() override;

 private:
  using Subscriber = session::Subscriber<News>;
  struct Watching {
    zk::Watch watch;
    session::machine::WatcherId id = 0;
    session::PathBudget::Reservation bytes;
  };

  ObserverRunner(std::shared_ptr<internal::ClientCore> core, const std::string& path,
                 std::shared_ptr<Subscriber> subscriber);
  void Start(session::Session* session);  // null: the client is closed
  void Fail(absl::Status why);
  void Stop();
  void On(const machine::observing::Event& event);
  void Act(const machine::observing::action::Send& send);
  void Act(const machine::observing::action::Watch& watch);
  void Act(const machine::observing::action::Unwatch& unwatch);
  void Act(const machine::observing::action::StartRetryTimer&);
  void Act(const machine::observing::action::Tell& tell);
  void Act(const machine::observing::action::Fail& fail);

  const std::shared_ptr<internal::ClientCore> core_;
  const std::string path_;
  const std::shared_ptr<Subscriber> subscriber_;
  machine::observing::Observer observer_;
  session::Session* session_ = nullptr;  // null before Start, and once stopped
  std::shared_ptr<ObserverRunner> self_;
  std::map<machine::observing::OpId, Watching> watches_;
  session::RetryPauses retry_pauses_;
};

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_OBSERVER_RUNNER_H_
