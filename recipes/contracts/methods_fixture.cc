// SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "lib/fencing/object_store_fixture.h"
#include "recipes/contracts/scene_fixture.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/cached_lock.h"
#include "zkrecipes/event_loop.h"
#include "zkrecipes/fencing/fenced_file.h"
#include "zkrecipes/fencing/fenced_http.h"
#include "zkrecipes/fencing/fenced_object.h"
#include "zkrecipes/fencing/fencing_gate.h"
#include "zkrecipes/guarded_write.h"

namespace zkrecipes::testing {
namespace {

Codes With(Codes codes, const Codes& more) {
  codes.insert(more.begin(), more.end());
  return codes;
}

// ---- How the forms of a function are called -------------------------------------------

absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& answer) {
  return answer.status();
}

// `call` returns a status or a StatusOr.
template <typename Call>
std::function<void(Scene&, Done)> Returns(Call call) {
  return [call](Scene& scene, const Done& done) { done(StatusOf(call(scene))); };
}

// `call` hands a callback on, which gets one.
template <typename Call>
std::function<void(Scene&, Done)> CallsBack(Call call) {
  return [call](Scene& scene, const Done& done) {
    call(scene, [done](const auto& answer) { done(StatusOf(answer)); });
  };
}

template <typename Awaitable>
DetachedCoroutine Await(Awaitable awaitable, Done done) {
  auto answer = co_await std::move(awaitable);
  done(StatusOf(answer));
}

// `call` returns what to co_await.
template <typename Call>
std::function<void(Scene&, Done)> Awaits(Call call) {
  return [call](Scene& scene, const Done& done) { (void)Await(call(scene), done); };
}

// ---- The leases that they are called with ---------------------------------------------

void Keep(Scene& scene, absl::StatusOr<Lease> lease) {
  if (!lease.ok()) return;
  scene.sequencer = lease->sequencer();
  scene.lease = *std::move(lease);
}
void TakeLock(Scene& s) { Keep(s, s.lock().Acquire(s.wait)); }
void TakeShared(Scene& s) { Keep(s, s.read_write_lock().AcquireShared(s.wait)); }
void TakeExclusive(Scene& s) { Keep(s, s.read_write_lock().AcquireExclusive(s.wait)); }
void TakeLeadership(Scene& s) { Keep(s, s.election().Campaign(s.wait)); }
void Join(Scene& s) {
  absl::StatusOr<Membership> joined = s.group().Join(s.member(), s.wait);
  if (joined.ok()) s.membership = *std::move(joined);
}
void TakePermit(Scene& s) { Keep(s, s.semaphore().Acquire(s.wait)); }
void TakeHold(Scene& s) {
  absl::StatusOr<RecursiveLease> hold = s.recursive->Acquire(s.owner, s.wait);
  if (hold.ok()) s.hold = *std::move(hold);
}

FencingPass PassOf(const Scene& s) { return {s.sequencer.token, s.sequencer.mode}; }

// `call` gets a path in a folder of its own, for as long as it takes.
template <typename Call>
std::function<void(Scene&, Done)> InAFolder(Call call) {
  return Returns([call](Scene& scene) -> absl::Status {
    std::string folder = (std::filesystem::temp_directory_path() / "zkr-contract-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return absl::UnavailableError("no folder");
    // Some paths have no folder there.
    const absl::Status status = StatusOf(call(scene, folder + "/" + scene.path));
    std::filesystem::remove_all(folder);
    return status;
  });
}

// `call` gets a fenced file.
template <typename Call>
std::function<void(Scene&, Done)> WithFile(Call call) {
  return InAFolder([call](Scene& scene, const std::string& path) -> absl::Status {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    FencedFile file(path);
    const absl::Status status = file.Create();
    return status.ok() ? StatusOf(call(scene, file)) : status;
  });
}

// `call` gets a fenced object.
template <typename Call>
std::function<void(Scene&, Done)> WithObject(Call call) {
  return Returns([call](Scene& scene) -> absl::Status {
    fencing::StoredObject store;
    FencedObject object(std::make_unique<fencing::StoredObjectTransport>(store));
    const absl::Status status = object.Create();
    return status.ok() ? StatusOf(call(scene, object)) : status;
  });
}

// Refused where the path is: it is there, or its parent is none, or is closed.
std::vector<WriteOp> OpsOf(const Scene& s) {
  return {WriteOp::Create(s.path + "-written", ""), WriteOp::Delete(s.path + "-written")};
}

ClientOptions Elsewhere(const Scene& s) { return {.servers = s.servers}; }
WaitOptions Briefly(const Scene& s) {
  return {std::min<absl::Duration>(s.wait.timeout, absl::Milliseconds(20)), s.wait.cancel};
}
RunOptions Once() { return {.once = true}; }
void Work(const Lease&, const std::stop_token&) {}

// Up to the scene's stop, in case there is no news. `subscribe` takes what gets the news.
template <typename Subscribe>
std::function<void(Scene&, Done)> Subscribes(Subscribe subscribe) {
  return [subscribe](Scene& scene, const Done& done) {
    struct Kept {
      Kept(Scene& scene, const Done& done, const Subscribe& subscribe)
          : on_stop(scene.stop.get_token(), [done] { done(absl::OkStatus()); }),
            subscription(subscribe(scene, [done](const auto& news) { done(news.status()); })) {}
      const std::stop_callback<std::function<void()>> on_stop;
      const Subscription subscription;
    };
    scene.kept = std::make_shared<Kept>(scene, done, subscribe);
  };
}

Method Endless(Method method) {
  method.endless = true;
  return method;
}
Method Apart(Method method) {
  method.apart = true;
  return method;
}

}  // namespace

// One row a function: its name, the codes that it may give, how it is called and with which lease.
std::vector<Method> Methods() {
  using S = Scene&;
  using enum absl::StatusCode;
  const Codes wait = {kInvalidArgument, kFailedPrecondition, kDeadlineExceeded, kCancelled};
  const Codes ask =
      With(wait, {kUnavailable, kPermissionDenied, kUnauthenticated, kResourceExhausted});
  const Codes acquire = With(ask, {kAborted});
  const Codes attempt = With(acquire, {kAlreadyExists});
  const Codes write = With(attempt, {kNotFound, kInternal});
  const Codes verify = With(wait, {kUnavailable, kAborted});
  const Codes release = With(wait, {kAborted, kPermissionDenied});
  const Codes create = {kInvalidArgument, kFailedPrecondition, kResourceExhausted};
  const Codes connect = With(create, {kCancelled, kUnavailable, kUnauthenticated});
  const Codes change = {kInvalidArgument, kFailedPrecondition};
  const Codes observe = With(create, {kPermissionDenied, kUnauthenticated});
  const Codes run = With(observe, {kDeadlineExceeded, kAborted, kInternal});
  const Codes judge = {kInvalidArgument, kFailedPrecondition};
  const Codes load = {kUnavailable, kDataLoss};
  const Codes save = {kUnavailable, kInvalidArgument, kResourceExhausted};
  const Codes judge_and_save = With(judge, save);
  const Codes file_read = {kInvalidArgument, kNotFound, kUnavailable, kDataLoss};
  const Codes file_write = With(file_read, {kFailedPrecondition});
  const Codes file_create = {kInvalidArgument, kAlreadyExists, kUnavailable, kDataLoss};
  const Codes transport = {kPermissionDenied, kUnimplemented};
  const Codes parse = {kInvalidArgument};
  return {
      {"Lock::Acquire", acquire, Returns([](S s) { return s.lock().Acquire(s.wait); })},
      {"Lock::TryAcquire", attempt, Returns([](S s) { return s.lock().TryAcquire(s.wait); })},
      {"Lock::AcquireAsync", acquire,
       CallsBack([](S s, auto done) { s.lock().AcquireAsync(s.wait, std::move(done)); })},
      {"Lock::CoAcquire", acquire,
       Awaits([](S s) { return s.lock().CoAcquire(s.wait.timeout, s.wait.cancel); })},
      Endless({"Lock::RunWhileHolding", run,
               Returns([](S s) { return s.lock().RunWhileHolding(s.wait.cancel, Work, Once()); })}),

      {"CachedLock::Acquire", acquire,
       Returns([](S s) { return CachedLock(s.client, s.path).Acquire(s.wait); })},
      {"CachedLock::TryAcquire", attempt,
       Returns([](S s) { return CachedLock(s.client, s.path).TryAcquire(s.wait); })},
      {"CachedLock::AcquireAsync", acquire, CallsBack([](S s, auto done) {
         CachedLock(s.client, s.path).AcquireAsync(s.wait, std::move(done));
       })},

      {"RecursiveLock::Acquire", acquire,
       Returns([](S s) { return s.recursive->Acquire(s.owner, s.wait); })},
      {"RecursiveLock::TryAcquire", attempt,
       Returns([](S s) { return s.recursive->TryAcquire(s.owner, s.wait); })},
      {"RecursiveLock::AcquireAsync", acquire, CallsBack([](S s, auto done) {
         s.recursive->AcquireAsync(s.owner, s.wait, std::move(done));
       }),
       TakeHold},
      {"RecursiveLease::Release", release,
       Returns([](S s) { return (*std::move(s.hold)).Release(s.wait); }), TakeHold},

      {"ReadWriteLock::AcquireShared", acquire,
       Returns([](S s) { return s.read_write_lock().AcquireShared(s.wait); })},
      {"ReadWriteLock::AcquireExclusive", acquire,
       Returns([](S s) { return s.read_write_lock().AcquireExclusive(s.wait); })},
      {"ReadWriteLock::TryAcquireShared", attempt,
       Returns([](S s) { return s.read_write_lock().TryAcquireShared(s.wait); })},
      {"ReadWriteLock::TryAcquireExclusive", attempt,
       Returns([](S s) { return s.read_write_lock().TryAcquireExclusive(s.wait); })},
      {"ReadWriteLock::AcquireSharedAsync", acquire, CallsBack([](S s, auto done) {
         s.read_write_lock().AcquireSharedAsync(s.wait, std::move(done));
       })},
      {"ReadWriteLock::AcquireExclusiveAsync", acquire, CallsBack([](S s, auto done) {
         s.read_write_lock().AcquireExclusiveAsync(s.wait, std::move(done));
       })},
      {"ReadWriteLock::CoAcquireShared", acquire, Awaits([](S s) {
         return s.read_write_lock().CoAcquireShared(s.wait.timeout, s.wait.cancel);
       })},
      {"ReadWriteLock::CoAcquireExclusive", acquire, Awaits([](S s) {
         return s.read_write_lock().CoAcquireExclusive(s.wait.timeout, s.wait.cancel);
       })},
      Endless({"ReadWriteLock::RunWhileHoldingShared", run, Returns([](S s) {
                 return s.read_write_lock().RunWhileHoldingShared(s.wait.cancel, Work, Once());
               })}),
      Endless({"ReadWriteLock::RunWhileHoldingExclusive", run, Returns([](S s) {
                 return s.read_write_lock().RunWhileHoldingExclusive(s.wait.cancel, Work, Once());
               })}),
      {"ReadWriteLock::Upgrade", acquire,
       Returns([](S s) { return s.read_write_lock().Upgrade(*s.lease, s.wait); }), TakeShared},
      {"ReadWriteLock::Downgrade", acquire,
       Returns([](S s) { return s.read_write_lock().Downgrade(*s.lease, s.wait); }), TakeExclusive},

      {"ReadWriteLock::UpgradeAsync", acquire, CallsBack([](S s, auto done) {
         s.read_write_lock().UpgradeAsync(*s.lease, s.wait, std::move(done));
       }),
       TakeShared},
      {"ReadWriteLock::DowngradeAsync", acquire, CallsBack([](S s, auto done) {
         s.read_write_lock().DowngradeAsync(*s.lease, s.wait, std::move(done));
       }),
       TakeExclusive},
      {"ReadWriteLock::CoUpgrade", acquire, Awaits([](S s) {
         return s.read_write_lock().CoUpgrade(*s.lease, s.wait.timeout, s.wait.cancel);
       }),
       TakeShared},
      {"ReadWriteLock::CoDowngrade", acquire, Awaits([](S s) {
         return s.read_write_lock().CoDowngrade(*s.lease, s.wait.timeout, s.wait.cancel);
       }),
       TakeExclusive},

      {"Semaphore::Acquire", acquire, Returns([](S s) { return s.semaphore().Acquire(s.wait); })},
      {"Semaphore::TryAcquire", attempt,
       Returns([](S s) { return s.semaphore().TryAcquire(s.wait); })},
      {"Semaphore::AcquireAsync", acquire,
       CallsBack([](S s, auto done) { s.semaphore().AcquireAsync(s.wait, std::move(done)); })},
      {"Semaphore::CoAcquire", acquire,
       Awaits([](S s) { return s.semaphore().CoAcquire(s.wait.timeout, s.wait.cancel); })},

      {"Group::Join", acquire, Returns([](S s) { return s.group().Join(s.member(), s.wait); })},
      {"Group::JoinAsync", acquire,
       CallsBack([](S s, auto done) { s.group().JoinAsync(s.member(), s.wait, std::move(done)); })},
      {"Group::Members", ask, Returns([](S s) { return s.group().Members(s.wait); })},
      Endless({"Group::Watch", observe,
               Subscribes([](S s, auto tell) { return s.group().Watch(tell); })}),
      {"Membership::Leave", With(wait, {kPermissionDenied}),
       Returns([](S s) { return (*std::move(s.membership)).Leave(s.wait); }), Join},
      {"Membership::status", acquire, Returns([](S s) { return s.membership->status(); }), Join},

      Endless({"Partitions::Run", run, Returns([](S s) {
                 return s.partitions().Run(s.wait.cancel, [](const auto&...) {});
               })}),
      {"Partitions::Assignment", ask,
       Returns([](S s) { return s.partitions().Assignment(s.wait); })},

      {"LeaderElection::Campaign", acquire,
       Returns([](S s) { return s.election().Campaign(s.wait); })},
      {"LeaderElection::TryCampaign", attempt,
       Returns([](S s) { return s.election().TryCampaign(s.wait); })},
      {"LeaderElection::CampaignAsync", acquire,
       CallsBack([](S s, auto done) { s.election().CampaignAsync(s.wait, std::move(done)); })},
      {"LeaderElection::CoCampaign", acquire,
       Awaits([](S s) { return s.election().CoCampaign(s.wait.timeout, s.wait.cancel); })},
      {"LeaderElection::Proclaim", acquire, Returns([](S s) {
         return s.election().Proclaim(*s.lease, s.candidate.value + "!", s.wait);
       }),
       TakeLeadership},
      {"LeaderElection::ProclaimAsync", acquire, CallsBack([](S s, auto done) {
         s.election().ProclaimAsync(*s.lease, s.candidate.value + "!", s.wait, std::move(done));
       }),
       TakeLeadership},
      {"LeaderElection::CoProclaim", acquire, Awaits([](S s) {
         return s.election().CoProclaim(*s.lease, s.candidate.value + "!", s.wait.timeout,
                                        s.wait.cancel);
       }),
       TakeLeadership},
      {"LeaderElection::CurrentLeader", ask,
       Returns([](S s) { return s.election().CurrentLeader(s.wait); })},
      {"LeaderElection::Candidates", ask,
       Returns([](S s) { return s.election().Candidates(s.wait); })},
      Endless({"LeaderElection::Observe", observe,
               Subscribes([](S s, auto tell) { return s.election().Observe(tell); })}),
      Endless({"LeaderElection::RunWhileLeading", run, Returns([](S s) {
                 return s.election().RunWhileLeading(s.wait.cancel, Work, Once());
               })}),

      {"Lease::Verify (a permit)", verify, Returns([](S s) { return s.lease->Verify(s.wait); }),
       TakePermit},
      {"Lease::Release (a permit)", release,
       Returns([](S s) { return std::move(*s.lease).Release(s.wait); }), TakePermit},
      {"GuardedWrite (a permit)", write,
       Returns([](S s) { return GuardedWrite(*s.lease, OpsOf(s), s.wait); }), TakePermit},

      {"Lease::Verify", verify, Returns([](S s) { return s.lease->Verify(s.wait); }), TakeLock},
      {"Lease::Release", release, Returns([](S s) { return std::move(*s.lease).Release(s.wait); }),
       TakeLock},

      {"Lease::VerifyAsync", With(verify, {kResourceExhausted}),
       CallsBack([](S s, auto done) { s.lease->VerifyAsync(s.wait, std::move(done)); }), TakeLock},
      {"Lease::ReleaseAsync", With(release, {kResourceExhausted}),
       CallsBack([](S s, auto done) { std::move(*s.lease).ReleaseAsync(s.wait, std::move(done)); }),
       TakeLock},
      {"Lease::CoVerify", With(verify, {kResourceExhausted}),
       Awaits([](S s) { return s.lease->CoVerify(s.wait.timeout, s.wait.cancel); }), TakeLock},
      {"Lease::CoRelease", With(release, {kResourceExhausted}),
       Awaits([](S s) { return std::move(*s.lease).CoRelease(s.wait.timeout, s.wait.cancel); }),
       TakeLock},

      {"GuardedWrite", write, Returns([](S s) { return GuardedWrite(*s.lease, OpsOf(s), s.wait); }),
       TakeLock},
      {"GuardedWriteAsync", write, CallsBack([](S s, auto done) {
         GuardedWriteAsync(*s.lease, OpsOf(s), s.wait, std::move(done));
       }),
       TakeLock},
      {"CoGuardedWrite", write, Awaits([](S s) {
         return CoGuardedWrite(*s.lease, OpsOf(s), s.wait.timeout, s.wait.cancel);
       }),
       TakeLock},
      {"ListContenders", ask,
       Returns([](S s) { return ListContenders(*s.client, s.path, s.wait); })},
      {"CheckSequencer", ask,
       Returns([](S s) { return CheckSequencer(*s.client, s.sequencer, s.wait); }), TakeLock},
      {"BreakContender", With(ask, {kNotFound}),
       Returns([](S s) { return BreakContender(*s.client, s.path, s.sequencer.token, s.wait); }),
       TakeLock},

      {"EventLoop::Start", {kResourceExhausted}, Returns([](S) { return EventLoop::Start(); })},
      {"Client::Close", wait, Returns([](S s) { return s.client->Close(s.wait); })},
      {"Client::CloseAsync", With(wait, {kResourceExhausted}),
       CallsBack([](S s, auto done) { s.client->CloseAsync(s.wait, std::move(done)); })},
      {"Client::CoClose", With(wait, {kResourceExhausted}),
       Awaits([](S s) { return s.client->CoClose(s.wait.timeout, s.wait.cancel); })},
      Apart({"Client::Connect", connect,
             Returns([](S s) { return Client::Connect(Elsewhere(s), Briefly(s)); })}),
      Apart({"Client::Create", create, Returns([](S s) { return Client::Create(Elsewhere(s)); })}),
      Apart({"Client::ConnectAsync", connect, CallsBack([](S s, auto done) {
               Client::ConnectAsync(Elsewhere(s), Briefly(s), std::move(done));
             })}),
      Apart({"InMemoryEnsemble::Connect", connect,
             Returns([](S s) { return s.ensemble.Connect(s.options, s.wait); })}),
      Apart({"InMemoryEnsemble::CreateClient", create,
             Returns([](S s) { return s.ensemble.CreateClient(s.options); })}),

      {"Client::SetServers", change, Returns([](S s) { return s.client->SetServers(s.servers); })},
      {"Client::AddDigestCredential", change,
       Returns([](S s) { return s.client->AddDigestCredential(s.text); })},
      {"Client::SetDigestCredentials", change,
       Returns([](S s) { return s.client->SetDigestCredentials({s.text}); })},

      {"FencingFloor::Admit", judge, Returns([](S s) {
         FencingFloor floor = {.exclusive = FencingToken(1)};
         return floor.Admit(PassOf(s));
       })},
      {"FencingGate::Open", load, Returns([](S) { return FencingGate::Open(); })},
      {"FencingGate::Of", save, Returns([](S s) { return (*FencingGate::Open())->Of(s.path); })},
      {"FencingGate::Admit", judge_and_save,
       Returns([](S s) { return (*FencingGate::Open())->Admit(s.path, PassOf(s)); })},
      {"FencingKey::Admit", judge_and_save,
       Returns([](S s) { return (*FencingGate::Open())->Of(s.path)->Admit(PassOf(s)); })},

      {"FencedFile::Create", file_create,
       WithFile([](S, FencedFile& file) { return file.Create(); })},
      {"FencedFile::Write", file_write,
       WithFile([](S s, FencedFile& file) { return file.Write(PassOf(s), s.text); })},
      {"FencedFile::Claim", file_write,
       WithFile([](S s, FencedFile& file) { return file.Claim(PassOf(s)); })},
      {"FencedFile::Read", file_read, WithFile([](S, FencedFile& file) { return file.Read(); })},

      {"FencedObject::Create", With(file_create, transport),
       WithObject([](S, FencedObject& object) { return object.Create(); })},
      {"FencedObject::Write", With(file_write, transport),
       WithObject([](S s, FencedObject& object) { return object.Write(PassOf(s), s.text); })},
      {"FencedObject::Claim", With(file_write, transport),
       WithObject([](S s, FencedObject& object) { return object.Claim(PassOf(s)); })},
      {"FencedObject::Read", With(file_read, transport),
       WithObject([](S, FencedObject& object) { return object.Read(); })},
      {"PutResultOf", {kInvalidArgument, kPermissionDenied, kUnimplemented}, Returns([](S) {
         return PutResultOf(400);
       })},

      {"ParseFencingTokenHeader", parse,
       Returns([](S s) { return ParseFencingTokenHeader(s.text); })},
      {"ParseFencingFloorHeader", parse,
       Returns([](S s) { return ParseFencingFloorHeader(s.text); })},
      {"CheckHttpAnswer", {kFailedPrecondition}, Returns([](S s) {
         return CheckHttpAnswer(412, s.text);
       })},

      {"FencingToken::Parse", parse, Returns([](S s) { return FencingToken::Parse(s.text); })},
      {"Sequencer::Parse", parse, Returns([](S s) { return Sequencer::Parse(s.text); })},
  };
}

}  // namespace zkrecipes::testing
