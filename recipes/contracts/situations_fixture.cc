// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "recipes/contracts/scene_fixture.h"

namespace zkrecipes::testing {
namespace {

using absl::StatusCode;

// A call may be answered before it looks.
const Situation::Example kWhateverIsGiven = {};

// Another client holds the path's lock, or waits for it.
void Queue(Scene& scene) {
  const auto granted = std::make_shared<absl::StatusOr<Lease>>();
  const auto keep = [granted](absl::StatusOr<Lease> lease) { *granted = std::move(lease); };
  Lock(scene.other, scene.path).AcquireAsync({}, keep);
  scene.kept_by_others = granted;
  scene.ensemble.RunUntilIdle();
}

ClientOptions SecretiveOptions() {
  return {.digest_credentials = {"owner:secret"}, .acl = CreatorOnlyAcl()};
}

// A path that other clients may not even list.
void CloseToOthers(Scene& scene) {
  auto owner =
      *scene.ensemble.Connect({.digest_credentials = {"owner:secret"}, .acl = CreatorOnlyAcl()});
  scene.path = "/closed/q";
  scene.others.push_back(*Lock(owner, scene.path).Acquire());
  scene.sequencer = scene.others.back().sequencer();
  scene.clients.push_back(std::move(owner));
}

void AwaitItsPlaceInTheQueue(Scene& scene) {
  const auto queued = [&scene] {
    return scene.answered() || scene.ensemble.Paths(scene.path).size() > 1;
  };
  (void)scene.ensemble.AdvanceUntil(queued, absl::Seconds(1));
}

void DeleteTheLastNode(Scene& scene) {
  AwaitItsPlaceInTheQueue(scene);
  std::string last;
  for (const std::string& node : scene.ensemble.Paths(scene.path)) {
    const auto number = [](const std::string& name) { return name.substr(name.rfind('-') + 1); };
    if (last.empty() || number(node) > number(last)) last = node;
  }
  (void)scene.ensemble.Delete(last);
}

void LoseTheLease(Scene& scene) {
  scene.ensemble.Expire(*scene.client);
  scene.ensemble.Advance(absl::Seconds(1));
}

}  // namespace

std::vector<Situation> Situations() {
  using S = Scene&;
  using enum Situation::Where;
  const auto nothing = [](S) {};
  return {
      {"NothingIsWrong", {"Lock::Acquire", StatusCode::kOk}},
      {"ThePathIsBad",
       {"Lock::Acquire", StatusCode::kInvalidArgument},
       nothing,
       [](S s) {
         s.path = "bad";
         s.recursive.emplace(s.client, s.path);
       }},
      {"TheTimeoutIsNegative",
       {"Lease::Verify", StatusCode::kInvalidArgument},
       nothing,
       [](S s) { s.wait.timeout = absl::Seconds(-1); }},
      {"TheCandidateIsBad",
       {"LeaderElection::Campaign", StatusCode::kInvalidArgument},
       nothing,
       [](S s) {
         s.candidate = {"two\nlines", std::string(65 * 1024, 'x')};
       }},
      {"TheOwnerIsEmpty",
       {"RecursiveLock::Acquire", StatusCode::kInvalidArgument},
       nothing,
       [](S s) { s.owner = ""; }},
      {"TheServersAreBad",
       {"Client::Create", StatusCode::kInvalidArgument},
       nothing,
       [](S s) { s.servers = s.options.servers = ":"; }},
      {"TheLeaseIsOfAnotherPathAndClient",
       {"ReadWriteLock::Upgrade", StatusCode::kInvalidArgument},
       nothing,
       [](S s) { s.lease = *Lock(s.other, "/elsewhere").Acquire(); }},
      {"TheSequencerIsEmpty",
       {"CheckSequencer", StatusCode::kInvalidArgument},
       nothing,
       [](S s) { s.sequencer = {}; }},
      {"ThereIsNoSuchToken",
       {"BreakContender", StatusCode::kNotFound},
       nothing,
       [](S s) { s.sequencer.token = FencingToken(7); }},
      {"ItIsCancelledBeforehand", kWhateverIsGiven, nothing, [](S s) { s.stop.request_stop(); }},
      {"ItIsCancelledBeforehandWithoutAConnection",
       {"Lease::Release", StatusCode::kCancelled},
       nothing,
       [](S s) {
         s.ensemble.Disconnect(*s.client);
         s.stop.request_stop();
       }},
      {"ItIsCancelledWhileItWaits",
       {"Lock::Acquire", StatusCode::kCancelled},
       nothing,
       Queue,
       [](S s) {
         AwaitItsPlaceInTheQueue(s);
         s.stop.request_stop();
       }},
      {"ThereIsNoTime",
       {"Lease::Verify", StatusCode::kDeadlineExceeded},
       nothing,
       [](S s) {
         s.ensemble.HoldReplies(*s.client);
         s.wait.timeout = absl::ZeroDuration();
       }},
      {"AnotherIsInTheWay", {"Lock::TryAcquire", StatusCode::kAlreadyExists}, nothing, Queue},
      {"AnotherIsInTheWayAndThereIsNoTime",
       {"Lock::Acquire", StatusCode::kDeadlineExceeded},
       nothing,
       [](S s) {
         Queue(s);
         s.wait.timeout = absl::ZeroDuration();
       }},
      {"ThereIsNoConnection",
       {"Lease::Release", StatusCode::kDeadlineExceeded},
       nothing,
       [](S s) { s.ensemble.Disconnect(*s.client); }},
      {"TheServersAreSilent",
       {"Lease::Verify", StatusCode::kDeadlineExceeded},
       nothing,
       [](S s) { s.ensemble.Silence(*s.client); }},
      {"TheConnectionIsLostMeanwhile",
       {"Lock::Acquire", StatusCode::kOk},
       nothing,
       [](S s) { s.ensemble.HoldReplies(*s.client); },
       [](S s) {
         s.ensemble.Disconnect(*s.client);
         s.ensemble.Reconnect(*s.client);
       }},
      {"TheSessionExpiresMeanwhile",
       {"Lock::Acquire", StatusCode::kOk},
       nothing,
       [](S s) { s.ensemble.HoldReplies(*s.client); },
       [](S s) {
         s.ensemble.Expire(*s.client);
         s.ensemble.Reconnect(*s.client);
       }},
      {"TheLeaseIsLost", {"Lease::Release", StatusCode::kAborted}, nothing, LoseTheLease},
      {"TheNodeOfTheLeaseIsGone",
       {"Lease::Verify", StatusCode::kAborted},
       nothing,
       [](S s) {
         for (const std::string& node : s.ensemble.Paths(s.path)) s.ensemble.Delete(node);
       }},
      {"ItsNodeIsDeletedWhileItWaits",
       {"Lock::Acquire", StatusCode::kAborted},
       nothing,
       Queue,
       DeleteTheLastNode},
      {"TheLeaseIsMovedFrom",
       {"Lease::Release", StatusCode::kFailedPrecondition},
       nothing,
       [](S s) {
         if (s.lease.has_value()) s.others.push_back(*std::move(s.lease));
         if (s.hold.has_value()) const RecursiveLease gone = *std::move(s.hold);
       }},
      {"TheOwnerIsAcquiringAlready",
       {"RecursiveLock::Acquire", StatusCode::kFailedPrecondition},
       nothing,
       [](S s) {
         s.hold.reset();
         Queue(s);
         s.recursive->AcquireAsync(s.owner, {}, [](const auto&) {});
       }},
      {"ThePathIsEphemeral",
       {"Lock::Acquire", StatusCode::kFailedPrecondition},
       nothing,
       [](S s) {
         s.others.push_back(*Lock(s.other, "/elsewhere").Acquire());
         s.path = s.others.back().node();
         s.recursive.emplace(s.client, s.path);
       }},
      {"TheClientIsClosed",
       {"Lock::Acquire", StatusCode::kFailedPrecondition},
       nothing,
       [](S s) { (void)s.client->Close(); }},
      {"TheClientIsClosedWhileItWaits",
       {"Lock::Acquire", StatusCode::kFailedPrecondition},
       nothing,
       Queue,
       [](S s) {
         AwaitItsPlaceInTheQueue(s);
         (void)s.client->Close();
       }},
      {"ItIsCalledOnTheIoThread",
       {"Lease::Verify", StatusCode::kFailedPrecondition},
       [](S s) { s.options.executor = InlineExecutor(); },
       nothing,
       nothing,
       kIoThread},
      {"ItIsCalledInAForkedChild",
       {"Lease::Verify", StatusCode::kFailedPrecondition},
       nothing,
       nothing,
       nothing,
       kForkedChild},
      {"ThePathIsClosedToIt",
       {"ListContenders", StatusCode::kPermissionDenied},
       nothing,
       [](S s) {
         CloseToOthers(s);
         s.recursive.emplace(s.client, s.path);
       }},
      {"ItsNodesMayNotBeWritten",
       {"LeaderElection::Proclaim", StatusCode::kPermissionDenied},
       [](S s) { s.options.acl = {{kRead | kCreate | kDelete}}; }},
      {"ItsNodesMayNotBeRead",
       {"CheckSequencer", StatusCode::kPermissionDenied},
       nothing,
       [](S s) {
         s.path = "/open";
         s.ensemble.Create(s.path);
         auto secretive = *s.ensemble.Connect(SecretiveOptions());
         s.others.push_back(*Lock(secretive, s.path).Acquire());
         s.sequencer = s.others.back().sequencer();
         s.clients.push_back(std::move(secretive));
       }},
      {"ThePathsNumbersAreUsedUp",
       {"Lock::Acquire", StatusCode::kResourceExhausted},
       nothing,
       [](S s) {
         s.path = "/used";
         s.recursive.emplace(s.client, s.path);
         s.ensemble.Create(s.path);
         s.ensemble.UseUpNumbers(s.path);
       }},
      {"TheEpochOfItsNextSessionIsNoNumber",
       {"Lock::Acquire", StatusCode::kFailedPrecondition},
       nothing,
       [](S s) {
         s.ensemble.Create("/zkrecipes");
         s.ensemble.Create("/zkrecipes/epoch", "none");
         LoseTheLease(s);
       }},
  };
}

}  // namespace zkrecipes::testing
