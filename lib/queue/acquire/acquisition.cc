// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/acquisition.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/acquire/contender_runner.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/listing/grant_mode.h"
#include "lib/queue/listing/owner.h"
#include "lib/session/client/client_options.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::acquire {
namespace {

// A lease lives from one confirmed write to the next: there must be time for a beat, which goes out
// every tenth of the session timeout, and for its answer.
constexpr int kLeastLifetimeFraction = 8;

absl::Status CheckLockDelay(const internal::ClientCore& core, absl::Duration lock_delay) {
  if (lock_delay < absl::ZeroDuration() || lock_delay == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lock delay \"", absl::FormatDuration(lock_delay), "\": must be finite and not negative"));
  }
  if (lock_delay == absl::ZeroDuration()) return absl::OkStatus();
  const absl::Duration least = core.session_timeout() / kLeastLifetimeFraction;
  const absl::Duration lifetime =
      session::client::MarginsOf(core.options().lease).DelayLifetime(lock_delay);
  if (lifetime >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "lock delay \"", absl::FormatDuration(lock_delay), "\": a lease would be believed for ",
      absl::FormatDuration(lifetime), ", and it must be at least ", absl::FormatDuration(least),
      ", an eighth of the session timeout"));
}

absl::Status CheckMarker(const machine::Candidacy& candidacy, const AcquireOptions& options) {
  const bool names_are_fixed =
      candidacy.mode == machine::Mode::kShared || candidacy.mode == machine::Mode::kSharedWriter;
  if (!options.marker.has_value() || !names_are_fixed) return absl::OkStatus();
  return absl::InvalidArgumentError("marker: a ReadWriteLock's names are fixed");
}

// What PathQueue::rule does not know: the candidacy, the wait, and what changes while the client
// lives.
absl::Status Check(const internal::PathQueue& queue, const machine::Candidacy& candidacy,
                   const WaitOptions& wait) {
  const internal::ClientCore& core = *queue.core;
  const AcquireOptions& options = queue.options;
  if (!queue.rule.ok()) return queue.rule;
  for (const absl::Status& status :
       {session::client::CheckWaitOptions(wait), CheckLockDelay(core, candidacy.lock_delay),
        CheckLockDelay(core, options.lock_delay), CheckMarker(candidacy, options)}) {
    if (!status.ok()) return status;
  }
  if (options.acl.has_value()) {
    if (absl::Status status = session::client::CheckAcl(*options.acl, core.has_users());
        !status.ok())
      return status;
  }
  if (core.InHomeProcess()) return absl::OkStatus();
  return core.CheckMayBlock();
}

// Adds what the recipe does not know: the path on the server, and what the options say.
void Complete(const internal::PathQueue& queue, machine::Candidacy& candidacy) {
  const internal::ClientCore& core = *queue.core;
  const AcquireOptions& options = queue.options;
  candidacy.parent = core.name_space().ToServer(queue.path);
  if (*options.dialect == NameDialect::kKazoo) candidacy.dialect = machine::Dialect::kKazoo;
  if (options.marker.has_value()) candidacy.named_as = listing::ModeNamed(*options.marker);
  candidacy.beside_blind = options.beside_blind;
  candidacy.wait_for_proof |= *options.wait_for_proof;
  const absl::Duration lock_delay = options.lock_delay;
  if (lock_delay > absl::ZeroDuration()) candidacy.lock_delay = lock_delay;
  if (options.acl.has_value()) candidacy.acl = session::client::EntriesOf(*options.acl);
  if (candidacy.data.empty()) {
    std::optional<int64_t> token;
    if (candidacy.takes_place()) token = candidacy.follows.token;
    candidacy.data = listing::ThisOwnersData(candidacy.dialect, candidacy.named(),
                                             core.options().owner_id, token);
  }
}

}  // namespace

