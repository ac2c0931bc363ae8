// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_H_
#define ZKRECIPES_LIB_SESSION_SESSION_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/session/epoch_record.h"
#include "lib/session/heartbeat.h"
#include "lib/session/machine/session_machine.h"
#include "lib/session/needs.h"
#include "lib/session/path_budget.h"
#include "lib/session/server_report.h"
#include "lib/session/stop_requests.h"
#include "lib/session/watchers.h"
#include "lib/zk/loop/resolver.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"
#include "zkrecipes/session_report.h"

namespace zkrecipes::session {

// Receives a session's events: a contender, with nodes in it, or an observer. Called on the
// reactor. It may join, part and send from inside any of these calls.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  // False if it does not need the session to be proven alive. If this, or BelievesAWriteFor, changes while
  // the listener is there, it says so by Session::NeedChanged: whenever it may have.
  virtual bool NeedsProof() const { return true; }
  // It has held a lease that needed proof, and parts.
  virtual bool HeldALease() const { return false; }
  // For how long it believes that the session lives after a confirmed write: lock-delay mode.
  virtual absl::Duration BelievesAWriteFor() const { return absl::InfiniteDuration(); }
  // A node that it would like to be looked at while the session sends reads and no beats; "": none.
  virtual std::string LooksAt() const { return ""; }
  virtual void OnLooked(bool /*there*/) {}
  // Every eighth of the session timeout while any listener wants it: Session::WantLooks.
  virtual void OnLook() {}
  // Leases granted in the current validity are over by now. Comes before OnExpired and OnLapsed, to
  // all listeners before any of them does more: only what must happen in time belongs here. It must
  // not join, part or send.
  virtual void OnValidityEnded(bool /*expired*/) {}
  virtual void OnConnected() = 0;     // see Session::id()
  virtual void OnDisconnected() = 0;  // connection lost; the session may live
  virtual void OnExpired() = 0;       // the session has ended, with its nodes and watches
  virtual void OnLapsed() = 0;        // the SessionValidity ended: leases granted in it are lost
  virtual void OnProven() = 0;        // validity() was unproven until now
  // The session's epoch() cannot be read: a grant of what it has sent until now has none.
  virtual void OnEpochUnreadable(const absl::Status& /*why*/) {}
  virtual void OnFailed(const absl::Status& why) = 0;  // there will be no session any more
  virtual void OnClosing() = 0;                        // leave, then part

 private:
  friend class Session;
  Need counted_;  // by its session: what it said last
};

// kTrouble: still no connection; see Session::trouble().
enum class Change { kTrouble, kConnected, kSuspended, kExpired, kFailed, kClosed };

// A client's session, and the next one when it has expired: carries out SessionMachine's actions.
// Everything on the reactor; destroy it there too, after Close has reported.
class Session : private Heartbeat::Owner {
 public:
  struct Options {
    zk::ServerList servers;
    zk::HandleOptions handle;  // `servers`, `pace` and `seed` in it are filled in here
    Heartbeat::Options heartbeat;
    std::shared_ptr<StopRequests> stops;
    absl::AnyInvocable<void(Change)> on_change;
    std::function<void(const SessionReport&)> on_report = {};  // may be null
  };

  Session(std::shared_ptr<zk::Reactor> reactor, zk::HandleFactory* factory,
          std::shared_ptr<zk::loop::Resolver> resolver, Options options);
  ~Session() override;

  void Start();
  // Asks the listeners to leave, waits for them and for everything pending, at most one session
  // timeout, then ends the session. `closed` runs once: OK, or DeadlineExceeded if something could
  // not be confirmed in that time and stays until the session expires.
  void Close(absl::AnyInvocable<void(absl::Status) &&> closed);

  // Replaces the servers, and in time those of the current connection: see zk::Handle::SetServers.
  void SetServers(std::vector<zk::ServerAddress> servers);
  // For this session and those that follow: see zk::Handle::SetCredentials.
  void SetCredentials(const base::Secrets& all);

  void Join(SessionListener* listener);  // OnFailed, OnClosing or OnConnected may come at once
  void Part(SessionListener* listener);
  void NeedChanged(SessionListener* listener);
  // A listener wants OnLook, or no longer does. One timer for all: a short lease pays for none.
  void WantLooks(bool wanted);
  // Tells every listener of OnValidityEnded, in one batch of stop requests.
  void AnnounceEnded(bool expired);

  bool connected() const { return machine_.connected(); }
  zk::SessionId id() const { return machine_.session(); }
  // Null without a session. See Heartbeat.
  const std::shared_ptr<SessionValidity>& validity(bool lapses = true) const {
    return heartbeat_.validity(lapses);
  }
  const machine::ExpiryMargins& margins() const { return options_.heartbeat.margins; }
  absl::Duration timeout() const { return timeout_; }  // negotiated; before that: as requested
  // Why there is no connection, with what each server did; OK while there is one.
  const absl::Status& trouble() const { return trouble_; }

  // The ensemble's epoch (epoch_record.h) as the session began: read before its first node is created,
  // so that no token goes with an epoch that began after it. It stays, whatever is written later.
  // Unavailable: not answered yet, which it is before all that listeners send on the same connection.
  const absl::StatusOr<int64_t>& epoch() const { return epoch_; }
  // Asks for it unless it is known, or asked for: also when it could not be read before.
  void ReadEpoch();

