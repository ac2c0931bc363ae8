// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/c_handle.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/shortage.h"
#include "lib/zk/wire/jute_reader.h"

namespace zkrecipes::zk::c_client {
namespace {

using wire::BigEndian;

// Done once for the process's private copy of the C client.
void ConfigureCClient() {
  static const bool configured = [] {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // its log uses static buffers without a lock
    zoo_deterministic_conn_order(1);                   // we shuffle; it would reseed random()
    return true;
  }();
  (void)configured;
}

absl::Status OpenError(int error) {
  if (base::IsShortage(error)) return base::Shortage("zookeeper_init", error);
  return absl::InternalError(absl::StrCat("zookeeper_init: ", strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Handle>> OpenCHandle(const HandleOptions& options,
                                                    HandleListener* listener, Reactor* reactor,
                                                    PollSet* poll_set) {
  auto handle = std::make_unique<CHandle>(options, listener, reactor, poll_set);
  if (absl::Status status = handle->Open(options); !status.ok()) return status;
  return handle;
}

CHandle::CHandle(const HandleOptions& options, HandleListener* listener, Reactor* reactor,
                 PollSet* poll_set)
    : listener_(listener),
      reactor_(reactor),
      poll_set_(poll_set),
      acl_(options.acl),
      rotation_(options.servers.addresses),
      known_(options.servers),
      tls_(options.tls),
      pending_(reactor),
      pace_(options.pace) {
  boxes_.owner = this;
  boxes_.poll_set = poll_set;
}

absl::Status CHandle::Open(const HandleOptions& options) {
  ConfigureCClient();
  const BoxScope through(&boxes_);
  const auto on_event = [](zhandle_t*, int type, int state, const char* path, void*) {
    if (type == ZOO_SESSION_EVENT) {
      CurrentBoxes()->owner->OnSessionEvent(state);
    } else {
      CurrentBoxes()->owner->OnWatchEvent(type, path);
    }
  };
  // A name would make zookeeper_init ask the system's resolver, which may block this thread for
  // long.
  for (const std::string& server : options.servers.addresses) {
    sockaddr_storage address;
    if (FromNumeric(server, address) > 0) continue;
    return absl::InternalError(absl::StrCat("\"", server, "\" is no numeric address"));
  }
  const auto timeout_ms = static_cast<int>(absl::ToInt64Milliseconds(options.session_timeout));
  errno = 0;
  zh_ = zookeeper_init(ToHost(options.servers.addresses.front()).c_str(), on_event, timeout_ms,
                       nullptr, nullptr, ZOO_NO_LOG_CLIENTENV);
  if (zh_ == nullptr) return OpenError(errno);
  zoo_set_servers_resolution_delay(zh_, -1);  // never: the session resolves names itself
  credentials_ = options.digest_credentials;
  poll_set_->Add(this);
  return absl::OkStatus();
}

void CHandle::SetServers(const Resolution& servers, bool leave) {
  set_touched(true);
  rotation_.Replace(servers.addresses);
  known_ = servers;
  // The next Prepare leaves that server: here the C client may be in the middle of a call.
  leaving_ |= leave && !rotation_.Has(rotation_.current());
}

void CHandle::LeaveServer() {
  if (!connected_) return;
  set_touched(true);
  leaving_ = true;
  abandoned_ = Socket::kConnected;
}

void CHandle::SetCredentials(const base::Secrets& all) {
  const base::Secrets before = std::exchange(credentials_, all);
  if (!connected_ || ended_) return;  // Connected sends them
  set_touched(true);
  const auto without = [](const base::Secrets& some, const base::Secret& one) {
    return std::ranges::count(some, one) == 0;
  };
  for (const base::Secret& one : before) leaving_ |= without(all, one);
  // The new connection gets all of them.
  if (leaving_) return;
  for (const base::Secret& one : all) {
    if (without(before, one)) SendCredential(one);
  }
}

// Not by zoo_add_auth: the C client would keep them, send them for good, and leave copies in memory
// that it frees. Its answer goes to the C client, which ends the session if it is a refusal.
void CHandle::SendCredential(const base::Secret& credential) {
  constexpr absl::string_view kScheme = "digest";
  const absl::string_view text = credential.text();
  const std::string head =
      absl::StrCat(BigEndian(static_cast<uint32_t>(-4)), BigEndian(ZOO_SETAUTH_OP), BigEndian(0),
                   BigEndian(kScheme.size()), kScheme, BigEndian(text.size()));
  const std::string size = BigEndian(head.size() + text.size());
  for (const absl::string_view part : {absl::string_view(size), absl::string_view(head), text}) {
    boxes_.out.SendSecret(part);
    boxes_.in.Asked(part);
  }
}

CHandle::~CHandle() {
  if (!home_.IsThisProcess()) return;
  if (callbacks_ > 0) base::Die("a handle was destroyed inside one of its own callbacks");
  Close();
}

void CHandle::OnSessionEvent(int state) {
  // Uses the event's state: zoo_state() still says "connected" while a loss is reported.
  if (state == ZOO_CONNECTED_STATE) {
    Connected();
  } else {
    Lost();
  }
}

void CHandle::Connected() {
  connected_ = true;
  write_due_ = true;
  failed_attempts_ = 0;
  // In front of the C client's first packets, which set the watches again.
  for (const base::Secret& credential : credentials_) SendCredential(credential);
  pace_.Connected(reactor_->Now());
  listener_->OnConnected(zoo_client_id(zh_)->client_id, absl::Milliseconds(zoo_recv_timeout(zh_)),
                         attempt_began_);
}

void CHandle::Served() {
  served_ = true;
  refusals_.Served();
  if (pace_.failing()) pace_.Answered(PaceTerms(), reactor_->Now());
}

void CHandle::EndSession(Done done) {
  if (!connected_) return Send(Delete{}, std::move(done));  // which says why not
  set_touched(true);
  end_id_ = pending_.Add(std::move(done));
  // Not by zookeeper_close, which would wait for the answer in here.
  const std::string request =
      absl::StrCat(BigEndian(8), BigEndian(static_cast<uint32_t>(zkrecipes_hook_get_xid())),
                   BigEndian(static_cast<uint32_t>(ZOO_CLOSE_OP)));
  boxes_.out.Send(boxes_.out.fd(), request.data(), request.size());
  boxes_.in.Asked(request);
}

void CHandle::Lost() {
  boxes_.out.Drop();
  const bool ended = boxes_.in.session_ended();
  if (end_id_ != 0) {
    pending_.AnswerLater(std::exchange(end_id_, 0), ended ? Code::kOk : Code::kConnectionLoss);
  }
  if (ended) {  // no loss, and nothing to connect for
    connected_ = false;
    ended_ = true;
    end_code_ = Code::kClosing;
    return;
  }
  // An expired session is no loss: End says so, after the answers.
  if (!std::exchange(connected_, false) || is_unrecoverable(zh_)) return;
  listener_->OnDisconnected(0);
}

void CHandle::End() {
  End(zoo_state(zh_) == ZOO_AUTH_FAILED_STATE ? Code::kAuthFailed : Code::kSessionExpired);
}

void CHandle::End(Code why) {
  // The session is over for good: nothing more is driven, so no request can be sent by mistake.
  if (std::exchange(ended_, true)) return;
  end_code_ = why;
  // In a task of its own: after the answers that are under way, and where Close is allowed.
  reactor_->Post([alive = std::weak_ptr(alive_), this] {
    if (alive.lock() != nullptr && zh_ != nullptr) listener_->OnEnded(end_code_);
  });
}

void CHandle::OnWatchEvent(int type, const char* path) {
  // An event of creation, too: a watch on a node that is not there waits for that.
  WatchEvent event = WatchEvent::kNodeData;
  if (type == ZOO_DELETED_EVENT) event = WatchEvent::kDeleted;
  if (type == ZOO_CHILD_EVENT) event = WatchEvent::kChanged;
  listener_->OnWatch(path, event);
}

void CHandle::Close() {
  if (zh_ == nullptr) return;
  if (callbacks_ > 0) base::Die("a handle was closed inside one of its own callbacks");
  // What is pending is answered in here: no answer may destroy the handle.
  const Callbacks callbacks(this);
  poll_set_->Remove(this);
  if (connected_) PrepareToClose();
  // Answers given below may Send: from here on they are refused, and get end_code_.
  connected_ = false;
  if (!ended_) end_code_ = Code::kClosing;
  {
    const BoxScope through(&boxes_);
    zookeeper_close(std::exchange(zh_, nullptr));  // answers what is pending with ZCLOSING
  }
  pending_.AnswerAll(end_code_);
}

void CHandle::PrepareToClose() {
  boxes_.out.Flush();
  boxes_.out.SetDirect();
  // The C client would wait up to 3 s to send and 1.5 s for an answer. Once the socket is shut down
  // for reading, it does not wait for the answer; if not even the request fits, it must not wait at
  // all.
  pollfd writable{boxes_.out.fd(), POLLOUT, 0};
  const bool fits = boxes_.out.empty() && poll(&writable, 1, 0) == 1;
  shutdown(boxes_.out.fd(), fits ? SHUT_RD : SHUT_RDWR);
}

}  // namespace zkrecipes::zk::c_client
