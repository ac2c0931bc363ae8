// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session.h"

namespace zkrecipes::session {

class Session::HandleListener : public zk::HandleListener {
 public:
  explicit HandleListener(Session* session) : session_(session) {}
  void Retire() { session_ = nullptr; }

  void OnConnected(zk::SessionId id, absl::Duration negotiated, base::BootTime began) override {
    if (session_ == nullptr) return;
    // Nothing that a lease rests on holds there: neither that session nor any other is used.
    if (session_->handle_->OnKeeper()) return OnEnded(zk::Code::kKeeper);
    // What the server grants may be less than was asked for, and another server may grant something
    // else.
    session_->timeout_ = negotiated;
    session_->began_ = began;
    session_->silence_.Connected(began, negotiated);
    session_->report_.Forget();
    session_->trouble_ = absl::OkStatus();
    session_->causes_.clear();
    session_->On(machine::event::Connected{id});
  }
  void OnDisconnected(int attempt) override {
    if (session_ != nullptr) session_->On(machine::event::Disconnected{attempt});
  }
  void OnServerFailed(const std::string& server, const zk::ServerFailure& failure) override {
    if (session_ == nullptr) return;
    session_->report_.Note(server, failure);
    session_->ServersTrouble();
  }
  void OnTrouble(const absl::Status& why) override {
    if (session_ != nullptr) session_->Trouble(why, {NoConnection::kThisProcess});
  }
  void OnEnded(zk::Code why) override {
    if (session_ == nullptr) return;
    session_->OnHandleEnded(why);
  }
  void OnWatch(const std::string& path, zk::WatchEvent event) override {
    if (session_ != nullptr) session_->watchers_.Fire(path, event);
  }