  // See Heartbeat.
  zk::Request CommittedBarrier() const { return heartbeat_.CommittedBarrier(); }
  // See zk::Handle::Send. Without a connection: kConnectionLoss.
  // (A template, since `done` in another callable would be another piece of memory a request.)
  template <typename Done>
  void Send(const zk::Request& request, Done done);

  // Sends a WatchNode or a WatchExists; `set` gets its reply, and once it is armed `fired` is called
  // at most once. All watches end without a call when the session expires.
  machine::WatcherId Watch(zk::Watch watch, zk::Handle::Done set, Watchers::Fired fired);
  // `fired` will not be called after this. Takes what Watch took and gave; unknown ids are ignored.
  void Unwatch(const zk::Watch& watch, machine::WatcherId id);

  PathBudget& ephemeral_budget() { return ephemeral_budget_; }
  PathBudget& watch_budget() { return watch_budget_; }

 private:
  class HandleListener;  // one for each handle, so that an old handle's events can be ignored
  friend class HandleListener;

  void On(const machine::Event& event);
  void Act(const machine::action::Resolve&);
  void Act(const machine::action::OpenHandle&);
  void Act(const machine::action::CloseHandle&);
  void Act(const machine::action::SetServers&);
  void Act(const machine::action::StartPause& pause);
  void Act(const machine::action::AnnounceConnected& connected);
  void Act(const machine::action::AnnounceDisconnected&);
  void Act(const machine::action::AnnounceExpired&);
  void Act(const machine::action::AnnounceFailed& failed);
  void Act(const machine::action::Drain&);
  void Act(const machine::action::AnnounceClosed&);

  void OnResolved(absl::StatusOr<zk::Resolution> resolution);
  void Announce(Change change);
  void Trouble(absl::Status why);
  void SendBeat(const zk::Request& request, zk::Handle::Done done) override;
  void SendIdleRead(const zk::Request& read, zk::Handle::Done done) override;
  void OnAnswered(absl::Duration round_trip, std::optional<absl::Duration> least_left) override;
  SessionListener* NextToLook();
  void Looked(SessionListener* listener, const std::string& path, zk::Code code);
  void OnProven() override;
  void OnLapsed() override;
  void BeginEpoch(bool new_session);
  void OnEpoch(const zk::Reply& reply);
  bool SilentForTimeout() const;
  void Count(SessionListener* listener, const Need& need);
  void CheckDrained();
  void StartLooks();
  void RemoveServerWatch(const zk::Watch& watch);
  void RemoveWatchesLeftBehind();
  template <typename F>
  void ForEachListener(F f);
  // Runs `task` on the reactor, later, unless this Session is gone by then. Thread-safe.
  void PostGuarded(zk::Reactor::Task task);
  void AnswerLost(zk::Handle::Done done);
  zk::Reactor::Task Guarded(zk::Reactor::Task task);

  const std::shared_ptr<zk::Reactor> reactor_;
  zk::HandleFactory* const factory_;
  const std::shared_ptr<zk::loop::Resolver> resolver_;
  Options options_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();

  machine::SessionMachine machine_;
  std::unique_ptr<HandleListener> listener_;
  std::unique_ptr<zk::Handle> handle_;
  uint64_t list_ = 0;              // which list of servers: an answer for an earlier one is void
  zk::Resolution resolved_;        // the latest; the handle has it since OpenHandle or SetServers
  std::set<std::string> reached_;  // those that the handle was connected to
  absl::Duration timeout_;
  ServerReport report_;
  absl::Status trouble_;
  absl::Status failed_;  // not OK: refused for good

  base::BootTime began_;         // when the attempt that made the current connection began
  base::BootTime disconnected_;  // since when, if it is not connected
  Heartbeat heartbeat_;
  absl::StatusOr<int64_t> epoch_ = EpochIn({.code = zk::Code::kConnectionLoss});
  bool reading_epoch_ = false;

  std::vector<SessionListener*> listeners_;  // in the order of joining
  int parted_ = 0;                           // how many have left
  Needs needs_;                              // of them
  int looks_wanted_ = 0;                     // how many of them want OnLook
  bool looking_ = false;                     // its timer runs
  size_t looked_ = 0;                        // which of them had its node looked at last
  Watchers watchers_;
  std::set<zk::Watch> left_behind_;  // unwanted, and perhaps still on the server
  PathBudget ephemeral_budget_;
  PathBudget watch_budget_;

  bool closing_ = false;
  bool drained_ = false;
  absl::AnyInvocable<void(absl::Status) &&> closed_;
};

// Iterates over a copy, because a listener may meanwhile join or part, itself or another one.
template <typename Done>
void Session::Send(const zk::Request& request, Done done) {
  if (handle_ == nullptr) return AnswerLost(std::move(done));
  handle_->Send(request,
                [this, alive = std::weak_ptr<char>(alive_), sent = heartbeat_.Sent(request),
                 done = std::move(done)](zk::Reply&& reply) mutable {
                  // First, so that `done` finds what this answer proves.
                  if (!alive.expired()) heartbeat_.Answered(sent, reply.code);
                  std::move(done)(std::move(reply));
                  if (!alive.expired()) CheckDrained();
                });
}

template <typename F>
void Session::ForEachListener(F f) {
  const std::vector<SessionListener*> now = listeners_;
  const int parted = parted_;
  const auto is_there = [&](SessionListener* listener) {
    return parted == parted_ ||
           std::find(listeners_.begin(), listeners_.end(), listener) != listeners_.end();
  };
  for (SessionListener* listener : now) {
    if (is_there(listener)) f(listener);
  }
}

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_H_
