// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/observer_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/listing/node_data.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::listing {
namespace {

namespace action = machine::observing::action;
namespace event = machine::observing::event;

bool Same(const ObserverRunner::News& a, const ObserverRunner::News& b) {
  if (!a.ok() || !b.ok()) return false;
  if (!a->has_value() || !b->has_value()) return a->has_value() == b->has_value();
  return (*a)->node == (*b)->node && (*a)->token == (*b)->token && (*a)->value == (*b)->value &&
         (*a)->owner.id == (*b)->owner.id;
}

// Leaves out what the user was told last. Here, and not where it was read: a state that was read in
// between may have been skipped (TellLatest), and then the next one may be no change for the user.
absl::AnyInvocable<void(ObserverRunner::News)> WithoutRepeats(
    absl::AnyInvocable<void(ObserverRunner::News)> callback) {
  return [last = std::optional<ObserverRunner::News>(),
          callback = std::move(callback)](ObserverRunner::News news) mutable {
    if (last.has_value() && Same(*last, news)) return;
    last = news;
    callback(std::move(news));
  };
}

}  // namespace

Subscription ObserverRunner::Observe(const std::shared_ptr<internal::ClientCore>& core,
                                     const std::string& path,
                                     absl::AnyInvocable<void(News)> callback) {
  // First of all: in a forked child the subscriber's mutex must not be locked.
  if (!core->InHomeProcess()) return Subscription();
  auto subscriber =
      std::make_shared<Subscriber>(core->executor(), WithoutRepeats(std::move(callback)));
  if (absl::Status status = zk::ValidatePath("path", path); !status.ok()) {
    subscriber->Tell(std::move(status));
    return session::SubscriptionOf(std::move(subscriber));
  }
  // Both tasks keep the runner alive, and the reactor runs them in this order, so a subscription
  // that ends at once still finds the runner started.
  std::shared_ptr<ObserverRunner> runner(new ObserverRunner(core, path, subscriber));
  core->Post([runner](session::Session* session) { runner->Start(session); });
  return session::SubscriptionOf<News>(std::move(subscriber), [core, runner] {
    core->Post([runner](session::Session*) { runner->Stop(); });
  });
}

ObserverRunner::ObserverRunner(std::shared_ptr<internal::ClientCore> core, const std::string& path,
                               std::shared_ptr<Subscriber> subscriber)
    : core_(std::move(core)),
      path_(path),
      subscriber_(std::move(subscriber)),
      observer_(core_->name_space().ToServer(path)) {}

void ObserverRunner::Start(session::Session* session) {
  if (session == nullptr) return Fail(absl::FailedPreconditionError("the client is closed"));
  session_ = session;
  // Before Join, which may announce a connection, and thereby events, at once.
  self_ = shared_from_this();
  session_->Join(this);
}

void ObserverRunner::Fail(absl::Status why) {
  subscriber_->TellLatest(std::move(why));
  Stop();
}

void ObserverRunner::Stop() {
  const std::shared_ptr<ObserverRunner> alive = std::move(self_);
  if (session_ == nullptr) return;
  for (const auto& [op, watching] : watches_) session_->Unwatch(watching.watch, watching.id);
  watches_.clear();
  std::exchange(session_, nullptr)->Part(this);
}

void ObserverRunner::OnConnected() {
  retry_pauses_.Reset();
  On(event::Connected{});
}
void ObserverRunner::OnDisconnected() { On(event::Disconnected{}); }

// The server's watches went with the session, so there is nothing to take off.
void ObserverRunner::OnExpired() {
  watches_.clear();
  On(event::Expired{});
}

void ObserverRunner::OnFailed(const absl::Status& why) { Fail(why); }

void ObserverRunner::OnClosing() { Fail(absl::FailedPreconditionError("the client is closed")); }

void ObserverRunner::On(const machine::observing::Event& event) {
  const std::shared_ptr<ObserverRunner> alive = self_;
  if (alive == nullptr) return;  // stopped
  for (const machine::observing::Action& action : observer_.On(event)) {
    if (session_ != nullptr) std::visit([this](const auto& a) { Act(a); }, action);
  }
}

void ObserverRunner::Act(const action::Send& send) {
  session_->Send(send.request, [self = self_, op = send.op](const zk::Reply& reply) {
    self->On(event::Replied{op, reply});
  });
}

void ObserverRunner::Act(const action::Watch& watch) {
  // A client sets all its watches again in one request after a reconnection, which must not be too
  // long for the server.
  auto bytes =
      session_->watch_budget().Reserve(watch.watch.path.size() + session::PathBudget::kPerWatch);
  if (!bytes) {
    return Fail(absl::ResourceExhaustedError(
        absl::StrCat("observe ", path_, ": this client has too many watches for one ZooKeeper ",
                     "session (", session::PathBudget::kLimit, " bytes of paths)")));
  }
  Watching& watching = watches_[watch.op];
  watching.watch = watch.watch;
  watching.bytes = std::move(bytes);
  watching.id = session_->Watch(
      watch.watch,
      [self = self_, op = watch.op](const zk::Reply& reply) {
        self->On(event::Replied{op, reply});
      },
      [self = self_, op = watch.op](const std::string&, zk::WatchEvent what) {
        // It fires once: the server has taken it off.
        self->watches_.erase(op);
        self->On(event::Fired{op, what});
      });
}

void ObserverRunner::Act(const action::Unwatch& unwatch) {
  const auto it = watches_.find(unwatch.op);
  if (it == watches_.end()) return;
  session_->Unwatch(it->second.watch, it->second.id);
  watches_.erase(it);
}

void ObserverRunner::Act(const action::StartRetryTimer&) {
  zk::Reactor& reactor = *core_->reactor();
  const absl::Duration pause =
      retry_pauses_.Next(reactor.Now(), session_->timeout(), reactor.Random());
  reactor.CallAt(reactor.Now() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->On(event::RetryDue{});
  });
}

void ObserverRunner::Act(const action::Tell& tell) {
  std::optional<Leader> leader;
  if (tell.head.has_value()) leader = listing::DescribeLeader(*tell.head);
  // A slow callback misses the states between two calls, never the latest.
  subscriber_->TellLatest(std::move(leader));
}

void ObserverRunner::Act(const action::Fail& fail) {
  Fail(zk::ToStatus(fail.code, "observe", path_));
}

}  // namespace zkrecipes::queue::listing
