// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

#include "testing/memory/memory_handle.h"

namespace zkrecipes::testing::memory {

// ---- tasks in line ------------------------------------------------------------------------------

void TaskLine::AddLocked(Task task) {
  tasks_.push_back(std::move(task));
  size_.store(tasks_.size(), std::memory_order_release);
}

void TaskLine::Add(Task task) {
  base::MutexLock lock(mutex_);
  if (!closed_) AddLocked(std::move(task));  // a parameter outlives the lock: it is destroyed later
}

TaskLine::Task TaskLine::Take(size_t which) {
  base::MutexLock lock(mutex_);
  const auto it = tasks_.begin() + static_cast<std::ptrdiff_t>(which);
  Task task = std::move(*it);
  tasks_.erase(it);
  size_.store(tasks_.size(), std::memory_order_release);
  return task;
}

void TaskLine::CloseWith(Task last) {
  base::MutexLock lock(mutex_);
  if (!std::exchange(closed_, true)) AddLocked(std::move(last));
}

void TaskLine::Clear() {
  std::deque<Task> dropped;  // destroyed after the lock is given up: what a task holds may call us
  base::MutexLock lock(mutex_);
  closed_ = true;
  dropped.swap(tasks_);
  size_.store(0, std::memory_order_release);
}

// ---- the host -----------------------------------------------------------------------------------

Host::Host(std::shared_ptr<ModelEnsemble> ensemble, std::shared_ptr<const Clock> clock,
           uint64_t seed, std::function<void()> wake)
    : ensemble_(std::move(ensemble)),
      clock_(std::move(clock)),
      wake_(std::move(wake)),
      random_(seed),
      global_origin_(clock_->Now()),
      local_origin_(global_origin_) {}

Host::~Host() = default;

// ---- reactor, resolver, executor ----------------------------------------------------------------

void Host::Post(Task task) {
  tasks_.Add(std::move(task));
  wake_();
}

void Host::Execute(absl::AnyInvocable<void() &&> task) {
  callbacks_.Add(std::move(task));
  wake_();
}

base::BootTime Host::Now() {
  const base::BootTime now = clock_->Now();
  if (!own_clock_) return now;
  base::MutexLock lock(mutex_);
  if (rate_ == 1.0) return local_origin_ + (now - global_origin_);
  return local_origin_ + (now - global_origin_) * rate_;
}

uint64_t Host::Random() {
  base::MutexLock lock(mutex_);
  return random_();
}

zk::Reactor::TimerId Host::CallAt(base::BootTime when, Task task) {
  return timers_.Add(when, std::move(task));
}

void Host::Cancel(TimerId id) { timers_.Cancel(id); }

absl::StatusOr<std::unique_ptr<zk::Handle>> Host::Open(const zk::HandleOptions& options,
                                                       zk::HandleListener* listener) {
  return std::make_unique<MemoryHandle>(this, ensemble_.get(), options, listener);
}

void Host::Resolve(const std::vector<zk::ServerAddress>& servers, Each each) {
  for (const zk::ServerAddress& server : servers) {
    zk::ListedServer it;
    it.name = zk::NameOf(server);
    absl::string_view name = server.host;
    int number = 0;
    if (absl::ConsumePrefix(&name, "memory-") && absl::SimpleAtoi(name, &number) && number >= 0 &&
        number < ensemble_->servers()) {
      it.addresses = {absl::StrCat(ensemble_->AddressOf(number))};
    } else {
      it.error = "no server of the ensemble in memory";
    }
    each(std::move(it));
  }
}

void Host::Stop() {
  tasks_.CloseWith([this] {
    stopped_ = true;
    const zk::loop::TimerQueue dropped = std::exchange(timers_, zk::loop::TimerQueue());
  });
}

void Host::Mute() { callbacks_.Clear(); }

void Host::Abandon() {
  stopped_ = true;
  const zk::loop::TimerQueue timers = std::exchange(timers_, zk::loop::TimerQueue());
  tasks_.Clear();
  callbacks_.Clear();
}

// ---- steps --------------------------------------------------------------------------------------

void Host::RunTask() { tasks_.Take(0)(); }

void Host::RunCallback(size_t which) { callbacks_.Take(which)(); }

bool Host::CanRunTimer() { return !paused_ && timers_.Next() <= Now(); }

void Host::RunTimer() {
  if (Task task = timers_.TakeDue(Now(), timers_.Mark())) std::move(task)();
}

bool Host::CanDeliver() const {
  return !paused_ && std::any_of(handles_.begin(), handles_.end(), [this](const auto* handle) {
    return handle->HasNews() && Hears(*handle);
  });
}

void Host::Deliver() {
  for (MemoryHandle* handle : handles_) {
    if (handle->HasNews() && Hears(*handle)) return handle->Deliver();
  }
}

bool Host::Hears(const MemoryHandle& handle) const {
  return network_ != Network::kDeaf && !Silences(handle.connection());
}

bool Host::Silences(ConnectionId connection) const {
  if (network_ != Network::kSilent && drops_.none()) return false;
  if (connection == 0 || !Owns(connection)) return false;
  return network_ == Network::kSilent || drops_[ensemble_->ServerOf(connection)];
}

base::BootTime Host::NextTimer() const {
  const base::BootTime next = timers_.Next();
  return next == base::BootTime::InfiniteFuture() ? next : ToGlobal(next);
}

// ---- conditions ---------------------------------------------------------------------------------

base::BootTime Host::ToGlobal(base::BootTime local) const {
  if (!own_clock_) return local;
  base::MutexLock lock(mutex_);
  if (rate_ == 1.0) return global_origin_ + (local - local_origin_);
  // Rounded up: the timer must be due then.
  return global_origin_ + (local - local_origin_) / rate_ + absl::Nanoseconds(2);
}

void Host::set_clock_rate(double rate) {
  const base::BootTime local = Now();
  if (rate == 1.0 && !own_clock_) return;
  own_clock_ = true;
  base::MutexLock lock(mutex_);
  local_origin_ = local;
  global_origin_ = clock_->Now();
  rate_ = rate;
}

void Host::set_network(Network network) {
  network_ = network;
  if (network == Network::kDown) BreakConnections();
}

void Host::BreakConnections() {
  for (MemoryHandle* handle : handles_) handle->Break();
}

bool Host::Owns(ConnectionId connection) const {
  return std::any_of(handles_.begin(), handles_.end(), [connection](const MemoryHandle* handle) {
    return handle->connection() == connection;
  });
}

std::optional<int> Host::ConnectedTo() const {
  for (const MemoryHandle* handle : handles_) {
    if (handle->connected()) return ensemble_->ServerOf(handle->connection());
  }
  return std::nullopt;
}

}  // namespace zkrecipes::testing::memory
