// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/group.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/base/process.h"
#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/membership_state.h"
#include "lib/queue/call/ask.h"
#include "lib/queue/listing/node_data.h"
#include "lib/queue/listing/path_follower.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes {

struct internal::MembershipMaker {
  static Membership Make(std::shared_ptr<MembershipState> state) {
    return Membership(std::move(state));
  }
};

namespace {

using internal::ClientCore;
using internal::MembershipState;
using queue::acquire::Answer;
using queue::acquire::Queue;
using queue::call::Done;
using queue::machine::Candidacy;
using Joined = absl::StatusOr<Membership>;

// ---- what others see ----------------------------------------------------------------------------

Member Describe(const queue::machine::ListedNode& node) {
  // Without a czxid it could not be read.
  if (node.stat.czxid == 0) return {.id = node.name, .node = node.name};
  Candidate said = queue::listing::ParseCandidate(node.data);
  return {.id = std::move(said.id),
          .data = std::move(said.value),
          .token = FencingToken(node.stat.czxid),
          .node = node.name,
          .session = node.stat.ephemeral_owner,
          .since = absl::FromUnixMillis(node.stat.ctime_ms)};
}

// Of two nodes with one id the later counts: a process that has restarted, or joined anew, may have
// an earlier one for as long as the session of that lives.
GroupView Describe(const queue::listing::Nodes& nodes, bool connected) {
  std::map<std::string, Member> members;
  for (const auto& node : nodes) {
    const auto name = queue::machine::ParseNodeName(node.name);
    if (!name.has_value() || name->mode != queue::machine::Mode::kMember) continue;
    // A stranger's, or of a tree that was copied: it would be a member for ever.
    if (node.stat.czxid != 0 && node.stat.ephemeral_owner == 0) continue;
    Member member = Describe(node);
    const auto [known, is_new] = members.try_emplace(member.id, member);
    if (!is_new && known->second.token < member.token) known->second = std::move(member);
  }
  GroupView view{.connected = connected};
  for (auto& [id, member] : members) view.members.push_back(std::move(member));
  return view;
}

bool Same(const absl::StatusOr<GroupView>& a, const absl::StatusOr<GroupView>& b) {
  return a.ok() && b.ok() && a->connected == b->connected && a->members == b->members;
}

// ---- how it joins -------------------------------------------------------------------------------

absl::Status CheckOptions(const ClientCore& core, const AcquireOptions& options) {
  const char* senseless = nullptr;
  if (options.marker.has_value()) senseless = "marker";
  if (options.beside_blind) senseless = "beside_blind";
  if (absl::Duration(options.lock_delay) != absl::ZeroDuration()) senseless = "lock delay";
  if (absl::Duration(options.alive_within) != absl::InfiniteDuration()) senseless = "alive within";
  if (absl::Duration(options.hold_at_most) != absl::InfiniteDuration()) senseless = "hold at most";
  // With it a member would believe to be one after the others have seen it gone.
  if (options.ends_at != LeaseOptions::EndsAt::kDeadline) senseless = "ends_at";
  // It has the client's, if it was not set.
  if (options.dialect != core.options().dialect) senseless = "dialect";
  if (senseless == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(senseless, ": a Group has none"));
}

absl::StatusOr<Candidacy> Of(const Queue& queue, const MemberOptions& member) {
  const ClientCore& core = *queue->core;
  if (absl::Status wrong = CheckOptions(core, queue->options); !wrong.ok()) return wrong;
  Candidate said{member.id, member.data};
  if (said.id.empty()) said.id = queue::listing::DefaultId(core.options().owner_id);
  if (absl::Status wrong = queue::listing::CheckCandidate(said, "member's"); !wrong.ok()) {
    return wrong;
  }
  return Candidacy{.mode = queue::machine::Mode::kMember,
                   .data = queue::listing::CandidateData(said.id, said.value)};
}

// The queue calls it an acquire.
absl::Status OfJoin(const absl::Status& status) {
  const absl::string_view message = status.message();
  constexpr absl::string_view kAcquire = "acquire";
  if (!absl::StartsWith(message, kAcquire)) return status;
  return absl::Status(status.code(), absl::StrCat("join", message.substr(kAcquire.size())));
}

// Of the acquire's answer a membership is made. One that nobody takes leaves.
queue::call::Start<Joined> Joining(const Queue& queue, absl::StatusOr<Candidacy> candidacy) {
  return {queue->core,
          [queue, candidacy = std::move(candidacy)](const WaitOptions& wait,
                                                    Done<Joined>& done) -> queue::call::Begun {
            // Shared, so that it is given back if nothing was asked.
            const auto joined = std::make_shared<Done<Joined>>(std::move(done));
            Done<Answer> granted = [queue, candidacy, joined](Answer lease) {
              if (!lease.ok()) return std::move(*joined)(OfJoin(lease.status()));
              std::move (*joined)(internal::MembershipMaker::Make(
                  MembershipState::Of(queue, *candidacy, *std::move(lease))));
            };
            auto call = queue::acquire::Enter(queue, candidacy).begin(wait, granted);
            if (call.ok()) return call;
            done = std::move(*joined);
            return OfJoin(call.status());
          }};
}

// In a forked child a membership is inert, and its mutex may be locked for ever.
bool Lives(const std::shared_ptr<MembershipState>& state) {
  return state != nullptr && state->core().InHomeProcess();
}

void Drop(std::shared_ptr<MembershipState> state) {
  if (state == nullptr) return;
  if (state->core().InHomeProcess()) {
    state->Leave()->Abandon();
  } else {
    base::Leak(std::move(state));
  }
}

}  // namespace

