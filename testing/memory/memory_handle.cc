// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/memory_handle.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "testing/memory/host.h"

namespace zkrecipes::testing::memory {
namespace {

bool IsRefusedInAMulti(const zk::Multi::Op& op) {
  const auto* create = std::get_if<zk::Create>(&op);
  return !IsFormatted(zk::PathOf(op)) ||
         (create != nullptr && create->mode != zk::CreateMode::kPersistent &&
          create->mode != zk::CreateMode::kEphemeral);
}

// Requests that the C client refuses before it sends them.
bool IsRefused(const zk::Request& request) {
  if (const auto* multi = std::get_if<zk::Multi>(&request)) {
    return multi->ops.empty() || std::ranges::any_of(multi->ops, IsRefusedInAMulti);
  }
  const std::string& path = zk::PathOf(request);
  const auto* create = std::get_if<zk::Create>(&request);
  if (create != nullptr && create->mode == zk::CreateMode::kEphemeralSequential) {
    return !IsFormatted(path + "0");
  }
  return path != "/" && !IsFormatted(path);
}

std::vector<std::string> Texts(const base::Secrets& secrets) {
  std::vector<std::string> texts;
  for (const base::Secret& secret : secrets) texts.emplace_back(secret.text());
  return texts;
}

}  // namespace

MemoryHandle::MemoryHandle(Host* host, ModelEnsemble* ensemble, const zk::HandleOptions& options,
                           zk::HandleListener* listener)
    : host_(host),
      ensemble_(ensemble),
      listener_(listener),
      options_(options),
      pending_(host),
      pace_(options.pace),
      rotation_(options.servers.addresses,
                static_cast<size_t>(options.seed % options.servers.addresses.size())),
      timeout_(options.session_timeout) {
  host_->handles_.push_back(this);
  host_->CallAt(std::max(host_->Now(), pace_.next_attempt()), Guarded([this] { Connect(); }));
}

MemoryHandle::~MemoryHandle() {
  Close();
  std::erase(host_->handles_, this);
}

zk::Reactor::Task MemoryHandle::Guarded(zk::Reactor::Task task) {
  return [alive = std::weak_ptr<const bool>(alive_), task = std::move(task)]() mutable {
    if (!alive.expired()) std::move(task)();
  };
}

// ---- connecting ---------------------------------------------------------------------------------

int MemoryHandle::ChooseAddress() {
  int address = 0;
  (void)absl::SimpleAtoi(rotation_.Next(), &address);
  return host_->only_server_.has_value() ? ensemble_->AddressOf(*host_->only_server_) : address;
}

void MemoryHandle::Connect() {
  if (ended_ || closed_ || connection_ != 0) return;
  began_ = host_->Now();
  last_heard_ = began_;
  const int address = ChooseAddress();
  server_ = absl::StrCat(address);
  // What asks for a connection is dropped, too: the server never hears of it.
  if (host_->drops(ensemble_->ServerAt(address)) || !ensemble_->Answers(address)) {
    return GiveUpAfter(pace_.ConnectLimit(PaceTerms(), began_));
  }
  if (host_->network_ != Host::Network::kDown) {
    connection_ =
        ensemble_->Connect(address, wire::Hello{session_, options_.session_timeout, seen_zxid_,
                                                Texts(options_.digest_credentials), options_.acl});
  }
  if (connection_ == 0) return FailAttempt(kRefused);
  GiveUpAfter(pace_.AttemptLimit(PaceTerms(), began_));
}

void MemoryHandle::GiveUpAfter(absl::Duration limit) {
  host_->CallAt(began_ + limit, Guarded([this, attempt = connection_] {
                  if (connection_ != attempt || connected_ || closed_) return;
                  HangUp();
                  FailAttempt(kLate, /*late=*/true);
                }));
}

void MemoryHandle::FailAttempt(Failure failure, bool late) {
  RetryLater(late);
  listener_->OnServerFailed(server_, {failure.cause, failure.what});
  listener_->OnDisconnected(++failed_attempts_);
}

void MemoryHandle::RetryLater(bool late) {
  pace_.Failed(PaceTerms(), host_->Now(), late, host_->Random());
  host_->CallAt(pace_.next_attempt(), Guarded([this] { Connect(); }));
}

zk::ConnectPace::Terms MemoryHandle::PaceTerms() const {
  return {timeout_, rotation_.size(), /*resumes=*/session_ != 0};
}

void MemoryHandle::SetServers(const zk::Resolution& servers, bool leave) {
  rotation_.Replace(servers.addresses);
  if (leave && !rotation_.Has(server_)) BreakLater();
}

void MemoryHandle::LeaveServer() {
  if (connected_) BreakLater(kLate);
}

// The connection goes in a task of its own, as this may be a call from inside the listener.
void MemoryHandle::BreakLater(Failure failure) {
  host_->Post(Guarded([this, left = connection_, failure] {
    if (connection_ == left) Break(failure);
  }));
}

void MemoryHandle::SetCredentials(const base::Secrets& all) {
  const base::Secrets before = std::exchange(options_.digest_credentials, all);
  if (connection_ == 0) return;
  const auto without = [](const base::Secrets& some, const base::Secret& one) {
    return std::find(some.begin(), some.end(), one) == some.end();
  };
  for (const base::Secret& one : before) {
    if (without(all, one)) return BreakLater();
  }
  for (const base::Secret& one : all) {
    if (without(before, one))
      ensemble_->Send(connection_, wire::Credential{std::string(one.text())});
  }
}

void MemoryHandle::HangUp() {
  if (connection_ == 0) return;
  // Nor does it arrive when the network is back.
  if (host_->Silences(connection_)) ensemble_->DropUnread(connection_);
  ensemble_->HangUp(std::exchange(connection_, 0));
}

void MemoryHandle::Break(Failure failure) {
  if (connection_ != 0) Lose(zk::Code::kConnectionLoss, failure);
}

void MemoryHandle::Lose(zk::Code code, Failure failure) {
  HangUp();
  watch_calls_.clear();
  if (!std::exchange(connected_, false)) return FailAttempt(failure);
  RetryLater(/*late=*/false);
  listener_->OnDisconnected(0);
  listener_->OnServerFailed(server_, {failure.cause, failure.what});
  pending_.AnswerAll(code);
}

void MemoryHandle::End() {
  HangUp();
  ended_ = true;
  // By a task of its own, so that Close is allowed.
  host_->Post(Guarded([this] {
    if (!closed_) listener_->OnEnded(end_code_);
  }));
}

// ---- requests -----------------------------------------------------------------------------------

void MemoryHandle::Send(const zk::Request& request, Done done) {
  if (!connected_) {
    const bool over = ended_ || closed_;
    return pending_.AnswerLater(std::move(done), over ? end_code_ : zk::Code::kConnectionLoss);
  }
  if (IsRefused(request)) {
    return pending_.AnswerLater(std::move(done), zk::Code::kBadArguments);
  }
  const auto* remove = std::get_if<zk::RemoveWatches>(&request);
  // The C client does not ask the server to remove what it does not know of.
  if (remove != nullptr && registered_.count({remove->path, remove->kind}) == 0) {
    return pending_.AnswerLater(std::move(done), zk::Code::kNoWatcher);
  }
  const uint64_t id = pending_.Add(std::move(done));
  if (remove != nullptr || std::holds_alternative<zk::WatchNode>(request) ||
      std::holds_alternative<zk::WatchExists>(request)) {
    watch_calls_[id] = request;
  }
  ensemble_->Send(connection_, wire::Call{id, request});
  last_sent_ = host_->Now();
}

void MemoryHandle::EndSession(Done done) {
  if (!connected_) return Send(zk::Delete{}, std::move(done));  // which says why not
  end_id_ = pending_.Add(std::move(done));
  ensemble_->Send(connection_, wire::EndSession{});
}

void MemoryHandle::Close() {
  if (std::exchange(closed_, true)) return;
  if (connected_) ensemble_->Send(connection_, wire::EndSession{});
  HangUp();
  connected_ = false;
  if (!ended_) end_code_ = zk::Code::kClosing;
  pending_.AnswerAll(end_code_);
}

// ---- what comes ---------------------------------------------------------------------------------

struct MemoryHandle::Receiving {
  MemoryHandle& handle;

