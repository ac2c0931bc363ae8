// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/client_core.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "lib/session/client/client_options.h"
#include "lib/session/subscriber.h"

namespace zkrecipes::internal {
namespace {

zk::HandleOptions HandleOptionsOf(const ClientOptions& options, base::Secrets credentials,
                                  const std::shared_ptr<zk::tls::TlsContext>& tls) {
  zk::HandleOptions handle;
  handle.session_timeout = options.session_timeout;
  handle.digest_credentials = std::move(credentials);
  handle.acl = session::client::EntriesOf(options.acl);
  handle.tls = tls;
  return handle;
}

session::Heartbeat::Options HeartbeatOptionsOf(const LeaseOptions& lease, std::string root,
                                               const Environment& environment) {
  session::machine::ExpiryMargins margins = session::client::MarginsOf(lease);
  if (!environment.leaders_moment) margins.moment = absl::ZeroDuration();
  return {margins, session::client::KindOf(lease.pace), std::move(root)};
}

std::function<void(const SessionReport&)> TellerOfReports(const ClientOptions& options) {
  if (options.on_session_report == nullptr) return nullptr;
  auto subscriber = std::make_shared<session::Subscriber<SessionReport>>(options.executor,
                                                                         options.on_session_report);
  return [subscriber](const SessionReport& report) { subscriber->Tell(report); };
}

// A thread that could not be started is tried again so much later.
constexpr absl::Duration kRetry = absl::Milliseconds(50);

// See PoolOptions::later. A pool with a blocked thread may outlive the reactor.
auto Soon(const std::shared_ptr<zk::Reactor>& reactor) {
  return [weak = std::weak_ptr(reactor)](std::function<void()> retry) {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    alive->Post([on = alive.get(), retry = std::move(retry)]() mutable {
      on->CallAt(on->Now() + kRetry, std::move(retry));
    });
  };
}

}  // namespace

absl::StatusOr<std::shared_ptr<ClientCore>> ClientCore::Create(ClientOptions options) {
  const session::client::WipeCredentials wipe(options);
  auto servers = session::client::CheckClientOptions(options);
  if (!servers.ok()) return servers.status();
  std::shared_ptr<zk::tls::TlsContext> tls;
  if (options.tls.has_value()) {
    auto opened = zk::tls::TlsContext::Open(*options.tls);
    if (!opened.ok()) return opened.status();
    tls = *std::move(opened);
  }
  // Order: the options are right and the certificates readable before a thread is started.
  // The thread of a loop that others share is not lent: it may be at work for them.
  const bool shared = options.loop != nullptr;
  // In a forked child nothing would ever be done there.
  if (shared && !EventLoopAccess::LoopOf(*options.loop)->InHomeProcess()) {
    return absl::FailedPreconditionError("the event loop belongs to the parent process");
  }
  std::shared_ptr<EventLoop> owner = std::exchange(options.loop, nullptr);
  if (owner == nullptr) {
    auto started = EventLoop::Start();
    if (!started.ok()) return started.status();
    owner = *std::move(started);
  }
  const std::shared_ptr<internal::Loop>& loop = EventLoopAccess::LoopOf(*owner);
  Environment environment{loop, loop, zk::loop::SystemResolver(),
                          [owner = std::move(owner)]() mutable { owner.reset(); }};
  environment.thread = loop->thread();
  environment.tls = std::move(tls);
  if (!shared) environment.loop = loop;
  return CreateIn(std::move(environment), std::move(options), *std::move(servers));
}

std::shared_ptr<ClientCore> ClientCore::CreateIn(Environment environment, ClientOptions options,
                                                 zk::ServerList servers) {
  std::shared_ptr<base::GrowingExecutor> notices;
  if (options.executor == nullptr) {
    options.executor = base::SharedExecutor();
    notices = base::NewGrowingExecutor({.later = Soon(environment.reactor)});
  } else {
    // A thread that lends itself to the loop while it waits must not run user code meanwhile.
    environment.loop = nullptr;  // it may run callbacks inline, on the reactor
  }
  return std::shared_ptr<ClientCore>(new ClientCore(std::move(environment), std::move(options),
                                                    std::move(servers), std::move(notices)));
}

ClientCore::ClientCore(Environment environment, ClientOptions options, zk::ServerList servers,
                       std::shared_ptr<base::GrowingExecutor> notices)
    : environment_(std::move(environment)),
      options_(std::move(options)),
      servers_(std::move(servers)),
      namespace_(servers_.namespace_root),
      feed_(options_.executor),
      notices_(std::move(notices)),
      stops_(std::make_shared<session::StopRequests>(
          notices_ != nullptr ? std::static_pointer_cast<Executor>(notices_) : options_.executor)),
      reactor_thread_(environment_.thread),
      credentials_(base::TakeSecrets(options_.digest_credentials)),
      has_users_(!credentials_.empty()),
      open_to_strangers_(
          session::client::StrangersMayTake(session::client::EntriesOf(options_.acl))),
      timeout_ms_(absl::ToInt64Milliseconds(options_.session_timeout)),
      reach_(std::make_shared<session::Reach>(Now())) {}

ClientCore::~ClientCore() = default;

ClientCore::Drive::Drive(const ClientCore& core, bool runs_loop) : core_(core) {
  const auto& loop = core.environment_.loop;
  if (runs_loop && loop != nullptr && loop->TakeOver()) loop_ = loop;
}

void ClientCore::Drive::Wake() {
  if (!loop_->OnThread()) loop_->Post([] {});
}

void ClientCore::Drive::End() {
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->GiveBack();
}

void ClientCore::Start(absl::AnyInvocable<void(absl::Status) &&> connected) {
  environment_.reactor->Post(
      [self = shared_from_this(), connected = std::move(connected)]() mutable {
        if (self->reactor_thread_.load() == std::thread::id()) {
          self->reactor_thread_.store(std::this_thread::get_id());
        }
        self->connected_ = std::move(connected);
        session::Session::Options each{
            .servers = self->servers_,
            .handle = HandleOptionsOf(self->options_, std::exchange(self->credentials_, {}),
                                      self->environment_.tls),
            .heartbeat = HeartbeatOptionsOf(self->options_.lease, self->servers_.namespace_root,
                                            self->environment_),
            .stops = self->stops_,
            .reach = self->reach_,
            .on_report = TellerOfReports(self->options_),
            .epoch = self->options_.epoch};
        self->sessions_ = std::make_unique<session::client::Sessions>(
            session::client::Sessions::Environment{self->environment_.reactor,
                                                   self->environment_.factory.get(),
                                                   self->environment_.resolver},
            session::client::Sessions::Options{
                std::move(each), self->options_.follow_config,
                [core = self.get()](session::Change change, std::optional<ClientState> state) {
                  core->OnChange(change, state);
                }});
        self->sessions_->Start();
      });
}

void ClientCore::OnChange(session::Change change, std::optional<ClientState> state) {
  const session::Session& first = *sessions_->first();
  // Copies for other threads, which must not touch the sessions.
  session_id_.store(first.id());
  timeout_ms_.store(absl::ToInt64Milliseconds(first.timeout()));
  const absl::Status trouble = sessions_->trouble();
  if (state) feed_.Publish(*state);
  // After the state was published, so that a user who is connected finds the client connected.
  if (change == session::Change::kConnected) ReportConnected(absl::OkStatus());
  // What this process lacks does not come by waiting: a call that waits for the first session is
  // told.
  const bool hopeless = change == session::Change::kFailed || absl::IsResourceExhausted(trouble);
  if (hopeless) ReportConnected(trouble);
  if (change == session::Change::kClosed) {
    ReportConnected(absl::FailedPreconditionError("the client is closed"));
  }
}

void ClientCore::ReportConnected(absl::Status status) {
  if (connected_) std::exchange(connected_, nullptr)(std::move(status));
}

// Only resolved and handed over on the reactor: an address that cannot be reached shows later, in
// the state and in the messages of calls.
absl::Status ClientCore::SetServers(const std::string& servers) {
  if (absl::Status open = CheckOpen(); !open.ok()) return open;
  absl::StatusOr<zk::ServerList> list = zk::ParseServerList(servers);
  if (!list.ok()) return list.status();
  if (!list->namespace_root.empty() && list->namespace_root != servers_.namespace_root) {
    return absl::InvalidArgumentError(absl::StrCat("server list \"", absl::Utf8SafeCEscape(servers),
                                                   "\": a client's namespace stays as it is, \"",
                                                   servers_.namespace_root, "\""));
  }
  Post([self = shared_from_this(), servers = std::move(list->servers)](session::Session* session) {
    if (session != nullptr) self->sessions_->SetServers(servers);
  });
  return absl::OkStatus();
}

absl::Status ClientCore::AddCredential(const std::string& digest) {
  if (absl::Status open = CheckOpen(); !open.ok()) return open;
  if (absl::Status valid = session::client::CheckDigestCredential(digest); !valid.ok())
    return valid;
  // Before it is posted: an ACL of the creator's is checked against it from now on.
  has_users_.store(true);
  Post([self = shared_from_this(), credential = base::Secret(digest)](session::Session* session) {
    if (session != nullptr) self->sessions_->AddCredential(credential);
  });
  return absl::OkStatus();
}

absl::Status ClientCore::SetCredentials(std::vector<std::string> all) {
  absl::Status valid = CheckOpen();
  for (const std::string& one : all) valid.Update(session::client::CheckDigestCredential(one));
  valid.Update(session::client::CheckAcl(options_.acl, !all.empty()));
  base::Secrets credentials = base::TakeSecrets(all);
  if (!valid.ok()) return valid;
  has_users_.store(!credentials.empty());
  Post([self = shared_from_this(),
        credentials = std::move(credentials)](session::Session* session) mutable {
    if (session != nullptr) self->sessions_->SetCredentials(std::move(credentials));
  });
  return absl::OkStatus();
}

absl::Status ClientCore::CheckOpen() const {
  if (!InHomeProcess()) {
    return absl::FailedPreconditionError("the client belongs to the parent process");
  }
  base::MutexLock lock(mutex_);
  return closed_ ? absl::FailedPreconditionError("the client is closed") : absl::OkStatus();
}

absl::Status ClientCore::PrepareThread(ThreadFor what) const {
  // As in CheckMayBlock. An executor of the user's is the user's to have threads for.
  if (notices_ == nullptr || !InHomeProcess()) return absl::OkStatus();
  const bool notices = what == ThreadFor::kNotices;
  const absl::Status kept = notices ? notices_->KeepThread() : base::KeepSharedThread();
  if (kept.ok()) return kept;
  return absl::ResourceExhaustedError(absl::StrCat(
      "no thread for the ", notices ? "notice of a lease's end: " : "answer: ", kept.message()));
}

bool ClientCore::InHomeProcess() const { return home_.IsThisProcess(); }

// The process is asked before anything is locked: in a forked child a mutex may be held for ever by
// a thread that does not exist there.
absl::Status ClientCore::CheckMayBlock() const {
  if (!InHomeProcess()) {
    return absl::FailedPreconditionError("the client belongs to the parent process");
  }
  if (OnReactor()) {
    return absl::FailedPreconditionError(
        "a blocking call on the client's I/O thread would wait for itself");
  }
  return absl::OkStatus();
}

bool ClientCore::Pause(absl::Duration pause, base::BootTime deadline,
                       const std::stop_token& cancel) const {
  base::OneShot<char> never;
  (void)Await(never, std::min(deadline, Now() + pause), cancel);
  return !cancel.stop_requested() && Now() < deadline;
}

}  // namespace zkrecipes::internal
