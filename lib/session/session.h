// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_H_
#define ZKRECIPES_LIB_SESSION_SESSION_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
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
#include "lib/session/reach.h"
#include "lib/session/server_names.h"
#include "lib/session/server_report.h"
#include "lib/session/session_ends.h"
#include "lib/session/session_listener.h"
#include "lib/session/silence_watch.h"
#include "lib/session/stop_requests.h"
#include "lib/session/watchers.h"
#include "lib/zk/loop/resolver.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"
#include "zkrecipes/session_report.h"

namespace zkrecipes::session {

// kTrouble: still no connection; see Session::trouble().
enum class Change { kTrouble, kConnected, kSuspended, kExpired, kFailed, kClosed };

// A client's session, and the next one when it has expired: carries out SessionMachine's actions.
// Everything on the reactor; destroy it there too, after Close has reported.
class Session : private Heartbeat::Owner, private ServerNames::Owner, private SilenceWatch::Owner {
 public:
  struct Options {
    zk::ServerList servers;
    zk::HandleOptions handle;  // `servers`, `pace` and `seed` in it are filled in here
    Heartbeat::Options heartbeat;
    std::shared_ptr<StopRequests> stops;
    std::shared_ptr<Reach> reach;                              // it keeps this up to date
    std::function<void(Change)> on_change = {};                // may be null
    std::function<void(const SessionReport&)> on_report = {};  // likewise
    EpochOptions epoch = {};
    std::function<bool()> client_goes_on = {};  // by another session; may be null
  };

  Session(std::shared_ptr<zk::Reactor> reactor, zk::HandleFactory* factory,
          std::shared_ptr<zk::loop::Resolver> resolver, Options options);
  ~Session() override;

  void Start();
  // Asks the listeners to leave, waits for them and for everything pending, then for the server to
  // confirm that the session is ended: at most one session timeout for all of it. `closed` runs
  // once: OK, or DeadlineExceeded if something could not be confirmed in that time and stays until
  // the session expires. Blocks nothing.
  void Close(absl::AnyInvocable<void(absl::Status) &&> closed);

  // Replaces the servers, and in time those of the current connection: see zk::Handle::SetServers.
  void SetServers(std::vector<zk::ServerAddress> servers);
  const std::vector<zk::ServerAddress>& servers() const { return options_.servers.servers; }
  // For this session and those that follow: see zk::Handle::SetCredentials.
  void SetCredentials(const base::Secrets& all);

  // OnFailed, OnClosing or OnConnected may come inside these calls.
  void Join(SessionListener* listener);
  void Join(ProofListener* listener);
  void Part(SessionListener* listener);
  void Part(ProofListener* listener);
  void NeedChanged(ProofListener* listener);
  // A listener wants OnSuspicionCheck, or no longer does. One timer serves all.
  void WantSuspicionChecks(bool wanted);
  // The servers do not let its node be deleted, which therefore stays for as long as the session.
  // That ends as soon as no lease rests on it, and another one follows.
  void CannotLeave(ProofListener* listener);
  // Nobody who waits should join any more: it ends before its time.
  bool ends_soon() const { return cannot_leave_ > 0; }
  // No lease rests on it: it may end at once.
  bool unneeded() const { return ends_soon() && !needs_.all().lease; }
  // In OnExpired: the server has confirmed the end, so nothing of the session is there any more.
  // Otherwise a node may be there for another while (machine::action::Finished).
  bool end_confirmed() const { return ends_.confirmed(); }
  bool closing() const { return closing_; }
  // See SessionEnds.
  void NotConfirmed() { ends_.NotConfirmed(reactor_->Now(), timeout_); }
  zk::SessionId line() const { return ends_.line(); }
  // Calls OnValidityEnded of every listener, in one batch of stop requests.
  void AnnounceEnded();