  void operator()(const wire::Welcome& welcome) {
    MemoryHandle& h = handle;
    if (h.session_ != 0 && welcome.keepers) return h.Lose(zk::Code::kConnectionLoss, kForeign);
    if (h.session_ != 0 && h.session_ != welcome.session) return h.End();  // as the C client does
    h.connected_ = true;
    h.on_keeper_ = welcome.keepers;
    h.session_ = welcome.session;
    h.timeout_ = welcome.timeout;
    h.failed_attempts_ = 0;
    h.pace_.Connected(h.host_->Now());
    h.last_sent_ = h.last_heard_;
    h.SetWatchesAgain();
    h.CheckLivenessAt(h.last_heard_ + h.timeout_ / 3);
    h.listener_->OnConnected(welcome.session, welcome.timeout, h.began_);
  }

  void operator()(const wire::Expired&) { handle.End(); }

  void operator()(const wire::Pong&) {}

  void operator()(const wire::Fired& fired) {
    const auto used_up = [&fired](const auto& watch) {
      return watch.first.path == fired.path && zk::Fires(fired.what, watch.first.kind);
    };
    // `zxid`, if it has one, does not count as seen: events of the same change may be on their way
    // still.
    if (std::erase_if(handle.registered_, used_up) == 0) return;
    handle.listener_->OnWatch(fired.path, fired.what);
  }