// ---- Membership ---------------------------------------------------------------------------------

Membership::Membership(std::shared_ptr<MembershipState> state) : state_(std::move(state)) {}

Membership& Membership::operator=(Membership&& other) noexcept {
  if (this != &other) Drop(std::exchange(state_, std::move(other.state_)));
  return *this;
}

Membership::~Membership() { Drop(std::move(state_)); }

Membership::State Membership::state() const {
  if (!Lives(state_) || state_->end().has_value()) return State::kEnded;
  switch (state_->spell()->state()) {
    case Lease::State::kHeld:
      return State::kMember;
    case Lease::State::kSuspect:
      return State::kSuspect;
    case Lease::State::kUnproven:
    case Lease::State::kLost:
      return State::kRejoining;
    case Lease::State::kReleased:
      break;
  }
  return State::kEnded;
}

bool Membership::believed() const {
  const State now = state();
  return now == State::kMember || now == State::kSuspect;
}

absl::Duration Membership::remaining() const {
  if (!Lives(state_) || state_->end().has_value()) return absl::ZeroDuration();
  return state_->spell()->remaining();
}

std::stop_token Membership::ended() const {
  if (state_ == nullptr) return std::stop_token();
  if (Lives(state_)) return state_->spell()->ended();
  std::stop_source over;
  over.request_stop();
  return over.get_token();
}

std::optional<FencingToken> Membership::token() const {
  if (!Lives(state_) || state_->end().has_value()) return std::nullopt;
  const std::shared_ptr<internal::LeaseState> spell = state_->spell();
  const Lease::State now = spell->state();
  if (now != Lease::State::kHeld && now != Lease::State::kSuspect) return std::nullopt;
  return spell->sequencer().token;
}

const std::string& Membership::id() const {
  static const std::string* const kNone = new std::string();
  return state_ == nullptr ? *kNone : state_->id();
}

absl::Status Membership::status() const {
  if (state_ == nullptr) return absl::OkStatus();
  if (!Lives(state_)) return state_->core().CheckMayBlock();
  return OfJoin(state_->end().value_or(absl::OkStatus()));
}

// Of a spell that was lost, Release says so, and does not wait.
absl::Status Membership::Leave(const WaitOptions& wait) && {
  if (state_ == nullptr) return absl::FailedPreconditionError("leave: a moved-from membership");
  if (!Lives(state_)) return state_->core().CheckMayBlock();
  const absl::Status left = internal::LeaseMaker::Make(state_->Leave()).Release(wait);
  return absl::IsAborted(left) ? absl::OkStatus() : left;
}

std::ostream& operator<<(std::ostream& out, Membership::State state) {
  switch (state) {
    case Membership::State::kMember:
      return out << "member";
    case Membership::State::kSuspect:
      return out << "suspect";
    case Membership::State::kRejoining:
      return out << "rejoining";
    case Membership::State::kEnded:
      return out << "ended";
  }
  return out;
}

// ---- Group --------------------------------------------------------------------------------------

// Not the client's end of leases, which may be kExpiry: see CheckOptions.
Group::Group(std::shared_ptr<Client> client, std::string path, const AcquireOptions& options)
    : client_(std::move(client)),
      queue_(internal::PathQueue::Of(*client_, std::move(path), [&options] {
        AcquireOptions own = options;
        if (!own.ends_at.has_value()) own.ends_at = LeaseOptions::EndsAt::kDeadline;
        return own;
      }())) {}

const std::string& Group::path() const { return queue_->path; }

absl::StatusOr<Membership> Group::Join(const MemberOptions& member, const WaitOptions& wait) const {
  return Blocking(Joining(queue_, Of(queue_, member)), wait);
}

void Group::JoinAsync(MemberOptions member, WaitOptions wait, Done<Joined> done) const {
  Async(Joining(queue_, Of(queue_, member)), wait, std::move(done));
}

absl::StatusOr<GroupView> Group::Members(const WaitOptions& wait) const {
  if (absl::Status wrong = zk::ValidatePath("path", path()); !wrong.ok()) return wrong;
  const auto nodes = queue::call::AskUntilAnswered<queue::listing::Nodes>(
      *queue_->core, "list " + path(), wait,
      [parent = queue_->core->name_space().ToServer(path())](session::Session& session, auto done) {
        // A member that went meanwhile may have left its id to a node that is not in this list.
        auto answer = [done = std::move(done)](auto members) mutable {
          const auto gone = [](const auto& node) { return node.name.empty(); };
          if (members.ok() && std::ranges::any_of(*members, gone)) {
            members = absl::UnavailableError("the group changes all the time");
          }
          std::move(done)(std::move(members));
        };
        queue::listing::ReadMembers(session, parent, std::move(answer));
      });
  if (!nodes.ok()) return nodes.status();
  return Describe(*nodes, /*connected=*/true);
}

// A view is made of the nodes on the executor, where a thousand members keep no lease waiting.
Subscription Group::Watch(absl::AnyInvocable<void(absl::StatusOr<GroupView>)> callback) const {
  using Machine = queue::machine::grouping::GroupView;
  auto tell = queue::listing::WithoutRepeats<absl::StatusOr<GroupView>>(std::move(callback), Same);
  return queue::listing::Follow<Machine>(
      queue_->core, path(), "watch",
      [tell = std::move(tell)](const queue::listing::Follower<Machine>::News& news) mutable {
        if (!news.ok()) return tell(news.status());
        tell(Describe(news->nodes, news->connected));
      });
}

}  // namespace zkrecipes