  bool connected() const { return machine_.connected(); }
  zk::SessionId id() const { return machine_.session(); }
  // Null without a session. See Heartbeat.
  const std::shared_ptr<SessionValidity>& validity() const { return heartbeat_.validity(); }
  const machine::ExpiryMargins& margins() const { return options_.heartbeat.margins; }
  absl::Duration timeout() const { return timeout_; }  // negotiated; before that: as requested
  // Why there is no connection, with what each server did; OK while there is one.
  const absl::Status& trouble() const { return trouble_; }
  // The same for labels; perhaps none, if no server has done anything yet.
  const std::vector<NoConnection>& causes() const { return causes_; }
  SessionReport report() const;  // without what an answer, or the lack of a connection, adds
  const std::shared_ptr<Reach>& reach() const { return options_.reach; }
  // Not OK: the servers refuse this client for good, and there will be no connection unless it is
  // tried again.
  const absl::Status& failed() const { return failed_; }
  void TryAgain();  // no effect unless it has failed, nor once it closes

  // The ensemble's epoch (epoch_record.h) as the session began: read before its first node is
  // created, so that no token goes with an epoch that began after it. It stays, whatever is written
  // later. Unavailable: not answered yet, which it is before all that listeners send on the same
  // connection.
  const absl::StatusOr<int64_t>& epoch() const { return epoch_; }
  // Asks for it unless it is known, or asked for: also when it could not be read before.
  void ReadEpoch();

  // See Heartbeat.
  zk::Request CommittedBarrier() const { return heartbeat_.CommittedBarrier(); }
  // See zk::Handle::Send. Without a connection: kConnectionLoss.
  // (A template, since `done` in another callable would be another piece of memory a request.)
  template <typename Done>
  void Send(const zk::Request& request, Done done);

  // Sends a WatchNode or a WatchExists; `set` gets its reply, and once it is armed `fired` is
  // called at most once. All watches end without a call when the session expires.
  machine::WatcherId Watch(zk::Watch watch, zk::Handle::Done set, Watchers::Fired fired);
  // `fired` will not be called after this. Takes what Watch took and gave; unknown ids are ignored.
  void Unwatch(const zk::Watch& watch, machine::WatcherId id);

  PathBudget& ephemeral_budget() { return ephemeral_budget_; }
  PathBudget& watch_budget() { return watch_budget_; }

 private:
  class HandleListener;  // one for each handle, so that an old handle's events can be ignored

  void On(const machine::Event& event);
  void Act(const machine::action::Resolve&);
  void Act(const machine::action::OpenHandle&);
  void Act(const machine::action::CloseHandle&);
  void Act(const machine::action::SetServers&);
  void Act(const machine::action::StartPause& pause);
  void Act(const machine::action::AnnounceConnected& connected);
  void Act(const machine::action::AnnounceDisconnected&);
  void Act(const machine::action::AnnounceExpired& expired);
  void Act(const machine::action::AnnounceFailed& failed);
  void Act(const machine::action::Drain&);
  void Act(const machine::action::EndSession&);
  void Act(const machine::action::AnnounceClosed& closed);

  bool NeedsAddresses() const override { return handle_ == nullptr; }
  void OnNamesKnown(bool complete, bool unsure) override {
    On(machine::event::Resolved{complete, unsure});
  }
  void OnNamesFailed(const absl::Status& why) override;
  base::BootTime LostAt() override;
  bool CanAnswer() const override { return handle_ != nullptr && (connected() || ending_); }
  bool TakeProgress() override { return handle_ != nullptr && handle_->TakeProgress(); }
  void LeaveServer() override { handle_->LeaveServer(); }
  void OnHandleEnded(zk::Code why);
  void Announce(Change change);
  void Trouble(absl::Status why, std::vector<NoConnection> causes);
  void ServersTrouble();
  void SendBeat(const zk::Request& request, zk::Handle::Done done) override;
  void SendIdleRead(const zk::Request& read, zk::Handle::Done done) override;
  void OnAnswered(absl::Duration round_trip, std::optional<absl::Duration> least_left) override;
  ProofListener* NextToCheck();
  void Checked(ProofListener* listener, const std::string& path, zk::Code code);
  void OnProven() override;
  void OnLapsed() override;
  void BeginEpoch(bool new_session);
  void OnEpoch(const EpochAnswers& answers);
  void Count(ProofListener* listener, const machine::Need& need);
  void CheckDrained();
  void CheckNeeded();
  void StartSuspicionChecks();
  void RemoveServerWatch(const zk::Watch& watch);
  void RemoveWatchesLeftBehind();
  template <typename Listener, typename F>
  void ForEach(const std::vector<Listener*>& listeners, F f);
  // Runs `task` on the reactor, later, unless this Session is gone by then. Thread-safe.
  void PostGuarded(zk::Reactor::Task task);
  void AnswerLost(zk::Handle::Done done);
  zk::Reactor::Task Guarded(zk::Reactor::Task task);