  void operator()(wire::Answer& answer) {
    handle.seen_zxid_ = std::max(handle.seen_zxid_, answer.zxid);
    if (answer.id == 0) return handle.OnSessionEnded();
    auto call = handle.watch_calls_.extract(answer.id);
    if (!call.empty()) handle.NoteWatch(call.mapped(), answer.reply.code);
    handle.pace_.Answered(handle.PaceTerms(), handle.host_->Now());
    handle.pending_.Answer(answer.id, std::move(answer.reply));
  }
};

void MemoryHandle::OnSessionEnded() {
  HangUp();
  connected_ = false;
  ended_ = true;
  end_code_ = zk::Code::kClosing;
  pending_.Answer(end_id_, zk::Reply{});
}

bool MemoryHandle::HasNews() const { return connection_ != 0 && ensemble_->HasNews(connection_); }

void MemoryHandle::Deliver() {
  assert(HasNews());
  std::optional<ToClient> message = ensemble_->Receive(connection_);
  if (!message.has_value()) {
    return Lose(zk::Code::kConnectionLoss, connected_ ? kClosed : kHungUp);
  }
  last_heard_ = host_->Now();
  std::visit(Receiving{*this}, *message);
}

void MemoryHandle::NoteWatch(const zk::Request& request, zk::Code code) {
  if (const auto* exists = std::get_if<zk::WatchExists>(&request)) {
    const bool absent = code == zk::Code::kNoNode;
    if (absent || code == zk::Code::kOk) {
      registered_[{exists->path, zk::WatchKind::kExists}] = absent;
    }
  } else if (code != zk::Code::kOk) {
    return;
  } else if (const auto* remove = std::get_if<zk::RemoveWatches>(&request)) {
    registered_.erase({remove->path, remove->kind});
  } else {
    registered_[{zk::PathOf(request)}] = false;
  }
}

void MemoryHandle::SetWatchesAgain() {
  if (registered_.empty()) return;
  wire::SetWatches again{seen_zxid_};
  for (const auto& [watch, absent] : registered_) {
    if (watch.kind == zk::WatchKind::kNode) {
      again.paths.push_back(watch.path);
    } else {
      (absent ? again.absent : again.present).push_back(watch.path);
    }
  }
  ensemble_->Send(connection_, std::move(again));
}

// Pings an idle connection, and gives up a silent one.
void MemoryHandle::CheckLiveness() {
  // Messages that have come are read before anything is concluded from silence.
  while (connected_ && HasNews() && host_->Hears(*this)) Deliver();
  if (!connected_) return;
  const base::BootTime now = host_->Now();
  const base::BootTime silent = last_heard_ + timeout_ * 2 / 3;
  if (now >= silent) return Lose(zk::Code::kOperationTimeout, kLate);
  base::BootTime ping = last_sent_ + timeout_ / 3;
  if (now >= ping && pending_.size() == 0) {
    ensemble_->Send(connection_, wire::Ping{});
    last_sent_ = now;
    ping = now + timeout_ / 3;
  }
  CheckLivenessAt(now < ping ? std::min(ping, silent) : silent);
}

void MemoryHandle::CheckLivenessAt(base::BootTime when) {
  host_->CallAt(when, Guarded([this, checked = connection_] {
                  if (connection_ == checked) CheckLiveness();
                }));
}

}  // namespace zkrecipes::testing::memory
