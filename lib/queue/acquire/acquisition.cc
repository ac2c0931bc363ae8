// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/acquisition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/queue/acquire/contender_runner.h"
#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/permits.h"
#include "lib/session/client/client_options.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::acquire {
namespace {

// A lease lives from one confirmed write to the next: there must be time for a beat, which goes out
// every tenth of the session timeout, and for its answer.
constexpr int kLeastLifetimeFraction = 8;

// The session timeout is what the servers granted, so the same delay may be right for one client
// and wrong for another.
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

// What PathQueue::rule does not know: the candidacy, and what changes while the client lives.
absl::Status Check(const internal::PathQueue& queue, const machine::Candidacy& candidacy) {
  const internal::ClientCore& core = *queue.core;
  const AcquireOptions& options = queue.options;
  if (!queue.rule.ok()) return queue.rule;
  for (const absl::Status& status :
       {CheckLockDelay(core, candidacy.lock_delay), CheckLockDelay(core, options.lock_delay),
        CheckMarker(candidacy, options)}) {
    if (!status.ok()) return status;
  }
  if (!options.acl.has_value()) return absl::OkStatus();
  return session::client::CheckAcl(*options.acl, core.has_users());
}

// What has to be there before a node is made: afterwards it would be too late to do without.
absl::Status Prepare(const internal::PathQueue& queue, const machine::Candidacy& candidacy) {
  if (absl::Status wrong = Check(queue, candidacy); !wrong.ok()) return wrong;
  const absl::Status ready = queue.core->PrepareThread(internal::ClientCore::ThreadFor::kNotices);
  if (ready.ok()) return ready;
  return absl::Status(ready.code(), absl::StrCat("acquire ", queue.path, ": ", ready.message()));
}

// Adds what the recipe does not know: the path on the server, and what the options say.
void Complete(const internal::PathQueue& queue, machine::Candidacy& candidacy) {
  const internal::ClientCore& core = *queue.core;
  const AcquireOptions& options = queue.options;
  candidacy.parent = core.name_space().ToServer(queue.path);
  const bool ours_alone =
      candidacy.mode == machine::Mode::kPermit || candidacy.mode == machine::Mode::kMember;
  if (*options.dialect == NameDialect::kKazoo && !ours_alone)
    candidacy.dialect = machine::Dialect::kKazoo;
  if (options.marker.has_value()) candidacy.named_as = listing::ModeNamed(*options.marker);
  candidacy.beside_blind = options.beside_blind;
  const absl::Duration lock_delay = options.lock_delay;
  if (lock_delay > absl::ZeroDuration()) candidacy.lock_delay = lock_delay;
  // In lock-delay mode a lease is kHeld without a proof, which may never come where nothing bounds
  // the leader's pings.
  candidacy.wait_for_proof = *options.wait_for_proof && !candidacy.rests_on_delay();
  if (options.acl.has_value()) candidacy.acl = session::client::EntriesOf(*options.acl);
  if (candidacy.data.empty()) {
    // A downgrade keeps its token, although its node has another czxid: the data says which.
    std::optional<int64_t> token;
    if (candidacy.takes_place()) token = candidacy.follows.token;
    candidacy.data =
        listing::ThisOwnersData(candidacy.dialect, candidacy.named(), queue.owner_id, token);
    if (candidacy.permits > 0) {
      candidacy.data = listing::PermitData(std::move(candidacy.data), candidacy.permits);
    }
    if (candidacy.stays) {
      candidacy.data =
          listing::StayingData(candidacy.dialect, candidacy.named(), std::move(candidacy.data));
    }
  }
}

// Of the data of a semaphore's path, which a stranger may have written, and the contender's number.
std::string OtherNumber(const std::string& found, const machine::Candidacy& own) {
  if (machine::ParsePermits(found).has_value()) {
    return absl::StrCat("the semaphore has ", found, found == "1" ? " permit" : " permits",
                        ", and this contender comes with ", own.permits,
                        "; all must come with one number: the data of the node ", own.parent);
  }
  constexpr size_t kShown = 40;
  return absl::StrCat("the path's data, ", zk::Quoted(found.substr(0, kShown)),
                      ", are no number of permits; use another path or, if nothing needs these "
                      "data, set those of the node ",
                      own.parent, " to ", own.permits);
}

constexpr size_t kNamed = 3;

// What strangers wrote is in names that ParseNodeName accepts, so nothing of it needs to be
// escaped.
std::string Blind(const std::vector<std::string>& names, machine::Mode named) {
  const size_t shown = std::min(kNamed, names.size());
  std::string text = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (names.size() > shown) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  const machine::Maker maker = machine::MakerOf(names.front(), named);
  // Nobody else reads the names of permits: there is no fleet in which both exclude each other.
  const char* const or_allow = named == machine::Mode::kPermit ? "" : "; or set beside_blind";
  return absl::StrCat("refused beside ", text, ", of ", maker.recipe,
                      ", which would not wait for this node, so that both would hold: ",
                      maker.remedy, or_allow, " (docs/interoperability.md)");
}

}  // namespace

