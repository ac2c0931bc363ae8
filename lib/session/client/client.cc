// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/client.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/executor.h"
#include "lib/base/shortage.h"
#include "lib/session/client/client_core.h"
#include "lib/session/client/client_options.h"

namespace zkrecipes {
namespace {

using internal::ClientCore;
using StatusShot = base::OneShot<absl::Status>;
using ConnectDone = absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Client>>) &&>;

absl::Status NoSessionInTime(const ClientCore& core, const WaitOptions& wait) {
  const std::string tried = absl::StrCat("connect to ", core.options().servers, ": ");
  if (wait.cancel.stop_requested()) return absl::CancelledError(absl::StrCat(tried, "cancelled"));
  return absl::UnavailableError(absl::StrCat(
      tried, "no session within ", absl::FormatDuration(wait.timeout), " (", core.trouble(), ")"));
}

absl::StatusOr<std::shared_ptr<Client>> ConnectWith(
    const absl::StatusOr<std::shared_ptr<ClientCore>>& core, const WaitOptions& wait) {
  if (absl::Status status = session::client::CheckWaitOptions(wait); !status.ok()) return status;
  if (!core.ok()) return core.status();
  return internal::ClientAccess::Connect(*core, wait);
}

}  // namespace

std::shared_ptr<Client> internal::ClientAccess::Wrap(std::shared_ptr<ClientCore> core) {
  return std::shared_ptr<Client>(new Client(std::move(core)));
}

absl::StatusOr<std::shared_ptr<Client>> Client::Connect(ClientOptions options,
                                                        const WaitOptions& wait) {
  const session::client::WipeCredentials wipe(options);
  return ConnectWith(ClientCore::Create(std::move(options)), wait);
}

absl::StatusOr<std::shared_ptr<Client>> internal::ClientAccess::Connect(
    const std::shared_ptr<ClientCore>& core, const WaitOptions& wait) {
  if (absl::Status status = core->CheckMayBlock(); !status.ok()) return status;
  const base::BootTime deadline = core->Now() + wait.timeout;
  // However soon there is a session.
  const bool cancelled = wait.cancel.stop_requested();
  auto client = Wrap(core);
  auto connected = std::make_shared<StatusShot>();
  core->Start([connected](absl::Status status) { connected->Set(std::move(status)); });
  std::optional<absl::Status> status = core->Await(*connected, deadline, wait.cancel);
  if (cancelled) status.reset();
  if (status.has_value() && status->ok()) return client;
  const absl::Status error = status.has_value() ? *status : NoSessionInTime(*core, wait);
  core->Close(std::make_shared<StatusShot>());
  // There is no node to wait for, as the destructor would: the client closes in the background.
  client->core_.reset();
  return error;
}

absl::StatusOr<std::shared_ptr<Client>> Client::Create(ClientOptions options) {
  const session::client::WipeCredentials wipe(options);
  auto core = ClientCore::Create(std::move(options));
  if (!core.ok()) return core.status();
  (*core)->Start([](const absl::Status&) {});
  return internal::ClientAccess::Wrap(*std::move(core));
}

void Client::ConnectAsync(ClientOptions options, WaitOptions wait, ConnectDone done) {
  const session::client::WipeCredentials wipe(options);
  struct Call {
    WaitOptions wait;
    std::shared_ptr<Executor> executor;
    ConnectDone done;
    absl::StatusOr<std::shared_ptr<ClientCore>> core;
    void Answer(absl::StatusOr<std::shared_ptr<Client>> client) {
      executor->Execute([done = std::move(done), client = std::move(client)]() mutable noexcept {
        std::move(done)(std::move(client));
      });
    }
  };
  std::shared_ptr<Executor> executor = options.executor;
  if (executor == nullptr) {
    absl::Status kept = base::KeepSharedThread();
    if (!kept.ok()) return std::move(done)(std::move(kept));
    executor = base::SharedExecutor();
  }
  // Made here: callbacks have the signal mask of the thread that makes the client.
  const auto call =
      std::make_shared<Call>(Call{std::move(wait), std::move(executor), std::move(done),
                                  ClientCore::Create(std::move(options))});
  // Waiting takes a thread of its own: connecting is rare, and this needs no second implementation.
  const auto started = base::StartDetached(
      "a thread to connect", [call] { call->Answer(ConnectWith(call->core, call->wait)); });
  if (!started.ok()) call->Answer(started.status());
}

Client::Client(std::shared_ptr<ClientCore> core) : core_(std::move(core)) {}

// Bounded: nodes that are not confirmed as deleted by then go with the session.
Client::~Client() {
  if (core_ == nullptr) return;
  if (!core_->InHomeProcess()) {
    base::Leak(std::move(core_));
    return;
  }
  auto closed = std::make_shared<StatusShot>();
  core_->Close(closed);
  // On the I/O thread it would wait for itself. The close goes on in the background in any case.
  if (!core_->OnReactor()) core_->Await(*closed, core_->Now() + core_->destructor_waits());
}

absl::Status Client::SetServers(const std::string& servers) { return core_->SetServers(servers); }

absl::Status Client::SetDigestCredentials(std::vector<std::string> all) {
  return core_->SetCredentials(std::move(all));
}

absl::Status Client::AddDigestCredential(const std::string& user_password) {
  return core_->AddCredential(user_password);
}

Subscription Client::OnStateChange(absl::AnyInvocable<void(ClientState)> callback) {
  // Without threads no callback would ever run.
  if (!core_->InHomeProcess()) return Subscription();
  return core_->feed().Subscribe(std::move(callback));
}

// In a forked child the feed's mutex may be held by a thread that is not there.
ClientState Client::state() const {
  return core_->InHomeProcess() ? core_->feed().state() : ClientState::kClosed;
}

int64_t Client::session_id() const { return core_->session_id(); }
absl::Duration Client::session_timeout() const { return core_->session_timeout(); }

std::ostream& operator<<(std::ostream& out, ClientState state) {
  switch (state) {
    case ClientState::kConnected:
      return out << "connected";
    case ClientState::kSuspended:
      return out << "suspended";
    case ClientState::kExpired:
      return out << "expired";
    case ClientState::kClosed:
      return out << "closed";
  }
  return out;
}

}  // namespace zkrecipes
