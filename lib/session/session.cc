// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"

namespace zkrecipes::session {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Milliseconds(500);

absl::Duration LongestPauseAfter(int attempt) {
  return std::min(kLongestPause, kFirstPause * (1 << std::min(attempt - 1, 4)));
}

// Whatever their order, and whichever of them is there twice.
bool SameAddresses(const zk::NumericServers& a, const zk::NumericServers& b) {
  return std::set<std::string>(a.begin(), a.end()) == std::set<std::string>(b.begin(), b.end());
}

}  // namespace

class Session::Listener : public zk::HandleListener {
 public:
  explicit Listener(Session* session) : session_(session) {}
  void Retire() { session_ = nullptr; }

  void OnConnected(zk::SessionId id, absl::Duration negotiated, base::BootTime began) override {
    if (session_ == nullptr) return;
    session_->timeout_ = negotiated;
    session_->began_ = began;
    session_->Handle(event::Connected{id});
  }
  void OnDisconnected(int attempt) override {
    if (session_ != nullptr) session_->Handle(event::Disconnected{attempt, session_->Lapsed()});
  }
  void OnEnded(zk::Code why) override {
    if (session_ != nullptr) session_->Handle(event::Ended{why});
  }
  void OnWatch(const std::string& path, zk::WatchEvent event) override {
    if (session_ != nullptr) session_->watchers_.Fire(path, event);
  }

 private:
  Session* session_;
};

Session::Session(std::shared_ptr<zk::Reactor> reactor, zk::HandleFactory* factory,
                 std::shared_ptr<zk::Resolver> resolver, Options options)
    : reactor_(std::move(reactor)),
      factory_(factory),
      resolver_(std::move(resolver)),
      options_(std::move(options)),
      machine_(static_cast<int>(options_.servers.servers.size())),
      timeout_(options_.handle.session_timeout),
      heartbeat_(reactor_.get(), this, options_.heartbeat) {}

Session::~Session() = default;

void Session::Start() { Handle(event::Start{}); }

void Session::Close(absl::AnyInvocable<void(absl::Status) &&> closed) {
  closed_ = std::move(closed);
  Handle(event::CloseRequested{});
}

void Session::Handle(const Event& event) {
  for (const Action& action : machine_.On(event)) {
    std::visit([this](const auto& a) { Act(a); }, action);
  }
}

zk::Reactor::Task Session::Guarded(zk::Reactor::Task task) {
  return [alive = std::weak_ptr<char>(alive_), task = std::move(task)]() mutable {
    if (!alive.expired()) std::move(task)();
  };
}

void Session::PostGuarded(zk::Reactor::Task task) { reactor_->Post(Guarded(std::move(task))); }

// ---- the machine's actions -----------------------------------------------------------------------

void Session::Act(const action::Resolve&) {
  // The answer may come on any thread, and after this Session: it finds its way over the reactor.
  resolver_->Resolve(options_.servers.servers,
                     [this, reactor = reactor_, alive = std::weak_ptr<char>(alive_)](
                         absl::StatusOr<zk::NumericServers> addresses) mutable {
                       reactor->Post([this, alive, addresses = std::move(addresses)]() mutable {
                         if (alive.expired()) return;
                         if (!addresses.ok()) {
                           Trouble(addresses.status());
                           return Handle(event::ResolveFailed{});
                         }
                         const bool moved = !SameAddresses(*addresses, addresses_);
                         addresses_ = *std::move(addresses);
                         Handle(event::Resolved{moved});
                       });
                     });
}

void Session::Act(const action::OpenHandle&) {
  options_.handle.servers = addresses_;
  options_.handle.seed = reactor_->Random();
  listener_ = std::make_unique<Listener>(this);
  auto handle = factory_->Open(options_.handle, listener_.get());
  if (!handle.ok()) {
    Trouble(handle.status());
    listener_.reset();
    return Handle(event::ResolveFailed{});
  }
  Trouble(absl::UnavailableError("no server has answered yet"));
  handle_ = *std::move(handle);
}

// Never inside a callback of the handle, which this may well be.
void Session::Act(const action::CloseHandle&) {
  if (handle_ == nullptr) return;
  listener_->Retire();
  const bool patient = machine_.state() == SessionMachine::State::kClosed;
  reactor_->Post([handle = std::move(handle_), listener = std::move(listener_), patient]() mutable {
    handle->Close(patient);
    handle.reset();
  });
}

