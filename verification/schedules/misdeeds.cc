// SPDX-License-Identifier: Apache-2.0
//
// User code of a LockWorld that misbehaves: it destroys and closes what its callback was given to,
// forks, or throws. A child is a real one, of fork(): it has copies to destroy, and only the kernel
// numbers processes anew.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

#include "verification/schedules/lock_world.h"
#include "zkrecipes/cached_lock.h"
#include "zkrecipes/event_listener.h"
#include "zkrecipes/guarded_write.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"
#include "zkrecipes/semaphore.h"

namespace zkrecipes::schedules {

namespace {

using Core = std::shared_ptr<internal::ClientCore>;

constexpr unsigned kHangs = 30;  // seconds

struct Thrown {};

class Listener final : public EventListener {
 public:
  explicit Listener(std::function<void()> called) : called_(std::move(called)) {}

  void OnQueued(const std::string&, int, const std::string&) override { called_(); }
  void OnPlaceLost(const std::string&) override { called_(); }
  void OnGranted(const Sequencer&, int64_t, absl::Duration) override { called_(); }
  void OnNotGranted(const std::string&, const absl::Status&, absl::Duration) override { called_(); }
  void OnSuspect(const Sequencer&) override { called_(); }
  void OnLost(const Sequencer&, LeaseEnd) override { called_(); }
  void OnReleased(const Sequencer&, absl::Duration) override { called_(); }
  void OnTurns(const Sequencer&, int64_t) override { called_(); }

 private:
  const std::function<void()> called_;
};

// What a child says by its exit status.
enum Verdict : int { kRight = 0, kNotRefused = 70, kBelieved, kSent, kSurvived };
constexpr const char* kTexts[] = {"a call was not refused", "a lease was not lost",
                                  "something was sent, or would be", "the process goes on"};

// Returns what is wrong in a child that `judge` ends with a Verdict. Empty: nothing.
std::string WrongInAChild(absl::FunctionRef<Verdict()> judge) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kHangs);
    _exit(judge());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "there is no child";
  if (status == 0) return "";
  if (WIFSIGNALED(status)) return absl::StrCat("signal ", WTERMSIG(status));
  const int verdict = WEXITSTATUS(status);
  const bool known = verdict >= kNotRefused && verdict <= kSurvived;
  return known ? kTexts[verdict - kNotRefused] : absl::StrCat("status ", verdict);
}

}  // namespace

AcquireOptions LockWorld::Listening(const Core& core) {
  AcquireOptions options;
  if (!misbehaves()) return options;
  options.listener = std::make_shared<Listener>([this, core] { EndCallback(core); });
  return options;
}

void LockWorld::EndCallback(const Core& core) {
  const auto process = std::ranges::find(processes_, core, &Process::core);
  if (process->died || !process->misdeed.has_value()) return;
  const auto number = static_cast<size_t>(process - processes_.begin());
  const auto client = std::ranges::find(current_, number);
  if (client == current_.end()) return;  // closed before
  const auto who = static_cast<uint32_t>(client - current_.begin());
  switch (*std::exchange(process->misdeed, std::nullopt)) {
    case Misdeed::kDestroysAll:
      return DestroyAll(core);
    case Misdeed::kClosesClient:
      return CloseClient(who);
    case Misdeed::kForks:
      return Fork();
    case Misdeed::kThrows:
      return Throw(who);
  }
}

void LockWorld::DestroyAll(const Core& core) {
  for (auto& bid : slots_) {
    if (bid == nullptr || bid->core != core || !bid->lease.has_value() || bid->next != nullptr) {
      continue;
    }
    std::exchange(bid, nullptr)->Release();
  }
  if (keeps()) std::ranges::find(processes_, core, &Process::core)->kept = NewKept(core);
  if (elects()) election_->Stop(core);
  if (shards_ != nullptr) shards_->DestroyAll(core);
}

// ---- forks --------------------------------------------------------------------------------------

void LockWorld::Fork() {
  const std::string wrong =
      WrongInAChild([this] { return static_cast<Verdict>(UseAllInAChild()); });
  if (!wrong.empty()) Break("acted in a forked child", wrong);
}

