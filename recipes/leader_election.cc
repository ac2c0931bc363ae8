// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/leader_election.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"
#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/call/ask.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/listing/node_data.h"
#include "lib/queue/listing/observer_runner.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes {
namespace {

using internal::ClientAccess;
using internal::ClientCore;
using queue::acquire::Enter;
using queue::call::Done;
using queue::call::Start;

// InvalidArgument: the candidate's id or value breaks a rule.
absl::StatusOr<queue::machine::Candidacy> Of(const Client& client,
                                             const LeaderElectionOptions& options) {
  Candidate candidate = options.candidate;
  if (candidate.id.empty()) {
    candidate.id = queue::listing::ThisOwnersData(queue::machine::Dialect::kCurator,
                                                  queue::machine::Mode::kLeader,
                                                  ClientAccess::Core(client)->options().owner_id);
  }
  if (options.acquire.marker.has_value()) {
    return absl::InvalidArgumentError(
        "marker: an election's is LeaderElectionOptions::marker, that of its acquire must be "
        "unset");
  }
  if (absl::Status rule = queue::listing::CheckCandidate(candidate); !rule.ok()) return rule;
  return queue::machine::Candidacy{
      .mode = queue::machine::Mode::kLeader,
      .data = queue::listing::CandidateData(candidate.id, candidate.value),
      .named_as = queue::listing::ModeNamed(options.marker)};
}

// Whether this lease (null: moved from) may proclaim, as far as this process knows.
absl::Status CheckLease(internal::LeaseState* state, const ClientCore& core,
                        const std::string& path) {
  const auto over = [&path] {
    return absl::AbortedError(absl::StrCat("proclaim ", path, ": the lease is lost or released"));
  };
  if (state == nullptr) return over();
  const Sequencer& sequencer = state->sequencer();
  if (sequencer.mode != GrantMode::kLeader || zk::ParentPath(sequencer.node) != path) {
    return absl::InvalidArgumentError(absl::StrCat("proclaim: the lease of ", sequencer.node, " (",
                                                   ToString(sequencer.mode),
                                                   ") is not one of the leaders of ", path));
  }
  // Writes of a node take their turns in its own session, which only its client has.
  if (&state->core() != &core) {
    return absl::InvalidArgumentError(
        absl::StrCat("proclaim: the lease of ", sequencer.node, " is another client's"));
  }
  return state->CheckAlive("proclaim").ok() ? absl::OkStatus() : over();
}

// The id stays, whatever another client has written there; only the value is replaced.
queue::own_node::WriteJob ProclamationOf(const std::string& path, const std::string& value) {
  return {"proclaim " + path, [value](const std::string& data) {
            return queue::listing::CandidateData(queue::listing::ParseCandidate(data).id, value);
          }};
}

Start<absl::Status> Proclaiming(const Client& client, const std::string& path, const Lease& lease,
                                std::string value) {
  const std::shared_ptr<ClientCore>& core = ClientAccess::Core(client);
  return {core,
          [core, path, state = internal::LeaseMaker::StateOf(lease), value = std::move(value)](
              const WaitOptions& wait,
              Done<absl::Status>& done) -> absl::StatusOr<std::shared_ptr<queue::call::Pending>> {
            for (const absl::Status& status :
                 {zk::ValidatePath("path", path), queue::listing::CheckValue(value),
                  CheckLease(state.get(), *core, path)}) {
              if (!status.ok()) return status;
            }
            return queue::own_node::Write(state, ProclamationOf(path, value), wait,
                                          std::move(done));
          }};
}

absl::Status CheckPauses(const RunOptions& options) {
  const absl::Duration first = options.first_pause;
  const absl::Duration longest = options.longest_pause;
  if (first > absl::ZeroDuration() && first <= longest && longest < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("run while leading: pauses from \"", absl::FormatDuration(first), "\" to \"",
                   absl::FormatDuration(longest), "\": must be positive, finite and not shrink"));
}

// Errors after which another campaign may succeed. Others, such as PermissionDenied, would only
// repeat themselves: RunWhileLeading returns them.
bool MayCampaignAgain(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsUnavailable(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

}  // namespace

LeaderElection::LeaderElection(std::shared_ptr<Client> client, std::string path,
                               Candidate candidate)
    : LeaderElection(std::move(client), std::move(path),
                     LeaderElectionOptions{.candidate = std::move(candidate)}) {}

LeaderElection::LeaderElection(std::shared_ptr<Client> client, std::string path,
                               const LeaderElectionOptions& options)
    : client_(std::move(client)),
      options_(options),
      queue_(internal::PathQueue::Of(*client_, std::move(path), options.acquire)) {}

const std::string& LeaderElection::path() const { return queue_->path; }

absl::StatusOr<Lease> LeaderElection::Campaign(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Of(*client_, options_)), wait);
}