  const std::shared_ptr<zk::Reactor> reactor_;
  zk::HandleFactory* const factory_;
  Options options_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();

  machine::SessionMachine machine_;
  std::unique_ptr<HandleListener> listener_;
  std::unique_ptr<zk::Handle> handle_;
  ServerNames names_;  // the handle has what is known since OpenHandle or SetServers
  absl::Duration timeout_;
  ServerReport report_;
  absl::Status trouble_;
  std::vector<NoConnection> causes_ = {NoConnection::kNameNotFound};
  absl::Status failed_;  // not OK: refused for good

  base::BootTime began_;  // when the attempt that made the current connection began
  SilenceWatch silence_;
  Heartbeat heartbeat_;
  absl::StatusOr<int64_t> epoch_ = EpochIn({.code = zk::Code::kConnectionLoss});
  bool reading_epoch_ = false;

  std::vector<SessionListener*> listeners_;      // in the order of joining
  std::vector<ProofListener*> proof_listeners_;  // those of them that are one
  size_t cannot_leave_ = 0;                      // how many of these
  int parted_ = 0;                               // how many listeners have left
  Needs needs_;                                  // of these
  int suspicion_checks_wanted_ = 0;              // by how many of these
  bool suspicion_timer_runs_ = false;
  size_t checked_ = 0;  // which of these had its node checked last
  Watchers watchers_;
  std::set<zk::Watch> left_behind_;  // unwanted, and perhaps still on the server
  PathBudget ephemeral_budget_;
  PathBudget watch_budget_;

  SessionEnds ends_;
  bool closing_ = false;
  bool drained_ = false;
  bool ending_ = false;  // EndSession is on its way
  absl::AnyInvocable<void(absl::Status) &&> closed_;
};

template <typename Done>
void Session::Send(const zk::Request& request, Done done) {
  if (handle_ == nullptr) return AnswerLost(std::move(done));
  const Heartbeat::Ticket ticket = heartbeat_.Sent(request);
  if (connected()) silence_.Asked(ticket.request.number, ticket.request.sent);
  handle_->Send(request, [this, alive = std::weak_ptr<char>(alive_), sent = ticket,
                          done = std::move(done)](zk::Reply&& reply) mutable {
    if (!alive.expired()) {
      if (connected()) {
        silence_.Answered(sent.request.number, sent.request.sent, sent.Committed(reply.code));
      }
      // First, so that `done` finds what this answer proves.
      heartbeat_.Answered(sent, reply.code);
    }
    std::move(done)(std::move(reply));
    if (!alive.expired()) CheckDrained();
  });
}

// Iterates over a copy, because a listener may meanwhile join or part, itself or another one. One
// that has parted may be destroyed.
template <typename Listener, typename F>
void Session::ForEach(const std::vector<Listener*>& listeners, F f) {
  const std::vector<Listener*> now = listeners;
  const int parted = parted_;
  for (Listener* listener : now) {
    const bool is_there =
        parted == parted_ || std::ranges::find(listeners, listener) != listeners.end();
    if (is_there) f(listener);
  }
}

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_H_