void Session::Act(const action::StartPause& pause) {
  const absl::Duration length =
      base::Jittered(LongestPauseAfter(pause.attempt), reactor_->Random());
  reactor_->CallAt(reactor_->Now() + length, Guarded([this] { Handle(event::PauseOver{}); }));
}

void Session::Act(const action::AnnounceUp& up) {
  heartbeat_.Up(began_, timeout_, /*new_session=*/!up.resumed);
  RemoveWatchesLeftBehind();
  Announce(Change::kConnected);
  ForEachTenant([](Tenant* tenant) { tenant->OnUp(); });
}

void Session::Act(const action::AnnounceDown&) {
  disconnected_ = reactor_->Now();
  heartbeat_.Down();
  Announce(Change::kSuspended);
  ForEachTenant([](Tenant* tenant) { tenant->OnDown(); });
}

void Session::Act(const action::AnnounceLost&) {
  heartbeat_.Gone();
  watchers_.Clear();
  left_behind_.clear();
  Announce(Change::kExpired);
  ForEachTenant([](Tenant* tenant) { tenant->OnLost(); });
}

void Session::Act(const action::AnnounceFailed& failed) {
  failed_ = zk::ToStatus(failed.why, "connect", "/");
  trouble_ = failed_;
  Announce(Change::kFailed);
  ForEachTenant([this](Tenant* tenant) { tenant->OnFailed(failed_); });
}

void Session::Act(const action::Drain&) {
  closing_ = true;
  heartbeat_.Stop();
  ForEachTenant([](Tenant* tenant) { tenant->OnClosing(); });
  reactor_->CallAt(reactor_->Now() + timeout_, Guarded([this] {
                     if (!drained_) Handle(event::Drained{});
                   }));
  CheckDrained();
}

void Session::Act(const action::AnnounceClosed&) {
  absl::Status status;
  if (!tenants_.empty()) {
    status = absl::DeadlineExceededError(
        absl::StrCat("close: the deletion of ", tenants_.size(),
                     " node(s) could not be confirmed; they stay until the session expires"));
  }
  heartbeat_.Gone();
  Announce(Change::kClosed);
  ForEachTenant([](Tenant* tenant) { tenant->OnLost(); });
  const absl::Status failed = absl::FailedPreconditionError("the client is closed");
  ForEachTenant([&failed](Tenant* tenant) { tenant->OnFailed(failed); });
  // Behind the handle's own close, which is posted already.
  PostGuarded([this, status] { std::move(closed_)(status); });
}

void Session::Announce(Change change) {
  if (options_.on_change) options_.on_change(change);
}

void Session::Trouble(absl::Status why) {
  trouble_ = std::move(why);
  Announce(Change::kTrouble);
}

// ---- tenants -------------------------------------------------------------------------------------

void Session::Join(Tenant* tenant) {
  tenants_.push_back(tenant);
  CountWhoNeedsProof();
  if (!failed_.ok()) return tenant->OnFailed(failed_);
  if (closing_) tenant->OnClosing();
}

void Session::Part(Tenant* tenant) {
  std::erase(tenants_, tenant);
  CountWhoNeedsProof();
  CheckDrained();
}

void Session::CountWhoNeedsProof() {
  heartbeat_.SetWanted(std::any_of(tenants_.begin(), tenants_.end(),
                                   [](const Tenant* tenant) { return tenant->NeedsProof(); }));
}

template <typename F>
void Session::ForEachTenant(F f) {
  const std::vector<Tenant*> now = tenants_;
  for (Tenant* tenant : now) {
    if (std::find(tenants_.begin(), tenants_.end(), tenant) != tenants_.end()) f(tenant);
  }
}

void Session::CheckDrained() {
  if (!closing_ || drained_ || !tenants_.empty()) return;
  if (handle_ != nullptr && handle_->pending() > 0) return;
  drained_ = true;
  PostGuarded([this] { Handle(event::Drained{}); });
}

// ---- liveness ------------------------------------------------------------------------------------

void Session::SendBeat(const zk::Request& request, zk::Handle::Done done) {
  Send(request, std::move(done));
}

void Session::OnProven() {
  ForEachTenant([](Tenant* tenant) { tenant->OnProven(); });
}

void Session::OnLapsed() {
  ForEachTenant([](Tenant* tenant) { tenant->OnLapsed(); });
}

// Without a connection for the session timeout.
bool Session::Lapsed() const {
  return !connected() && id() != 0 && reactor_->Now() - disconnected_ >= timeout_;
}

}  // namespace zkrecipes::session
