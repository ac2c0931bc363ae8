// SPDX-License-Identifier: Apache-2.0

#include "recipes/partitions/place.h"

#include <utility>
#include <vector>

#include "lib/session/client/client_options.h"
#include "lib/zk/seam/path.h"
#include "recipes/partitions/runner.h"

namespace zkrecipes::internal {
namespace {

// Homes change rarely, and what waits for one hurries.
constexpr absl::Duration kGatherHomes = absl::Seconds(2);
// How long a listing of them may be waited for: its session may have lost its connection, where
// that of the group's watch has one.
constexpr absl::Duration kHomesAtMost = absl::Seconds(2);
// After an error of the watch on homes.
constexpr absl::Duration kWatchHomesAgain = absl::Seconds(5);
// Longer than it takes to see the own home in a listing.
constexpr absl::Duration kCheck = absl::Seconds(3);

}  // namespace

PartitionPlace::PartitionPlace(PartitionRunner& runner)
    : runner_(runner),
      group_(runner.of().group()),
      spell_(runner.core().Now()),
      homes_(runner.of().options.id,
             recipes::machine::HomeName(runner.of().data, runner.of().options.id)),
      join_pauses_(runner.pauses()) {}

// ---- its membership -----------------------------------------------------------------------------

void PartitionPlace::Begin() {
  if (leaves_) return;
  watch_ = group_.Watch([weak = runner_.weak_from_this()](absl::StatusOr<GroupView> view) {
    const auto runner = weak.lock();
    if (runner == nullptr) return;
    runner->Post([view = std::move(view)](PartitionRunner& its) { its.place().OnView(view); });
  });
  WatchHomes();
  Join();
}

void PartitionPlace::Join() {
  if (leaves_) return;
  joining_ = true;
  group_.JoinAsync(
      {.id = runner_.of().options.id, .data = runner_.of().data},
      {.cancel = stop_joining_.get_token()},
      [runner = runner_.shared_from_this()](absl::StatusOr<Membership> membership) {
        runner->Post([membership = std::move(membership)](PartitionRunner& its) mutable {
          its.place().OnJoined(std::move(membership));
        });
      });
}

void PartitionPlace::OnJoined(absl::StatusOr<Membership> membership) {
  joining_ = false;
  if (leaves_) return;  // it leaves again, in the background
  if (membership.ok()) {
    membership_ = *std::move(membership);
    MakeHome();
    return Replan();
  }
  if (!queue::acquire::MayTryAgain(membership.status())) return runner_.Fail(membership.status());
  runner_.After(join_pauses_.After(absl::ZeroDuration(), runner_.random()),
                [](PartitionRunner& its) { its.place().Join(); });
}

void PartitionPlace::Leave() {
  leaves_ = true;
  spell_.Leave();
  stop_joining_.request_stop();
}

std::optional<Membership> PartitionPlace::TakeMembership() {
  std::optional<Membership> membership;
  membership.swap(membership_);
  return membership;
}

void PartitionPlace::End() {
  watch_ = Subscription();
  if (homes_watch_ != nullptr) homes_watch_->Stop();
  homes_watch_ = nullptr;
}

std::optional<int64_t> PartitionPlace::token() const {
  const auto token = membership_.has_value() ? membership_->token() : std::nullopt;
  if (!token.has_value()) return std::nullopt;
  return token->value();
}

// There is no event when a membership that has joined again is proven, or is refused for good, nor
// when what was sent for a home was lost with a connection.
void PartitionPlace::Check() {
  const bool at_home = home_refused_ || (!LacksHome() && homes_.Former().empty());
  const bool settled = spell_.joined() && spell_.IsSeen(token()) && at_home;
  if (leaves_ || checks_ || settled) return;
  const absl::Status refusal = membership_.has_value() ? membership_->status() : absl::OkStatus();
  if (!refusal.ok()) return runner_.Fail(refusal);
  checks_ = true;
  runner_.After(kCheck, [](PartitionRunner& its) {
    its.place().checks_ = false;
    its.place().MakeHome();
    its.place().Replan();
  });
}

// ---- what it sees, and its plans ----------------------------------------------------------------

void PartitionPlace::OnView(const absl::StatusOr<GroupView>& view) {
  if (!view.ok()) return runner_.Fail(view.status());
  connected_ = view->connected;
  if (!connected_) {
    ++listings_;               // what waited for a listing before waits no longer
    return homes_.OnCutOff();  // the last one counts until there is another
  }
  present_ = PartitionsCore::PresentIn(*view);
  ForgetHomes();
  Replan();
}

// A member that has just gone is away only if its home is known: members of which some know it and
// some do not would hand its partitions round. In one session the servers tell of the home first.
void PartitionPlace::Replan() {
  if (!present_.has_value() || !homes_.names().has_value()) return;
  outdated_ = planning_;
  if (homes_watch_ == nullptr || !homes_watch_->Hurry()) return Plan();
  // OnHomes plans. Without a connection of its own, the group's next view does.
  runner_.After(kHomesAtMost, [listings = listings_](PartitionRunner& its) {
    PartitionPlace& late = its.place();
    if (late.connected_ && late.listings_ == listings) late.Plan();
  });
}

// On the executor: a plan for many names and members takes a while, in which no beat would be sent.
void PartitionPlace::Plan() {
  if (std::exchange(planning_, true)) return;
  runner_.core().executor()->Execute(
      [runner = runner_.shared_from_this(), present = *present_, homes = *homes_.names()] {
        runner->Post([plan = runner->of().Plan(present, homes)](PartitionRunner& its) {
          its.place().planning_ = false;
          if (its.place().outdated_) return its.place().Replan();
          its.place().OnPlan(plan);
        });
      });
}

void PartitionPlace::OnPlan(const recipes::machine::PartitionPlan& plan) {
  members_ = static_cast<int>(plan.members);
  other_lists_ = static_cast<int>(plan.other_lists);
  const auto verdict =
      spell_.OnPlan(plan, token(), runner_.core().session_timeout(), runner_.core().Now());
  if (verdict.hold.has_value()) {
    runner_.After(*verdict.hold, [](PartitionRunner& its) { its.place().Replan(); });
    MakeHome();
  }
  if (verdict.counts) runner_.locks().OnPlan(plan.Of(runner_.of().options.id), verdict.others);
  Check();
}

void PartitionPlace::Count(PartitionsReport& report) const {
  report.connected = connected_;
  report.members = members_;
  report.other_lists = other_lists_;
}

// ---- homes --------------------------------------------------------------------------------------

void PartitionPlace::WatchHomes() {
  if (leaves_) return;
  homes_watch_ = queue::listing::ChildrenWatch::Begin(
      runner_.core().shared_from_this(), runner_.of().homes(), kGatherHomes,
      [weak = runner_.weak_from_this()](absl::StatusOr<zk::Names> homes) {
        const auto runner = weak.lock();
        if (runner == nullptr) return;
        runner->Post(
            [homes = std::move(homes)](PartitionRunner& its) { its.place().OnHomes(homes); });
      });
}

// After an error the last ones count until there are others: members that plan with different homes
// may leave a partition to each other. One that may read none plans without.
void PartitionPlace::OnHomes(absl::StatusOr<zk::Names> homes) {
  ++listings_;
  homes_listed_ = homes.ok();
  home_refused_ = false;
  if (homes.ok()) {
    homes_.OnListed(*std::move(homes));
  } else {
    const bool denied = absl::IsPermissionDenied(homes.status());
    if (!homes_.names().has_value() && !denied) return runner_.Fail(homes.status());
    if (!homes_.names().has_value()) homes_.OnListed({});
    runner_.After(kWatchHomesAgain, [](PartitionRunner& its) { its.place().WatchHomes(); });
  }
  MakeHome();
  ForgetHomes();
  Replan();
}

bool PartitionPlace::LacksHome() const {
  return homes_listed_ && runner_.of().has_home && !homes_.HasOwn();
}

// Both nodes are as good if they are there already.
void PartitionPlace::MakeHome() {
  session::Session* const session = runner_.session();
  if (!membership_.has_value() || session == nullptr || !homes_.names().has_value()) return;
  // Not where a namesake is seen: each would delete the other's.
  if (spell_.was_seen() && !spell_.IsSeen(token())) return;
  if (spell_.was_seen()) {
    for (const std::string& home : homes_.Former()) DeleteHome(home);
  }
  if (!LacksHome()) return;
  std::vector<zk::AclEntry> acl;
  const auto& own = runner_.of().options.acquire.acl;
  if (own.has_value()) acl = session::client::EntriesOf(*own);
  const std::string parent = runner_.core().name_space().ToServer(runner_.of().homes());
  session->Send(zk::Create{parent, "", zk::CreateMode::kContainer, acl}, [](const zk::Reply&) {});
  session->Send(
      zk::Create{zk::JoinPath(parent, homes_.own()), "", zk::CreateMode::kPersistent, acl},
      NoteRefusal());
}

void PartitionPlace::ForgetHomes() {
  if (!present_.has_value() || runner_.session() == nullptr) return;
  for (const std::string& home : homes_.Forgotten(*present_, runner_.core().Now())) {
    DeleteHome(home);
  }
}

// What was refused is not sent again until the homes change. No node: their parent was refused, or
// has just been reaped, of which the watch tells.
std::function<void(const zk::Reply&)> PartitionPlace::NoteRefusal() {
  return [weak = runner_.weak_from_this()](const zk::Reply& reply) {
    const bool refused = reply.code == zk::Code::kNoAuth || reply.code == zk::Code::kInvalidAcl ||
                         reply.code == zk::Code::kNoNode;
    const auto runner = weak.lock();
    if (runner == nullptr || !refused) return;
    runner->Post([](PartitionRunner& its) { its.place().home_refused_ = true; });
  };
}

void PartitionPlace::DeleteHome(const std::string& name) {
  const std::string parent = runner_.core().name_space().ToServer(runner_.of().homes());
  runner_.session()->Send(zk::Delete{zk::JoinPath(parent, name)}, NoteRefusal());
}

}  // namespace zkrecipes::internal
