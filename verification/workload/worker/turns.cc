// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "lib/base/one_shot.h"
#include "verification/workload/worker/worker.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::history {
namespace {

template <typename T>
Recipe Bind(const T& object, auto acquire, auto try_acquire, auto acquire_async) {
  return {.path = object.path(),
          .acquire = std::bind_front(acquire, object),
          .try_acquire = std::bind_front(try_acquire, object),
          .acquire_async = std::bind_front(acquire_async, object)};
}

Recipe ReadWriteRecipe(const ReadWriteLock& lock, Event::Mode mode) {
  const bool shared = mode == Event::Mode::kShared;
  Recipe recipe =
      shared ? Bind(lock, &ReadWriteLock::AcquireShared, &ReadWriteLock::TryAcquireShared,
                    &ReadWriteLock::AcquireSharedAsync)
             : Bind(lock, &ReadWriteLock::AcquireExclusive, &ReadWriteLock::TryAcquireExclusive,
                    &ReadWriteLock::AcquireExclusiveAsync);
  recipe.mode = mode;
  recipe.change =
      std::bind_front(shared ? &ReadWriteLock::Upgrade : &ReadWriteLock::Downgrade, lock);
  return recipe;
}

}  // namespace

Recipe MakeRecipe(const WorkerContext& context, const std::string& kind, const std::string& path,
                  Event::Mode mode) {
  const WorkerOptions& options = context.options;
  AcquireOptions acquire{.beside_blind = options.beside_blind};
  if (kind == "read_write") {
    return ReadWriteRecipe(ReadWriteLock(context.client, path, acquire), mode);
  }
  if (kind == "election") {
    const LeaderElection election(context.client, path,
                                  {.marker = options.marker.value_or(NodeMarker::kLatch),
                                   .candidate = {.id = options.name},
                                   .acquire = acquire});
    Recipe recipe = Bind(election, &LeaderElection::Campaign, &LeaderElection::TryCampaign,
                         &LeaderElection::CampaignAsync);
    recipe.proclaim = std::bind_front(&LeaderElection::Proclaim, election);
    return recipe;
  }
  const absl::Duration delay =
      kind == "lock_delay" ? options.session_timeout : absl::ZeroDuration();
  acquire.lock_delay = delay;
  acquire.marker = options.marker;
  const Lock lock(context.client, path, acquire);
  Recipe recipe = Bind(lock, &Lock::Acquire, &Lock::TryAcquire, &Lock::AcquireAsync);
  recipe.lock_delay = delay;
  return recipe;
}

namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kBetweenWrites = absl::Milliseconds(50);
constexpr absl::Duration kCarelessAfterLoss = absl::Milliseconds(600);

// Records the request, and its failure if `call` does not give the lease.
template <typename Call>
std::unique_ptr<Holding> Ask(WorkerContext& context, Event invoke, Call call) {
  invoke.what = Event::What::kInvoke;
  invoke.attempt = ++context.attempts;
  invoke.at = Now();
  context.recorder.Record(invoke);
  absl::StatusOr<Lease> lease = call();
  const int64_t at = Now();
  if (lease.ok()) return std::make_unique<Holding>(context, invoke, *std::move(lease), at);
  Event failed = invoke;
  failed.at = at;
  failed.what = Event::What::kFailed;
  failed.detail = lease.status().ToString();
  context.recorder.Record(std::move(failed));
  return nullptr;
}

// ---- ways to ask for a lease --------------------------------------------------------------------

// Blocks; false if `stop` came first.
bool Pause(absl::Duration duration, const std::stop_token& stop) {
  base::OneShot<char> never;
  (void)never.Take(base::BootNow() + duration, stop);
  return !stop.stop_requested();
}

absl::StatusOr<Lease> Wait(const Recipe& recipe, const WaitOptions& wait) {
  return recipe.acquire(wait);
}

// Without a timeout, and cancelled when it would have been over.
absl::StatusOr<Lease> WaitAndCancel(const Recipe& recipe, const WaitOptions& wait) {
  std::stop_source cancel;
  const std::stop_callback link(wait.cancel, [&cancel] { cancel.request_stop(); });
  const std::jthread timer([&cancel, &wait](const std::stop_token& answered) {
    Pause(wait.timeout, answered);
    cancel.request_stop();
  });
  return recipe.acquire({.cancel = cancel.get_token()});
}

absl::StatusOr<Lease> WaitForCallback(const Recipe& recipe, const WaitOptions& wait) {
  const auto answer = std::make_shared<base::OneShot<absl::StatusOr<Lease>>>();
  recipe.acquire_async(wait,
                       [answer](absl::StatusOr<Lease> lease) { answer->Set(std::move(lease)); });
  return *answer->Take(base::BootTime::InfiniteFuture());
}

absl::StatusOr<Lease> Try(const Recipe& recipe, const WaitOptions& wait) {
  return recipe.try_acquire(wait);
}

struct Asking {
  const char* name;
  absl::StatusOr<Lease> (*ask)(const Recipe& recipe, const WaitOptions& wait);
};
constexpr Asking kWait = {"wait", Wait};
constexpr Asking kCancel = {"cancel", WaitAndCancel};
constexpr Asking kTry = {"try", Try};
constexpr Asking kAsync = {"async", WaitForCallback};

// ---- a thread of a worker -----------------------------------------------------------------------

class Turns {
 public:
  Turns(WorkerContext& context, uint64_t seed) : context_(context), random_(seed) {}

  void Run() {
    do TakeTurn();
    while (Pause(Between(absl::ZeroDuration(), absl::Milliseconds(150)), context_.stop));
  }

