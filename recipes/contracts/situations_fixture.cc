// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "recipes/contracts/scene_fixture.h"

namespace zkrecipes::testing {
namespace {

using enum absl::StatusCode;

using Step = std::function<void(Scene&)>;
const Step kNothing = [](Scene&) {};

// `method` must give `code` in it.
Situation If(const char* name, const char* method, absl::StatusCode code, Step before = kNothing,
             Step meanwhile = kNothing) {
  return {.name = name,
          .example = {method, code},
          .before = std::move(before),
          .meanwhile = std::move(meanwhile)};
}

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
  return {
      If("NothingIsWrong", "Lock::Acquire", kOk),
      If("ThePathIsBad", "Lock::Acquire", kInvalidArgument,
         [](S s) {
           s.path = "bad";
           s.recursive.emplace(s.client, s.path);
         }),
      If("TheTimeoutIsNegative", "Lease::Verify", kInvalidArgument,
         [](S s) { s.wait.timeout = absl::Seconds(-1); }),
      If("TheCandidateIsBad", "LeaderElection::Campaign", kInvalidArgument,
         [](S s) {
           s.candidate = {"two\nlines", std::string(65 * 1024, 'x')};
         }),
      If("TheMemberIsBad", "Group::Join", kInvalidArgument,
         [](S s) {
           s.candidate = {std::string(513, 'x'), ""};
         }),
      If("TheOwnerIsEmpty", "RecursiveLock::Acquire", kInvalidArgument, [](S s) { s.owner = ""; }),
      If("TheNumberOfPermitsIsBad", "Semaphore::Acquire", kInvalidArgument,
         [](S s) { s.permits = 0; }),
      If("ThePathHasAnotherNumberOfPermits", "Semaphore::TryAcquire", kFailedPrecondition,
         [](S s) {
           s.ensemble.Create("/semaphores");
           s.ensemble.Create(s.path = "/semaphores/q", "3");
         }),
      If("TheServersAreBad", "Client::Create", kInvalidArgument,
         [](S s) { s.servers = s.options.servers = ":"; }),
      If("TheLeaseIsOfAnotherPathAndClient", "ReadWriteLock::Upgrade", kInvalidArgument,
         [](S s) { s.lease = *Lock(s.other, "/elsewhere").Acquire(); }),
      If("TheSequencerIsEmpty", "CheckSequencer", kInvalidArgument, [](S s) { s.sequencer = {}; }),
      If("ThereIsNoSuchToken", "BreakContender", kNotFound,
         [](S s) { s.sequencer.token = FencingToken(7); }),
      If("TheMembershipIsMovedFrom", "Membership::Leave", kFailedPrecondition,
         [](S s) {
           if (s.membership.has_value()) const Membership gone = *std::move(s.membership);
         }),
      If("TheGroupMayNotBeListed", "Group::Watch", kPermissionDenied, CloseToOthers),
      // A call may be answered before it looks: no example.
      If("ItIsCancelledBeforehand", "", kOk, [](S s) { s.stop.request_stop(); }),
      If("ItIsCancelledBeforehandWithoutAConnection", "Lease::Release", kCancelled,
         [](S s) {
           s.ensemble.Disconnect(*s.client);
           s.stop.request_stop();
         }),
      If("ItIsCancelledWhileItWaits", "Lock::Acquire", kCancelled, Queue,
         [](S s) {
           AwaitItsPlaceInTheQueue(s);
           s.stop.request_stop();
         }),
      If("NoLeaseCanBeProven", "LeaderElection::RunWhileLeading", kFailedPrecondition,
         [](S s) {
           s.clients.push_back(s.client);
           s.client = *s.ensemble.Connect({.lease = {.ping_gap = absl::Seconds(8)}});
           s.recursive.emplace(s.client, s.path);
         }),
      If("ThereIsNoTime", "Lease::Verify", kDeadlineExceeded,
         [](S s) {
           s.ensemble.HoldReplies(*s.client);
           s.wait.timeout = absl::ZeroDuration();
         }),
      If("AnotherIsInTheWay", "Lock::TryAcquire", kAlreadyExists, Queue),
      If("AnotherIsInTheWayAndThereIsNoTime", "Lock::Acquire", kDeadlineExceeded,
         [](S s) {
           Queue(s);
           s.wait.timeout = absl::ZeroDuration();
         }),
      If("ThereIsNoConnection", "Lease::Release", kDeadlineExceeded,
         [](S s) { s.ensemble.Disconnect(*s.client); }),
      If("TheServersAreSilent", "Lease::Verify", kDeadlineExceeded,
         [](S s) { s.ensemble.Silence(*s.client); }),
      If(
          "TheConnectionIsLostMeanwhile", "Lock::Acquire", kOk,
          [](S s) { s.ensemble.HoldReplies(*s.client); },
          [](S s) {
            s.ensemble.Disconnect(*s.client);
            s.ensemble.Reconnect(*s.client);
          }),
      If(
          "TheSessionExpiresMeanwhile", "Lock::Acquire", kOk,
          [](S s) { s.ensemble.HoldReplies(*s.client); },
          [](S s) {
            s.ensemble.Expire(*s.client);
            s.ensemble.Reconnect(*s.client);
          }),
      If("TheLeaseIsLost", "Lease::Release", kAborted, LoseTheLease),
      If("TheNodeOfTheLeaseIsGone", "Lease::Verify", kAborted,
         [](S s) {
           for (const std::string& node : s.ensemble.Paths(s.path)) s.ensemble.Delete(node);
         }),
      If("ItsNodeIsDeletedWhileItWaits", "Lock::Acquire", kAborted, Queue, DeleteTheLastNode),
      If("TheLeaseIsMovedFrom", "Lease::Release", kFailedPrecondition,
         [](S s) {
           if (s.lease.has_value()) s.others.push_back(*std::move(s.lease));
           if (s.hold.has_value()) const RecursiveLease gone = *std::move(s.hold);
         }),
      If("TheOwnerIsAcquiringAlready", "RecursiveLock::Acquire", kFailedPrecondition,
         [](S s) {
           s.hold.reset();
           Queue(s);
           s.recursive->AcquireAsync(s.owner, {}, [](const auto&) {});
         }),
      If("ThePathIsEphemeral", "Lock::Acquire", kFailedPrecondition,
         [](S s) {
           s.others.push_back(*Lock(s.other, "/elsewhere").Acquire());
           s.path = s.others.back().node();
           s.recursive.emplace(s.client, s.path);
         }),
      If("TheClientIsClosed", "Lock::Acquire", kFailedPrecondition,
         [](S s) { (void)s.client->Close(); }),
      If("TheClientIsClosedWhileItWaits", "Lock::Acquire", kFailedPrecondition, Queue,
         [](S s) {
           AwaitItsPlaceInTheQueue(s);
           (void)s.client->Close();
         }),
      {.name = "ItIsCalledOnTheIoThread",
       .example = {"Lease::Verify", kFailedPrecondition},
       .before_connecting = [](S s) { s.options.executor = InlineExecutor(); },
       .where = kIoThread},
      {.name = "ItIsCalledInAForkedChild",
       .example = {"Lease::Verify", kFailedPrecondition},
       .where = kForkedChild},
      If("ThePathIsClosedToIt", "ListContenders", kPermissionDenied,
         [](S s) {
           CloseToOthers(s);
           s.recursive.emplace(s.client, s.path);
         }),
      {.name = "ItsNodesMayNotBeWritten",
       .example = {"LeaderElection::Proclaim", kPermissionDenied},
       .before_connecting = [](S s) { s.options.acl = {{kRead | kCreate | kDelete}}; }},
      If("ItsPathMayNotBeWritten", "Semaphore::Acquire", kPermissionDenied,
         [](S s) {
           auto owner = *s.ensemble.Connect(
               {.digest_credentials = {"owner:secret"}, .acl = {{kRead | kCreate | kDelete}}});
           s.path = "/read-only/q";
           s.recursive.emplace(s.client, s.path);
           (void)*Lock(owner, s.path).Acquire();  // makes it, without a number
           s.clients.push_back(std::move(owner));
         }),
      If("ItsNodesMayNotBeRead", "CheckSequencer", kPermissionDenied,
         [](S s) {
           s.path = "/open";
           s.ensemble.Create(s.path);
           auto secretive = *s.ensemble.Connect(SecretiveOptions());
           s.others.push_back(*Lock(secretive, s.path).Acquire());
           s.sequencer = s.others.back().sequencer();
           s.clients.push_back(std::move(secretive));
         }),
      If("ThePathsNumbersAreUsedUp", "Lock::Acquire", kResourceExhausted,
         [](S s) {
           s.path = "/used";
           s.recursive.emplace(s.client, s.path);
           s.ensemble.Create(s.path);
           s.ensemble.UseUpNumbers(s.path);
         }),
      If("TheEpochOfItsNextSessionIsNoNumber", "Lock::Acquire", kFailedPrecondition,
         [](S s) {
           s.ensemble.Create("/zkrecipes");
           s.ensemble.Create("/zkrecipes/epoch", "none");
           LoseTheLease(s);
         }),
  };
}

}  // namespace zkrecipes::testing
