// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_CLIENT_CLIENT_CORE_H_
#define ZKRECIPES_LIB_SESSION_CLIENT_CLIENT_CORE_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/base/executor.h"
#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"
#include "lib/base/process.h"
#include "lib/base/seam.h"
#include "lib/session/client/known_paths.h"
#include "lib/session/client/sessions.h"
#include "lib/session/client/state_feed.h"
#include "lib/session/session.h"
#include "lib/session/stop_requests.h"
#include "lib/zk/loop/loop.h"
#include "lib/zk/loop/resolver.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/path.h"
#include "lib/zk/seam/reactor.h"
#include "lib/zk/tls/tls.h"
#include "zkrecipes/client.h"
#include "zkrecipes/event_loop.h"

namespace zkrecipes::internal {

// Where a client runs. `stop` ends the reactor, unless others share it, once the session is closed.
struct Environment {
  std::shared_ptr<zk::Reactor> reactor;
  std::shared_ptr<zk::HandleFactory> factory;
  std::shared_ptr<zk::loop::Resolver> resolver;
  absl::AnyInvocable<void() &&> stop;
  // How often a blocking call reads the reactor's clock, which in a test stands still or jumps.
  absl::Duration clock_check = absl::Seconds(1);
  // How long a client's destructor waits for its session to end.
  absl::Duration destructor_waits = absl::Seconds(1);
  // In a test that moves the clock: is told of blocking calls.
  std::shared_ptr<base::WaitObserver> waits = nullptr;
  // False where an acquire may block the very thread that moves the clock: leases are then proven
  // without it (ExpiryMargins::moment), since none would pass.
  bool leaders_moment = true;
  // The reactor, if threads that wait may run it themselves: no callback of a user's runs there.
  std::shared_ptr<internal::Loop> loop = nullptr;
  // The reactor's own, if it is known already.
  std::thread::id thread = {};
  // Of ClientOptions::tls. Null: no connection is encrypted.
  std::shared_ptr<zk::tls::TlsContext> tls = nullptr;
};

// What a Client, its recipes and its leases share: the session, and the way onto its reactor.
// Thread-safe. It lives until the last of them has gone *and* the session is closed.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  using WithSession = absl::AnyInvocable<void(session::Session*) &&>;

  // InvalidArgument for bad options; does not connect yet.
  static absl::StatusOr<std::shared_ptr<ClientCore>> Create(ClientOptions options);
  // REQUIRES: the options are valid.
  ZKRECIPES_SEAM static std::shared_ptr<ClientCore> CreateIn(Environment environment,
                                                             ClientOptions options,
                                                             zk::ServerList servers);
  ~ClientCore();

  // `connected` runs once, on the reactor: OK, or why there never will be a session.
  ZKRECIPES_SEAM void Start(absl::AnyInvocable<void(absl::Status) &&> connected);

  // Runs `task` exactly once: on the reactor with the first session, or with null once the client
  // is closed. That is when the reactor's last task has begun, and from then on inline or on a
  // thread that posts at the same time. Always one task after another, in the order of posting.
  template <typename Task>
  void Post(Task task);
  // Only from such a task that was given a session.
  session::client::Sessions& sessions() { return *sessions_; }

  // Starts closing, once. `closed` gets the outcome, even if that has long been known: on the
  // reactor, or inline.
  using Closed = absl::AnyInvocable<void(absl::Status) &&>;
  ZKRECIPES_SEAM void Close(Closed closed);
  void Close(std::shared_ptr<base::OneShot<absl::Status>> closed) {
    Close([closed = std::move(closed)](absl::Status status) { closed->Set(std::move(status)); });
  }

  // See Client.
  absl::Status SetServers(const std::string& servers);
  absl::Status AddCredential(const std::string& digest);
  absl::Status SetCredentials(std::vector<std::string> all);
  bool has_users() const { return has_users_.load(); }
  // Every client may take a lock from its holder, unless an acquire has an ACL of its own.
  bool open_to_strangers() const { return open_to_strangers_; }

  // Only on the reactor.
  session::client::KnownPaths& known_paths() { return known_paths_; }

  // OK, or FailedPrecondition with the reason why no blocking call is possible here: the process is
  // a forked child, or the thread is the reactor's own.
  absl::Status CheckMayBlock() const;
  // Before an acquire sends anything (at its lease's end it may be too late to start a thread for
  // the notice), and before a call that answers on the executor: from OK on there is a thread.
  // ResourceExhausted. Thread-safe.
  enum class ThreadFor { kNotices, kAnswers };
  absl::Status PrepareThread(ThreadFor what) const;
  // Not inline, lest zkrecipes::testing ask its own copy of what numbers the processes.
  bool InHomeProcess() const;
  bool OnReactor() const {
    return reactor_thread_.load() == std::this_thread::get_id() ||
           (environment_.loop != nullptr && environment_.loop->OnThread());
  }

  // Blocks until `shot` is set, `deadline` has passed or `cancel` is requested.
  template <typename T>
  std::optional<T> Await(base::OneShot<T>& shot, base::BootTime deadline,
                         const std::stop_token& cancel = {}) const {
    std::optional<base::ObservedWait> observed;
    if (environment_.waits != nullptr) {
      const auto over = [this, &shot, deadline, cancel] {
        return shot.is_set() || cancel.stop_requested() || Now() >= deadline;
      };
      observed.emplace(*environment_.waits,
                       base::WaitObserver::Wait{deadline, over, [&shot] { shot.Wake(); }});
    }
    return shot.Take(deadline, cancel, environment_.clock_check, [this] { return Now(); });
  }