 private:
  bool Chance(double p) { return absl::Bernoulli(random_, p); }

  // In whole milliseconds.
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    return absl::Milliseconds(absl::Uniform(absl::IntervalClosed, random_,
                                            absl::ToInt64Milliseconds(least),
                                            absl::ToInt64Milliseconds(most)));
  }

  Recipe ChooseRecipe() {
    const WorkerOptions& options = context_.options;
    const std::string& kind =
        options.recipes[absl::Uniform<size_t>(random_, 0, options.recipes.size())];
    const int number = absl::Uniform(random_, 0, options.paths);
    return MakeRecipe(context_, kind, absl::StrCat(options.root, "/", kind, "-", number),
                      Chance(0.6) ? Event::Mode::kShared : Event::Mode::kExclusive);
  }

  absl::Duration ChooseHold() {
    const int kind = absl::Uniform(random_, 0, 10);
    if (kind < 5) return Between(absl::ZeroDuration(), absl::Milliseconds(50));
    if (kind < 9) return Between(absl::Milliseconds(50), absl::Milliseconds(500));
    return Between(absl::Seconds(1), absl::Seconds(4));
  }

  void TakeTurn() {
    Recipe recipe = ChooseRecipe();
    std::unique_ptr<Holding> holding = Acquire(recipe);
    if (holding == nullptr) return;
    if (Use(*holding, recipe) && recipe.change != nullptr && Chance(0.3)) {
      holding = Change(std::move(holding), recipe);
      if (holding == nullptr) return;
      Use(*holding, recipe);
    }
    if (Chance(0.2)) {
      holding->Drop();
    } else {
      holding->Release();
    }
  }

  std::unique_ptr<Holding> Acquire(const Recipe& recipe) {
    static constexpr Asking kImpatient[] = {kWait, kCancel, kAsync};
    static constexpr Asking kPatient[] = {kTry, kAsync, kWait, kWait, kWait};
    const absl::Duration little = Between(absl::Milliseconds(1), absl::Milliseconds(400));
    const size_t way = absl::Uniform<size_t>(random_, 0, 8);
    const Asking& asking = way < 3 ? kImpatient[way] : kPatient[way - 3];
    const absl::Duration patience = way < 3 ? little : kPatience;
    const Event invoke = {.path = recipe.path,
                          .mode = recipe.mode,
                          .lock_delay = absl::ToInt64Nanoseconds(recipe.lock_delay),
                          .detail = absl::StrCat(asking.name, " ", absl::FormatDuration(patience))};
    return Ask(context_, invoke, [&] { return asking.ask(recipe, {patience, context_.stop}); });
  }

  // False: the turn is over early.
  bool Use(Holding& holding, const Recipe& recipe) {
    const bool careless = Chance(0.4);  // never looks at its lease: only the resource can stop it
    base::BootTime end = base::BootNow() + ChooseHold();
    bool noticed = false;
    do {
      if (!WriteOnce(holding, recipe, careless)) return false;
      if (!Pause(kBetweenWrites, context_.stop)) return false;
      if (holding.lost() && !std::exchange(noticed, true)) {
        end = base::BootNow() + kCarelessAfterLoss;
      }
    } while (base::BootNow() < end);
    if (careless) (void)holding.Write();  // it may have been stopped since the last one
    return !holding.lost();
  }

  // One look and one write; false if it is to stop.
  bool WriteOnce(Holding& holding, const Recipe& recipe, bool careless) {
    if (!careless) {
      const Lease::State state = holding.Look();
      if (state == Lease::State::kLost) return false;
      if (state == Lease::State::kUnproven) return true;  // perhaps the next time
      if (Chance(0.1)) VerifyOrProclaim(holding, recipe);
    }
    const std::optional<bool> accepted = holding.Write();
    return accepted.has_value() && (*accepted || careless);
  }

  void VerifyOrProclaim(Holding& holding, const Recipe& recipe) {
    const WaitOptions wait{absl::Seconds(2), context_.stop};
    if (recipe.proclaim == nullptr) return holding.Verify(wait);
    const std::string value = absl::StrCat("term ", holding.grant().token);
    holding.Note("proclaim: " + recipe.proclaim(holding.lease(), value, wait).ToString());
  }

  // Upgrades or downgrades; `recipe` becomes that of the other mode if that succeeds. See event.h
  // on the order of events.
  std::unique_ptr<Holding> Change(std::unique_ptr<Holding> holding, Recipe& recipe) {
    const bool upgrade = recipe.mode == Event::Mode::kShared;
    const Recipe other = MakeRecipe(context_, "read_write", recipe.path,
                                    upgrade ? Event::Mode::kExclusive : Event::Mode::kShared);
    const absl::Duration patience = Between(absl::Milliseconds(50), absl::Seconds(3));
    const std::string way = upgrade ? "upgrade " : "downgrade ";
    const Event invoke = {.path = recipe.path,
                          .mode = other.mode,
                          .from = holding->grant().attempt,
                          .detail = way + absl::FormatDuration(patience)};
    if (!upgrade) holding->AboutToBeReplaced();
    std::unique_ptr<Holding> changed = Ask(context_, invoke, [&] {
      return recipe.change(holding->lease(), {patience, context_.stop});
    });
    if (changed == nullptr) return holding;
    holding->Replaced(changed->grant().at);
    recipe = other;
    return changed;
  }

  WorkerContext& context_;
  std::mt19937_64 random_;
};

}  // namespace

void TakeTurns(WorkerContext& context, uint64_t seed) { Turns(context, seed).Run(); }

}  // namespace zkrecipes::history
