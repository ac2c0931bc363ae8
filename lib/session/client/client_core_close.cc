// SPDX-License-Identifier: Apache-2.0
//
// How a core closes: its sessions, then the reactor, and then what is posted too late for it.

#include "lib/session/client/client_core.h"

namespace zkrecipes::internal {

void ClientCore::PostLate(WithSession task) {
  {
    base::MutexLock lock(mutex_);
    // The reactor has stopped: tasks run on the threads that post them, one after another.
    late_.push_back(std::move(task));
    if (std::exchange(late_has_runner_, true)) return;
  }
  RunLate();
}

void ClientCore::RunLate() noexcept {
  for (WithSession task; TakeLate(task);) std::exchange(task, nullptr)(nullptr);
}

bool ClientCore::TakeLate(WithSession& task) {
  base::MutexLock lock(mutex_);
  late_has_runner_ = !late_.empty();
  if (!late_has_runner_) return false;
  task = std::move(late_.front());
  late_.pop_front();
  return true;
}

void ClientCore::Close(Closed closed) {
  std::optional<absl::Status> known;
  {
    base::MutexLock lock(mutex_);
    if (closed_) {
      known = close_status_;
    } else {
      // Every caller of Close is answered by the one closing that happens.
      close_waiters_.push_back(std::move(closed));
    }
  }
  // Not under the mutex: it may call the user, who may ask this core.
  if (known) return std::move(closed)(*std::move(known));
  Post([self = shared_from_this()](session::Session* session) {
    if (session == nullptr || std::exchange(self->close_begun_, true)) return;
    self->sessions_->Close([self](absl::Status status) { self->OnClosed(std::move(status)); });
  });
}

void ClientCore::OnClosed(absl::Status status) {
  // Not from inside the session's own call.
  environment_.reactor->Post([self = shared_from_this(), status = std::move(status)] {
    self->sessions_.reset();
    std::vector<Closed> waiters;
    {
      base::MutexLock lock(self->mutex_);
      self->closed_ = true;
      self->close_status_ = status;
      waiters.swap(self->close_waiters_);
      // Behind all that was posted before.
      self->environment_.reactor->Post([self] {
        self->RunLate();
        self->reactor_thread_.store({});  // another thread may get its number
      });
    }
    // Last of all on this thread: it may end with this call.
    std::move(self->environment_.stop)();
    for (Closed& waiter : waiters) std::move(waiter)(status);
  });
}

}  // namespace zkrecipes::internal