Acquisition::Answer Acquisition::Wait(const Queue& queue, const machine::Candidacy& candidacy,
                                      const WaitOptions& wait) {
  const internal::ClientCore& core = *queue->core;
  if (absl::Status status = Check(*queue, candidacy, wait); !status.ok()) return status;
  if (absl::Status status = core.CheckMayBlock(); !status.ok()) return status;
  auto answer = std::make_shared<base::OneShot<Answer>>();
  const auto acquisition = std::make_shared<Acquisition>(
      OnlyHere(), queue, wait, [answer](Answer a) { answer->Set(std::move(a)); });
  internal::ClientCore::Drive drive(core);
  acquisition->Begin(candidacy, wait.cancel);
  // Normally the reactor's timer settles it; the caller's own deadline is for a reactor that is
  // stuck.
  if (auto given = drive.Await(*answer, acquisition->deadline_)) return *std::move(given);
  acquisition->TimeOut();
  return *core.Await(*answer, base::BootTime::InfiniteFuture());
}

void Acquisition::Start(const Queue& queue, const machine::Candidacy& candidacy,
                        const WaitOptions& wait, Done done) {
  if (absl::Status status = Check(*queue, candidacy, wait); !status.ok()) {
    return std::move(done)(std::move(status));
  }
  std::make_shared<Acquisition>(OnlyHere(), queue, wait, std::move(done))
      ->Begin(candidacy, wait.cancel);
}

Acquisition::Acquisition(OnlyHere, Queue queue, const WaitOptions& wait, Done done)
    : queue_(std::move(queue)),
      timeout_(wait.timeout),
      began_(queue_->core->Now()),
      deadline_(began_ + wait.timeout),
      done_(std::move(done)) {}

void Acquisition::Begin(machine::Candidacy candidacy, const std::stop_token& cancel) {
  Complete(*queue_, candidacy);
  auto runner =
      std::make_shared<ContenderRunner>(queue_->core, shared_from_this(), std::move(candidacy));
  runner_ = runner;
  queue_->core->Post(
      [runner = std::move(runner)](session::Session* session) { runner->Start(session); });
  // Last, because a stop that was requested already runs GiveUp inside this line.
  on_cancel_.emplace(cancel, GiveUp{weak_from_this()});
}

void Acquisition::GiveUp::operator()() const {
  const auto self = acquisition.lock();
  if (self == nullptr) return;
  self->Quit(absl::CancelledError(
      absl::StrCat("acquire ", self->path(), ": cancelled", self->WaitedFor(),
                   "; its node, if it has one, is deleted in the background")));
}

void Acquisition::TimeOut() { Quit(Late()); }

absl::Status Acquisition::Late() const {
  base::MutexLock lock(mutex_);
  if (busy_) return listing::BusyStatus(path(), *rivals_);
  const auto cut_off = queue_->core->CutOff();
  std::string why = WaitedFor();
  if (rivals_ != nullptr) why = absl::StrCat(": ", listing::Describe(*rivals_));
  if (cut_off) why = absl::StrCat(": ", *cut_off);
  return absl::Status(
      cut_off ? absl::StatusCode::kUnavailable : absl::StatusCode::kDeadlineExceeded,
      absl::StrCat("acquire ", path(), ": not granted within ", absl::FormatDuration(timeout_), why,
                   "; its node, if it has one, is deleted in the background"));
}

std::string Acquisition::WaitedFor() const {
  const size_t in_front = in_front_.load(std::memory_order_relaxed);
  if (in_front == 0) return "";
  return absl::StrCat(", waiting for ", in_front, in_front == 1 ? " other" : " others", " at most");
}

void Acquisition::Know(listing::Rivals rivals) {
  base::MutexLock lock(mutex_);
  rivals_ = std::make_unique<listing::Rivals>(std::move(rivals));
}

void Acquisition::KnowBusy(listing::Rivals rivals) {
  base::MutexLock lock(mutex_);
  busy_ = true;
  rivals_ = std::make_unique<listing::Rivals>(std::move(rivals));
}

void Acquisition::Quit(absl::Status why) {
  if (Settle(std::move(why))) LeaveQueue();
}