// Nothing in it works, nothing waits, and no client's thread, which only the parent has, is given
// anything to do.
int LockWorld::UseAllInAChild() {
  const auto to_do = [this] {
    size_t sum = 0;
    for (const Process& process : processes_) {
      sum += process.host->tasks() + process.host->callbacks() + process.host->timers();
    }
    return sum;
  };
  const size_t before = to_do();
  int open = 0;
  const auto refused = [&open](const absl::Status& status) {
    open -= absl::IsFailedPrecondition(status) ? 1 : 0;
  };
  for (const Process& process : processes_) {
    const auto client = internal::ClientAccess::Wrap(process.core);
    const ReadWriteLock lock(client, kLockPath);
    const LeaderElection election(client, kLockPath);
    open += 7;
    refused(CachedLock(client, kLockPath).TryAcquire().status());
    refused(Semaphore(client, kLockPath, 2).TryAcquire().status());
    lock.AcquireSharedAsync({}, [&](const auto& lease) { refused(lease.status()); });
    refused(lock.AcquireExclusive().status());
    refused(lock.TryAcquireShared().status());
    refused(election.CurrentLeader().status());
    refused(client->Close());
    (void)election.Observe([&open](const auto&) { ++open; });
    for (const auto& bid : bids_) {
      if (bid->core != process.core || !bid->lease.has_value()) continue;
      const auto& held = bid->lease;
      const bool lost = held->state() == Lease::State::kLost && held->ended().stop_requested();
      if (!lost || held->remaining() > absl::ZeroDuration()) return kBelieved;
      if (auto turn = std::exchange(bid->lease.turn, std::nullopt)) {
        ++open;
        refused(std::move(*turn).Release());
        continue;
      }
      Lease& lease = *bid->lease.lease;
      open += 5;
      lease.VerifyAsync({}, refused);
      refused(lock.Upgrade(lease).status());
      refused(election.Proclaim(lease, "by a child"));
      refused(GuardedWrite(lease, {WriteOp::Delete("/register")}));
      refused(std::move(lease).Release());
      bid->lease.reset();
    }
  }
  for (Process& process : processes_) process.kept.reset();
  if (elects()) election_->StopObserving();
  if (shards_ != nullptr && !shards_->IsInertInAChild()) return kNotRefused;
  return open != 0 ? kNotRefused : to_do() != before ? kSent : kRight;
}

// ---- throws -------------------------------------------------------------------------------------

void LockWorld::LetThrow(absl::FunctionRef<void()> run) {
  try {
    run();
  } catch (const Thrown&) {
    _exit(kSurvived);
  }
}

// In a child, to see that it ends; then the process itself does, as far as others can tell.
void LockWorld::Throw(uint32_t client) {
  const std::string wrong = WrongInAChild([]() -> Verdict {
    std::set_terminate([] { _exit(kRight); });
    throw Thrown();
  });
  if (!wrong.empty()) Break("threw, and did not end", wrong);
  Die(client);
}

// Its connection breaks, and it does nothing any more; another process takes its place. (Its memory
// is freed with the world: see Simulation's destructor.)
void LockWorld::Die(uint32_t client) {
  Process& process = processes_[current_[client]];
  const Core core = process.core;
  process.died = troubled_ = true;
  for (const auto& bid : bids_) {
    if (bid->core != core) continue;
    bid->died = true;
    bid->next = nullptr;  // which refers back to it
  }
  for (auto& bid : slots_) {
    if (bid != nullptr && bid->died) bid = nullptr;
  }
  if (elects()) {
    election_->Stop(core);
    election_->NoteClose(core);
  }
  if (writes()) register_->NoteClose(core);
  if (shards_ != nullptr) shards_->NoteDeath(core);
  // A member of partitions keeps itself until its answers have come: at the end of the world.
  if (shards_ == nullptr) process.host->Mute();
  process.host->set_paused(true);
  process.host->BreakConnections();
  current_[client] = OpenClient();
}

}  // namespace zkrecipes::schedules
