// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/worker/recipe.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "lib/base/one_shot.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::history {
namespace {

template <typename T>
using Acquire = absl::StatusOr<Lease> (T::*)(const WaitOptions&);
template <typename T>
using TryAcquire = absl::StatusOr<TryResult> (T::*)(const WaitOptions&);
template <typename T>
using AcquireAsync = void (T::*)(WaitOptions, Recipe::OnLease);

template <typename T>
Recipe Bind(const T& object, Acquire<T> acquire, TryAcquire<T> try_acquire, AcquireAsync<T> async) {
  Recipe recipe;
  recipe.path = object.path();
  recipe.acquire = std::bind_front(acquire, object);
  recipe.try_acquire = std::bind_front(try_acquire, object);
  recipe.acquire_async = std::bind_front(async, object);
  return recipe;
}

Recipe ReadWriteRecipe(const ReadWriteLock& lock, Event::Mode mode) {
  Recipe recipe;
  if (mode == Event::Mode::kShared) {
    recipe = Bind(lock, &ReadWriteLock::AcquireShared, &ReadWriteLock::TryAcquireShared,
                  &ReadWriteLock::AcquireSharedAsync);
    recipe.change = std::bind_front(&ReadWriteLock::Upgrade, lock);
  } else {
    recipe = Bind(lock, &ReadWriteLock::AcquireExclusive, &ReadWriteLock::TryAcquireExclusive,
                  &ReadWriteLock::AcquireExclusiveAsync);
    recipe.change = std::bind_front(&ReadWriteLock::Downgrade, lock);
  }
  recipe.mode = mode;
  return recipe;
}

}  // namespace

Recipe MakeRecipe(const WorkerContext& context, const std::string& kind, const std::string& path,
                  Event::Mode mode) {
  if (kind == "read_write") return ReadWriteRecipe(ReadWriteLock(context.client, path), mode);
  if (kind == "election") {
    const LeaderElection election(context.client, path, {.id = context.options.name});
    Recipe recipe = Bind(election, &LeaderElection::Campaign, &LeaderElection::TryCampaign,
                         &LeaderElection::CampaignAsync);
    recipe.proclaim = std::bind_front(&LeaderElection::Proclaim, election);
    return recipe;
  }
  const absl::Duration delay =
      kind == "strict" ? context.options.session_timeout : absl::ZeroDuration();
  const Lock lock(context.client, path, {.lock_delay = delay});
  Recipe recipe = Bind(lock, &Lock::Acquire, &Lock::TryAcquire, &Lock::AcquireAsync);
  recipe.lock_delay = delay;
  return recipe;
}

// ---- ways to ask -------------------------------------------------------------------------------

namespace {

absl::StatusOr<Lease> AskAndCancel(const Recipe& recipe, absl::Duration after,
                                   const std::stop_token& stop) {
  std::stop_source cancel;
  const std::stop_callback link(stop, [&cancel] { cancel.request_stop(); });
  const std::jthread timer([&cancel, after](const std::stop_token& answered) {
    Pause(after, answered);
    cancel.request_stop();
  });
  return recipe.acquire({.cancel = cancel.get_token()});
}

absl::StatusOr<Lease> Try(const Recipe& recipe, const WaitOptions& wait) {
  absl::StatusOr<TryResult> result = recipe.try_acquire(wait);
  if (!result.ok()) return result.status();
  if (!result->acquired()) return absl::UnavailableError("busy");
  return (*std::move(result)).lease();
}

absl::StatusOr<Lease> AskByCallback(const Recipe& recipe, const WaitOptions& wait) {
  const auto answer = std::make_shared<base::OneShot<absl::StatusOr<Lease>>>();
  recipe.acquire_async(wait,
                       [answer](absl::StatusOr<Lease> lease) { answer->Set(std::move(lease)); });
  return *answer->Take(base::BootTime::InfiniteFuture());
}

}  // namespace

std::string ToString(const Asking& asking) {
  constexpr const char* kNames[] = {"wait", "cancel", "try", "async"};
  return absl::StrCat(kNames[static_cast<int>(asking.how)], " ",
                      absl::FormatDuration(asking.patience));
}

absl::StatusOr<Lease> Ask(const Recipe& recipe, const Asking& asking, const std::stop_token& stop) {
  const WaitOptions wait{asking.patience, stop};
  switch (asking.how) {
    case Asking::How::kWait:
      return recipe.acquire(wait);
    case Asking::How::kCancel:
      return AskAndCancel(recipe, asking.patience, stop);
    case Asking::How::kTry:
      return Try(recipe, wait);
    case Asking::How::kAsync:
      return AskByCallback(recipe, wait);
  }
  return absl::InternalError("no such way to ask");
}

bool Pause(absl::Duration duration, const std::stop_token& stop) {
  base::OneShot<char> never;
  (void)never.Take(base::BootNow() + duration, stop);
  return !stop.stop_requested();
}

}  // namespace zkrecipes::history