void Acquisition::LeaveQueue() {
  if (const auto runner = runner_.lock()) runner->Leave(nullptr);
}

// The first one wins, on whichever thread; only it may touch done_.
bool Acquisition::Settle(Answer answer) {
  if (settled_.exchange(true)) return false;
  if (!answer.ok()) {
    base::MutexLock lock(mutex_);
    refusal_ = answer.status();
  }
  std::exchange(done_, nullptr)(std::move(answer));
  return true;
}

absl::Status Acquisition::refusal() const {
  base::MutexLock lock(mutex_);
  return refusal_;
}

absl::StatusOr<Lease> TryAcquire(const Queue& queue, machine::Candidacy candidacy,
                                 const WaitOptions& wait) {
  candidacy.try_only = true;
  return Acquisition::Wait(queue, candidacy, wait);
}

void AcquireAsync(const Queue& queue, const machine::Candidacy& candidacy, const WaitOptions& wait,
                  absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) {
  Acquisition::Start(queue, candidacy, wait, OnExecutor(*queue->core, std::move(done)));
}

absl::StatusOr<machine::Candidacy> GoingOnFrom(const internal::PathQueue& queue,
                                               internal::LeaseState* state, machine::Mode from,
                                               machine::Candidacy candidacy) {
  const std::string& path = queue.path;
  const auto wrong = [&](const char* rule) {
    return absl::InvalidArgumentError(absl::StrCat("the lease to go on from ", rule, " ", path));
  };
  if (state == nullptr) return wrong("was moved from: another one is needed on");
  const bool ours = &state->core() == queue.core.get();
  if (!ours) return wrong("belongs to another client than this one on");
  const Sequencer& sequencer = state->sequencer();
  if (sequencer.path() != path) return wrong("is of another path than");
  const std::string node(zk::NodeName(sequencer.node));
  const std::optional<machine::NodeName> name = machine::ParseNodeName(node);
  // kazoo has one name for both kinds of exclusive nodes.
  const bool fits =
      name.has_value() && (name->mode == from || (name->dialect == machine::Dialect::kKazoo &&
                                                  sequencer.mode == listing::GrantModeOf(from)));
  if (!fits) {
    return wrong(from == machine::Mode::kShared ? "is not a shared lease on"
                                                : "is not a ReadWriteLock's exclusive lease on");
  }
  if (absl::Status status = state->CheckAlive("go on from"); !status.ok()) return status;
  candidacy.follows = {node, state->session(), sequencer.token.value()};
  return candidacy;
}

absl::StatusOr<Lease> Follow(const Queue& queue, Lease& lease, machine::Mode from,
                             machine::Candidacy candidacy, const WaitOptions& wait) {
  if (absl::Status status = Check(*queue, candidacy, wait); !status.ok()) return status;
  auto going_on =
      GoingOnFrom(*queue, internal::LeaseMaker::StateOf(lease).get(), from, std::move(candidacy));
  if (!going_on.ok()) return going_on.status();
  absl::StatusOr<Lease> next = Acquisition::Wait(queue, *going_on, wait);
  // Only now: until then the old lease keeps other writers out.
  if (next.ok()) (void)Lease(std::move(lease));  // dropped, which releases it
  return next;
}

void FollowAsync(const Queue& queue, std::shared_ptr<internal::LeaseState> lease,
                 machine::Mode from, machine::Candidacy candidacy, const WaitOptions& wait,
                 absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) {
  auto going_on = GoingOnFrom(*queue, lease.get(), from, std::move(candidacy));
  absl::Status wrong = going_on.ok() ? Check(*queue, *going_on, wait) : going_on.status();
  if (!wrong.ok()) return OnExecutor(*queue->core, std::move(done))(std::move(wrong));
  AcquireAsync(
      queue, *going_on, wait,
      [lease = std::move(lease), done = std::move(done)](absl::StatusOr<Lease> next) mutable {
        if (next.ok()) lease->Abandon();
        std::move(done)(std::move(next));
      });
}

}  // namespace zkrecipes::queue::acquire
