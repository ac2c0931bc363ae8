// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/worker/asking.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "lib/base/one_shot.h"

namespace zkrecipes::history {
namespace {

const char* NameOf(Asking::How how) {
  switch (how) {
    case Asking::How::kWait:
      return "wait";
    case Asking::How::kCancel:
      return "cancel";
    case Asking::How::kTry:
      return "try";
    case Asking::How::kAsync:
      return "async";
  }
  return "";
}

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
  return absl::StrCat(NameOf(asking.how), " ", absl::FormatDuration(asking.patience));
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
  base::OneShot<char> nothing;
  (void)nothing.Take(base::BootNow() + duration, stop);
  return !stop.stop_requested();
}

}  // namespace zkrecipes::history