absl::StatusOr<Lease> LeaderElection::TryCampaign(const WaitOptions& wait) const {
  auto candidacy = Of(*client_, options_);
  if (candidacy.ok()) candidacy->try_only = true;
  return Blocking(Enter(queue_, std::move(candidacy)), wait);
}

void LeaderElection::CampaignAsync(WaitOptions wait, Done<absl::StatusOr<Lease>> done) const {
  Async(Enter(queue_, Of(*client_, options_)), wait, std::move(done));
}

LeaseAwaitable LeaderElection::CoCampaign(Duration timeout, std::stop_token cancel) const {
  return Co(Enter(queue_, Of(*client_, options_)), timeout, std::move(cancel));
}

absl::Status LeaderElection::Proclaim(const Lease& lease, const std::string& value,
                                      const WaitOptions& wait) const {
  return Blocking(Proclaiming(*client_, path(), lease, value), wait);
}

void LeaderElection::ProclaimAsync(const Lease& lease, std::string value, WaitOptions wait,
                                   Done<absl::Status> done) const {
  Async(Proclaiming(*client_, path(), lease, std::move(value)), wait, std::move(done));
}

StatusAwaitable LeaderElection::CoProclaim(const Lease& lease, std::string value, Duration timeout,
                                           std::stop_token cancel) const {
  return Co(Proclaiming(*client_, path(), lease, std::move(value)), timeout, std::move(cancel));
}

absl::StatusOr<std::optional<Leader>> LeaderElection::CurrentLeader(const WaitOptions& wait) const {
  if (absl::Status wrong = zk::ValidatePath("path", path()); !wrong.ok()) return wrong;
  const auto& core = ClientAccess::Core(*client_);
  const auto head = queue::call::AskUntilAnswered<queue::listing::Head>(
      *core, "leader of " + path(), wait,
      [parent = core->name_space().ToServer(path())](session::Session& session, auto done) {
        queue::listing::ReadHead(session, parent, std::move(done));
      });
  if (!head.ok()) return head.status();
  if (!head->has_value()) return std::nullopt;
  return queue::listing::DescribeLeader(**head);
}

absl::StatusOr<std::vector<ContenderInfo>> LeaderElection::Candidates(
    const WaitOptions& wait) const {
  return queue::listing::ListQueue(*ClientAccess::Core(*client_), path(), wait,
                                   queue::listing::ReadQueue, /*candidates=*/true);
}

Subscription LeaderElection::Observe(
    absl::AnyInvocable<void(absl::StatusOr<std::optional<Leader>>)> callback) const {
  return queue::listing::ObserverRunner::Observe(ClientAccess::Core(*client_), path(),
                                                 std::move(callback));
}

// One campaign, and the work if it is won.
absl::Status LeaderElection::Lead(const std::stop_token& stop, LeadershipWork& work,
                                  bool& worked) const {
  absl::StatusOr<Lease> lease = Campaign({.cancel = stop});
  if (!lease.ok()) return lease.status();
  std::stop_source end;
  const auto request = [&end] { end.request_stop(); };
  {
    // One token for both ends. Both callbacks are gone before the lease is released below: its
    // release requests a stop of ended(), too, which the work must not take for a loss.
    const std::stop_callback on_stop(stop, request);
    const std::stop_callback on_end(lease->ended(), request);
    work(*lease, end.get_token());
  }
  worked = true;
  // Bounded, so that an ensemble that does not answer cannot keep it from campaigning again.
  return std::move(*lease).Release({.timeout = client_->session_timeout()});
}

absl::Status LeaderElection::RunWhileLeading(std::stop_token stop, LeadershipWork work,
                                             const RunOptions& given) const {
  // Copies: the work may destroy this election, and what has the options.
  const LeaderElection self = *this;
  const RunOptions options = given;
  const ClientCore& core = *ClientAccess::Core(*self.client_);
  if (absl::Status wrong = CheckPauses(options); !wrong.ok()) return wrong;
  int pauses = 0;
  absl::Status last = absl::OkStatus();  // of the last release, if the last campaign was won
  while (!stop.stop_requested()) {
    const base::BootTime began = core.Now();
    bool worked = false;
    absl::Status status = self.Lead(stop, work, worked);
    // A refusal that time does not mend, such as a missing permission, ends it at once.
    if (!status.ok() && !MayCampaignAgain(status)) return status;
    last = worked ? status : absl::OkStatus();
    if (worked && options.once) return last;
    const auto limit = [&] {
      return base::Doubled(options.first_pause, options.longest_pause, pauses);
    };
    // A term that lasted as long as a pause may last was a success: the pauses begin anew.
    if (core.Now() - began >= limit()) pauses = 0;
    const absl::Duration pause = base::Jittered(limit(), core.reactor()->Random());
    ++pauses;
    if (!core.Pause(pause, base::BootTime::InfiniteFuture(), stop)) break;
  }
  return absl::IsDeadlineExceeded(last) ? last : absl::OkStatus();
}

}  // namespace zkrecipes
