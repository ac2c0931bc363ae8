// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/leader_election.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/work_loop.h"
#include "lib/queue/call/ask.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/listing/node_data.h"
#include "lib/queue/listing/observe.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes {
namespace {

using internal::ClientAccess;
using internal::ClientCore;
using queue::acquire::Enter;
using queue::acquire::RunWork;
using queue::call::Done;
using queue::call::Start;

// InvalidArgument: the candidate's id or value breaks a rule.
absl::StatusOr<queue::machine::Candidacy> Of(const Client& client,
                                             const LeaderElectionOptions& options) {
  Candidate candidate = options.candidate;
  if (candidate.id.empty()) {
    candidate.id = queue::listing::DefaultId(ClientAccess::Core(client)->options().owner_id);
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
              const WaitOptions& wait, Done<absl::Status>& done) -> queue::call::Begun {
            for (const absl::Status& status :
                 {zk::ValidatePath("path", path), queue::listing::CheckValue(value),
                  CheckLease(state.get(), *core, path)}) {
              if (!status.ok()) return status;
            }
            return queue::own_node::Write(state, ProclamationOf(path, value), wait,
                                          std::move(done));
          }};
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
  return queue::listing::Observe(ClientAccess::Core(*client_), path(), std::move(callback));
}

absl::Status LeaderElection::RunWhileLeading(std::stop_token stop, LeaseWork work,
                                             const RunOptions& options) const {
  return RunWork(
      queue_->core, [self = *this](const WaitOptions& wait) { return self.Campaign(wait); }, stop,
      std::move(work), options);
}

}  // namespace zkrecipes