 private:
  Session* session_;
};

Session::Session(std::shared_ptr<zk::Reactor> reactor, zk::HandleFactory* factory,
                 std::shared_ptr<zk::loop::Resolver> resolver, Options options)
    : reactor_(std::move(reactor)),
      factory_(factory),
      options_(std::move(options)),
      machine_(static_cast<int>(options_.servers.servers.size())),
      names_(reactor_, this, std::move(resolver)),
      timeout_(options_.handle.session_timeout),
      silence_(reactor_.get(), this),
      heartbeat_(reactor_.get(), this, options_.heartbeat) {}

// One that was not closed has questions that are answered as the handle goes: all parts are there.
Session::~Session() {
  if (listener_ != nullptr) listener_->Retire();
  handle_.reset();
}

void Session::Start() { On(machine::event::Start{}); }

void Session::Close(absl::AnyInvocable<void(absl::Status) &&> closed) {
  closed_ = std::move(closed);
  On(machine::event::CloseRequested{});
}

void Session::TryAgain() {
  if (failed_.ok() || closing_) return;
  failed_ = absl::OkStatus();
  report_.ForgetRefusals();
  options_.reach->Restart(reactor_->Now());
  On(machine::event::TriedAgain{});
}

void Session::On(const machine::Event& event) {
  for (const machine::Action& action : machine_.On(event)) {
    std::visit([this](const auto& a) { Act(a); }, action);
  }
}

zk::Reactor::Task Session::Guarded(zk::Reactor::Task task) {
  return [alive = std::weak_ptr<char>(alive_), task = std::move(task)]() mutable {
    if (!alive.expired()) std::move(task)();
  };
}

void Session::PostGuarded(zk::Reactor::Task task) { reactor_->Post(Guarded(std::move(task))); }

// ---- the machine's actions ----------------------------------------------------------------------

void Session::Act(const machine::action::Resolve&) {
  names_.LookUp(options_.servers.servers, timeout_);
}

void Session::OnNamesFailed(const absl::Status& why) {
  if (handle_ == nullptr) Trouble(why, {NoConnection::kNameNotFound});
  On(machine::event::ResolveFailed{});
}

void Session::SetServers(std::vector<zk::ServerAddress> servers) {
  options_.servers.servers = std::move(servers);
  names_.Forget();  // an answer that is under way for the list of before is ignored
  On(machine::event::ServersChanged{static_cast<int>(options_.servers.servers.size())});
}

// What a server has said of other users says nothing of these.
void Session::SetCredentials(const base::Secrets& all) {
  if (options_.handle.digest_credentials != all) report_.ForgetRefusals();
  options_.handle.digest_credentials = all;
  if (handle_ != nullptr) handle_->SetCredentials(all);
}

void Session::Act(const machine::action::SetServers& set) {
  report_.SetServers(names_.known());
  handle_->SetServers(names_.known(), set.leave);
}

void Session::Act(const machine::action::OpenHandle&) {
  report_.SetServers(names_.known());
  options_.handle.servers = names_.known();
  options_.handle.seed = reactor_->Random();
  listener_ = std::make_unique<HandleListener>(this);
  auto handle = factory_->Open(options_.handle, listener_.get());
  if (!handle.ok()) {
    Trouble(handle.status(), {NoConnection::kThisProcess});
    listener_.reset();
    return On(machine::event::OpenFailed{});
  }
  ServersTrouble();
  handle_ = *std::move(handle);
}

void Session::OnHandleEnded(zk::Code why) {
  const bool lost_data = why == zk::Code::kSessionRefused;
  const bool refused = why != zk::Code::kSessionExpired && !lost_data;
  const bool served = handle_->served();
  if (lost_data) Trouble(zk::ToStatus(why, "connect", "/"), {NoConnection::kRejected});
  if (served || !refused) report_.ForgetRefusals();
  if (refused) report_.Refused(handle_->server(), why);
  const bool goes_on = options_.client_goes_on && options_.client_goes_on();
  On(machine::event::HandleEnded{why, served, report_.AllRefuse(names_.known()), goes_on});
}

// In a task of its own, because this may run inside a callback of the handle.
void Session::Act(const machine::action::CloseHandle&) {
  if (handle_ == nullptr) return;
  listener_->Retire();
  options_.handle.pace = handle_->pace();
  reactor_->Post([handle = std::move(handle_), listener = std::move(listener_)]() mutable {
    handle->Close();
    handle.reset();
  });
}

void Session::Act(const machine::action::StartPause&) {
  zk::ConnectPace& pace = options_.handle.pace;
  const zk::ConnectPace::Terms terms{timeout_, static_cast<int>(options_.servers.servers.size())};
  pace.Failed(terms, reactor_->Now(), /*late=*/false, reactor_->Random());
  reactor_->CallAt(pace.next_attempt(), Guarded([this] { On(machine::event::PauseOver{}); }));
}

void Session::Act(const machine::action::AnnounceConnected& connected) {
  // The order is a promise to listeners.
  // First: what the listeners send needs a validity, and goes out behind the first beat.
  heartbeat_.OnConnected(began_, timeout_, /*new_session=*/!connected.resumed);
  if (!connected.resumed) ends_.Began(id(), reactor_->Now());
  BeginEpoch(/*new_session=*/!connected.resumed);
  RemoveWatchesLeftBehind();
  Announce(Change::kConnected);
  ForEach(listeners_, [](SessionListener* listener) { listener->OnConnected(); });
}

void Session::Act(const machine::action::AnnounceDisconnected&) {
  heartbeat_.OnDisconnected();
  Announce(Change::kSuspended);
  ForEach(listeners_, [](SessionListener* listener) { listener->OnDisconnected(); });
}

void Session::Act(const machine::action::AnnounceExpired& expired) {
  ends_.Ended(expired.confirmed);
  // First: from here on no lease of the session is believed, whichever of its users asks.
  heartbeat_.OnExpired();
  AnnounceEnded();
  options_.handle.pace.Expired();
  watchers_.Clear();
  left_behind_.clear();
  Announce(Change::kExpired);
  ForEach(listeners_, [](SessionListener* listener) { listener->OnExpired(); });
}

void Session::Act(const machine::action::AnnounceFailed& failed) {
  failed_ = zk::ToStatus(failed.why, "connect", "/");
  trouble_ = failed_;
  causes_ = {NoConnection::kRejected};
  Announce(Change::kFailed);
  // Of each listener, though an earlier one has it tried again.
  ForEach(listeners_, [why = failed_](SessionListener* listener) { listener->OnFailed(why); });
}

void Session::Act(const machine::action::Drain&) {
  // From here on whoever joins is told to leave at once.
  closing_ = true;
  heartbeat_.Stop();  // otherwise there would always be a request to wait for
  {
    const StopRequests::Batch batch(*options_.stops);
    ForEach(listeners_, [](SessionListener* listener) { listener->OnClosing(); });
  }
  reactor_->CallAt(reactor_->Now() + timeout_,
                   Guarded([this] { On(machine::event::CloseTimeOver{}); }));
  CheckDrained();
}

// In no hurry: other clients may have the same thread, so none waits for the answer.
void Session::Act(const machine::action::EndSession&) {
  if (std::exchange(ending_, true)) return;
  ends_.Asked(reactor_->Now());
  // A server that does not answer is left, as with any other request.
  const Heartbeat::Ticket ticket = heartbeat_.Sent(zk::Get{});
  silence_.Asked(ticket.request.number, ticket.request.sent);
  handle_->EndSession(
      [this, alive = std::weak_ptr<char>(alive_), session = id()](const zk::Reply& reply) {
        if (alive.expired()) return;
        ending_ = false;
        // Of a session that has ended otherwise, this says nothing of the next one.
        if (session == id()) On(machine::event::EndAnswered{reply.code == zk::Code::kOk});
      });
}

void Session::Act(const machine::action::AnnounceClosed& closed) {
  ends_.Ended(closed.confirmed);
  const absl::Status status = ends_.OfClose(reactor_->Now(), timeout_, listeners_.size(), trouble_);
  // The handle is closed: for the remaining listeners this is an expiry, and no session follows.
  heartbeat_.OnExpired();
  // The state is announced before the listeners are told, whose callers may ask for it.
  Announce(Change::kClosed);
  ForEach(listeners_, [](SessionListener* listener) { listener->OnExpired(); });
  const absl::Status failed = absl::FailedPreconditionError("the client is closed");
  ForEach(listeners_, [&failed](SessionListener* listener) { listener->OnFailed(failed); });
  // After the handle's own close, which is posted already.
  PostGuarded([this, status] { std::move(closed_)(status); });
}

void Session::Announce(Change change) {
  options_.reach->Set(connected(), trouble_, reactor_->Now(), report_.MostRefuseTheSession());
  if (options_.on_change) options_.on_change(change);
}

void Session::Trouble(absl::Status why, std::vector<NoConnection> causes) {
  trouble_ = std::move(why);
  causes_ = std::move(causes);
  Announce(Change::kTrouble);
}

void Session::ServersTrouble() {
  Trouble(absl::UnavailableError(report_.Text()), report_.Causes());
}

}  // namespace zkrecipes::session