Acquisition::Acquisition(Queue queue, const WaitOptions& wait, call::Done<Answer> done)
    : Call(queue->core, wait, std::move(done)),
      queue_(std::move(queue)),
      reach_(queue_->core->reach()) {}

std::shared_ptr<Acquisition> Acquisition::Begin(Queue queue, machine::Candidacy candidacy,
                                                const WaitOptions& wait, call::Done<Answer> done) {
  Complete(*queue, candidacy);
  const auto self = std::make_shared<Acquisition>(std::move(queue), wait, std::move(done));
  self->try_only_ = candidacy.try_only;
  auto runner = std::make_shared<ContenderRunner>(self, std::move(candidacy));
  self->runner_ = runner;
  self->core()->Post(
      [runner = std::move(runner)](session::Session* session) { runner->Start(session); });
  // Last: a stop that was requested already makes the contender leave, so it must have been posted.
  self->HeedCancel(wait.cancel);
  return self;
}

void Acquisition::OnLeaseEnded() {
  if (const auto runner = runner_.lock()) runner->OnFollowedEnded();
}

// The contender leaves in the background, whoever waits for the answer. That is kept first: by the
// time it has left listeners have been told why.
absl::Status Acquisition::GivenUp(bool cancelled) {
  absl::Status why = WhyGivenUp(cancelled);
  OnSettled(why);
  if (const auto runner = runner_.lock()) runner->Leave(nullptr);
  return why;
}

absl::Status Acquisition::WhyGivenUp(bool cancelled) {
  constexpr char kGoesOn[] = "; its node, if it has one, is deleted in the background";
  const std::string what = absl::StrCat("acquire ", path(), ": ");
  if (cancelled) return absl::CancelledError(absl::StrCat(what, "cancelled", WaitedFor(), kGoesOn));
  base::MutexLock lock(mutex_);
  // A try that is busy waits only for the holder's name: at its deadline it is still busy.
  if (busy_) return listing::BusyStatus(path(), *rivals_);
  // Without a connection the ensemble could not grant, whoever is in front: that is said instead.
  const auto cut_off = reach_->CutOff(core()->Now());
  if (!cut_off && try_only_ && delayed()) return listing::BusyStatus(path(), {});
  // One without a limit of its own is given up for another's.
  const bool limited = timeout() < absl::InfiniteDuration();
  const absl::Duration waited =
      limited ? timeout() : absl::Trunc(core()->Now() - began(), absl::Milliseconds(1));
  std::string why = WaitedFor();
  if (rivals_ != nullptr) why = absl::StrCat(": ", listing::Describe(*rivals_));
  if (cut_off) why = absl::StrCat(": ", *cut_off);
  return absl::Status(
      cut_off ? absl::StatusCode::kUnavailable : absl::StatusCode::kDeadlineExceeded,
      absl::StrCat(what, "not granted within ", absl::FormatDuration(waited), why, kGoesOn));
}

void Acquisition::LeaveUnproven(absl::Duration limit) {
  const bool answered = !Settle(absl::UnavailableError(absl::StrCat(
      "acquire ", path(), ": first in the queue for ", absl::FormatDuration(limit),
      ", but the session was not proven alive: its servers' answers take more than about a tenth "
      "of the session timeout, or its connection breaks too often (docs/lease.md)")));
  if (answered) return;
  if (const auto runner = runner_.lock()) runner->Leave(nullptr);
}

std::string Acquisition::WaitedFor() const {
  const size_t in_front = in_front_.load(std::memory_order_relaxed);
  if (in_front == 0) return "";
  return absl::StrCat(", waiting for ", in_front, in_front == 1 ? " other" : " others", " at most");
}

void Acquisition::set_reach(std::shared_ptr<const session::Reach> reach) {
  base::MutexLock lock(mutex_);
  reach_ = std::move(reach);
}

std::optional<std::string> Acquisition::CutOff() const {
  base::MutexLock lock(mutex_);
  return reach_->CutOff(core()->Now());
}