  // Begin one, ask, then Await: if it can be, the calling thread runs the loop from beginning to
  // end, and neither the question nor the answer has to wake another thread. At most one on a
  // thread.
  class Drive {
   public:
    // Not `runs_loop`: another thread's doing is awaited, and this one only sleeps.
    explicit Drive(const ClientCore& core, bool runs_loop = true);
    ~Drive() { End(); }
    Drive(const Drive&) = delete;
    Drive& operator=(const Drive&) = delete;

    // As ClientCore::Await. Once.
    template <typename T>
    std::optional<T> Await(base::OneShot<T>& shot, base::BootTime deadline,
                           const std::stop_token& cancel = {}) {
      if (loop_ != nullptr) {
        // What another thread settles has to end the poll.
        const auto wake = [this] { Wake(); };
        shot.OnSet(wake);
        const std::stop_callback on_cancel(cancel, wake);
        loop_->RunUntil([&] { return shot.is_set() || cancel.stop_requested(); }, deadline);
        shot.OnSet(nullptr);
      }
      End();
      return core_.Await(shot, deadline, cancel);
    }

   private:
    void Wake();
    void End();

    const ClientCore& core_;
    std::shared_ptr<internal::Loop> loop_;  // null: the loop's own thread runs it
  };

  // Blocks for `pause`. Returns false, early, once `deadline` has passed or `cancel` is requested.
  bool Pause(absl::Duration pause, base::BootTime deadline, const std::stop_token& cancel) const;
  absl::Duration destructor_waits() const { return environment_.destructor_waits; }

  const ClientOptions& options() const { return options_; }
  const zk::Namespace& name_space() const { return namespace_; }
  const std::shared_ptr<Executor>& executor() const { return options_.executor; }
  const std::shared_ptr<zk::Reactor>& reactor() const { return environment_.reactor; }
  base::BootTime Now() const { return environment_.reactor->Now(); }
  session::client::StateFeed& feed() { return feed_; }
  session::StopRequests& stops() { return *stops_; }
  // The first session's, in which what needs no lease is asked: see session::Reach.
  const std::shared_ptr<session::Reach>& reach() const { return reach_; }
  std::string trouble() const { return reach_->trouble(); }
  int64_t session_id() const { return session_id_.load(); }
  absl::Duration session_timeout() const { return absl::Milliseconds(timeout_ms_.load()); }

 private:
  // `notices`: where leases' ended() are requested to stop. Null: on the options' executor.
  ClientCore(Environment environment, ClientOptions options, zk::ServerList servers,
             std::shared_ptr<base::GrowingExecutor> notices);
  absl::Status CheckOpen() const;
  void OnChange(session::Change change, std::optional<ClientState> state);
  void OnClosed(absl::Status status);
  void ReportConnected(absl::Status status);
  void PostLate(WithSession task);
  void RunLate() noexcept;  // as on the reactor, what throws ends the process
  bool TakeLate(WithSession& task);

  const base::HomeProcess home_;
  Environment environment_;
  ClientOptions options_;  // the executor is never null
  const zk::ServerList servers_;
  const zk::Namespace namespace_;
  session::client::StateFeed feed_;
  // This client's alone: callbacks of another one that block keep no thread from it. Null: the
  // options' executor has them.
  const std::shared_ptr<base::GrowingExecutor> notices_;
  const std::shared_ptr<session::StopRequests> stops_;
  std::atomic<std::thread::id> reactor_thread_;
  std::atomic<int64_t> session_id_ = 0;
  base::Secrets credentials_;  // until Start: the sessions have them then
  std::atomic<bool> has_users_;
  const bool open_to_strangers_;
  std::atomic<int64_t> timeout_ms_ = 0;
  const std::shared_ptr<session::Reach> reach_;

  // On the reactor only.
  std::unique_ptr<session::client::Sessions> sessions_;
  absl::AnyInvocable<void(absl::Status) &&> connected_;
  bool close_begun_ = false;
  session::client::KnownPaths known_paths_;

  mutable base::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;           // the reactor takes no more tasks
  std::deque<WithSession> late_ ABSL_GUARDED_BY(mutex_);  // posted since then
  // A thread runs them now, or will: at first the reactor's.
  bool late_has_runner_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Status close_status_ ABSL_GUARDED_BY(mutex_);
  std::vector<Closed> close_waiters_ ABSL_GUARDED_BY(mutex_);
};

template <typename Task>
void ClientCore::Post(Task task) {
  {
    base::MutexLock lock(mutex_);
    if (!closed_) {
      // Under the mutex, so that the reactor's stop comes after it.
      return environment_.reactor->Post(
          [self = shared_from_this(), task = std::move(task)]() mutable {
            std::move(task)(self->sessions_ == nullptr ? nullptr : self->sessions_->first());
          });
    }
  }
  PostLate(std::move(task));
}

struct EventLoopAccess {
  static const std::shared_ptr<internal::Loop>& LoopOf(const EventLoop& loop) { return loop.loop_; }
};

// Access from the public Client to its core.
struct ClientAccess {
  static const std::shared_ptr<ClientCore>& Core(const Client& client) { return client.core_; }
  ZKRECIPES_SEAM static std::shared_ptr<Client> Wrap(std::shared_ptr<ClientCore> core);
  // Starts a core and waits for its first session: see Client::Connect. REQUIRES: `wait` is valid.
  ZKRECIPES_SEAM static absl::StatusOr<std::shared_ptr<Client>> Connect(
      const std::shared_ptr<ClientCore>& core, const WaitOptions& wait);
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_SESSION_CLIENT_CLIENT_CORE_H_