void Acquisition::Know(listing::Rivals rivals) {
  base::MutexLock lock(mutex_);
  rivals_ = std::make_unique<listing::Rivals>(std::move(rivals));
}

void Acquisition::KnowBusy(listing::Rivals rivals) {
  Know(std::move(rivals));
  base::MutexLock lock(mutex_);
  busy_ = true;
}

// For the listener, which is told of refusals on the reactor, behind the answer.
void Acquisition::OnSettled(const Answer& answer) {
  if (answer.ok()) return;
  base::MutexLock lock(mutex_);
  refusal_ = answer.status();
}

absl::Status Acquisition::refusal() const {
  base::MutexLock lock(mutex_);
  return refusal_;
}

absl::Status EndStatus(const machine::action::Finished& finished, const std::string& path,
                       const machine::Candidacy& candidacy) {
  const std::string& server_path = candidacy.parent;
  const std::string what = absl::StrCat("acquire ", path, ": ");
  switch (finished.outcome) {
    case machine::Outcome::kNodeDeleted:
      return absl::AbortedError(
          absl::StrCat(what, "another client deleted this contender's node while it was queued"));
    case machine::Outcome::kRefused:
      return zk::ToStatus(finished.code, absl::StrCat("acquire: ", finished.what), finished.path);
    case machine::Outcome::kExhausted:
      return absl::ResourceExhaustedError(absl::StrCat(
          what, "the path's sequence numbers are nearly used up: delete and re-create the node ",
          server_path, " while no client queues there"));
    case machine::Outcome::kFollowedLost:
      return absl::AbortedError(absl::StrCat(what, "the lease that it was to follow is over"));
    case machine::Outcome::kWriterQueued:
      return absl::FailedPreconditionError(absl::StrCat(
          what, "another writer is queued: release the shared lease and queue behind it"));
    case machine::Outcome::kOtherNumber:
      return absl::FailedPreconditionError(
          absl::StrCat(what, OtherNumber(finished.what, candidacy)));
    case machine::Outcome::kBlind:
      return absl::FailedPreconditionError(
          absl::StrCat(what, Blind(finished.blind, candidacy.named())));
    case machine::Outcome::kForeignOwner:
      return absl::InternalError(
          absl::StrCat(what, "the server gave this contender's node to another session"));
    case machine::Outcome::kLost:
      return absl::AbortedError(absl::StrCat("release ", path, ": the lease had been lost"));
    // It was asked to leave before its user had an answer: only a client that closes does that. A
    // busy try is answered by Wait::AnswerBusy.
    case machine::Outcome::kNone:
    case machine::Outcome::kLeft:
    case machine::Outcome::kBusy:
      break;
  }
  return absl::FailedPreconditionError(absl::StrCat(what, "the client is closed"));
}

call::Start<Answer> Enter(Queue queue, absl::StatusOr<machine::Candidacy> candidacy) {
  auto core = queue->core;
  return {std::move(core),
          [queue = std::move(queue), candidacy = std::move(candidacy)](
              const WaitOptions& wait, call::Done<Answer>& done) mutable -> call::Begun {
            if (!candidacy.ok()) return candidacy.status();
            if (absl::Status wrong = Prepare(*queue, *candidacy); !wrong.ok()) return wrong;
            return Acquisition::Begin(std::move(queue), *std::move(candidacy), wait,
                                      std::move(done));
          }};
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

call::Start<Answer> Follow(Queue queue, std::shared_ptr<internal::LeaseState> lease,
                           machine::Mode from, machine::Candidacy candidacy) {
  auto core = queue->core;
  return {
      std::move(core),
      [queue = std::move(queue), lease = std::move(lease), from, candidacy = std::move(candidacy)](
          const WaitOptions& wait, call::Done<Answer>& done) mutable -> call::Begun {
        auto going_on = GoingOnFrom(*queue, lease.get(), from, std::move(candidacy));
        if (!going_on.ok()) return going_on.status();
        if (absl::Status wrong = Prepare(*queue, *going_on); !wrong.ok()) return wrong;
        // Only once the answer is OK: until then the old lease keeps other writers out.
        call::Done<Answer> released = [lease, done = std::move(done)](Answer next) mutable {
          if (next.ok()) lease->Abandon();
          std::move(done)(std::move(next));
        };
        auto acquisition =
            Acquisition::Begin(std::move(queue), *std::move(going_on), wait, std::move(released));
        lease->AddFollower(acquisition);  // it may have ended just now
        return acquisition;
      }};
}

}  // namespace zkrecipes::queue::acquire
