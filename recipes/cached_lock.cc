// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/cached_lock.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/process.h"
#include "recipes/cached/local_queue.h"

namespace zkrecipes {

using internal::LeaseMaker;
using internal::LocalQueue;

std::string TurnToken::ToString() const { return absl::StrCat(token.ToString(), ".", turn); }

// ---- CachedLease --------------------------------------------------------------------------------

namespace {

// In a forked child it only makes sure that nothing is ever sent for it.
void End(std::shared_ptr<LocalQueue> queue, std::shared_ptr<internal::Tenure> tenure) {
  if (tenure == nullptr) return;
  if (queue->core().InHomeProcess()) return queue->EndTurn(*tenure);
  base::Leak(std::move(tenure));
  base::Leak(std::move(queue));
}

}  // namespace

CachedLease::CachedLease(std::shared_ptr<LocalQueue> queue,
                         std::shared_ptr<internal::Tenure> tenure, int64_t turn)
    : queue_(std::move(queue)), tenure_(std::move(tenure)), turn_(turn) {}

CachedLease& CachedLease::operator=(CachedLease&& other) noexcept {
  if (this == &other) return *this;
  auto queue = std::exchange(queue_, std::move(other.queue_));
  auto tenure = std::exchange(tenure_, std::move(other.tenure_));
  turn_ = other.turn_;
  End(std::move(queue), std::move(tenure));
  return *this;
}

CachedLease::~CachedLease() { End(std::move(queue_), std::move(tenure_)); }

const Lease& CachedLease::tenure() const {
  return tenure_ == nullptr ? LeaseMaker::None() : tenure_->lease;
}

bool CachedLease::believed() const { return tenure().believed(); }

FencingPass CachedLease::pass() const {
  FencingPass pass = tenure().pass();
  if (tenure_ != nullptr) pass.turn = turn_;
  return pass;
}

TurnToken CachedLease::token() const { return {tenure().token(), tenure_ == nullptr ? 0 : turn_}; }

absl::Status CachedLease::Release() && {
  if (tenure_ == nullptr) return absl::FailedPreconditionError("release: a moved-from lease");
  CachedLease ends = std::move(*this);
  if (!ends.queue_->core().InHomeProcess()) return ends.queue_->core().CheckMayBlock();
  return LeaseMaker::StateOf(ends.tenure())->CheckAlive("release");
}

namespace {

// An idle lock is taken without a call. A thread that waits for another one sleeps: what wakes it
// up is no answer of the servers'.
absl::StatusOr<CachedLease> Taking(LocalQueue& local, const WaitOptions& wait,
                                   LocalQueue::Form form) {
  if (absl::Status may = queue::call::MayBegin(local.core(), wait, /*blocks=*/true); !may.ok())
    return may;
  if (!wait.cancel.stop_requested()) {
    if (auto lease = local.TakeIdle()) return *std::move(lease);
  }
  return Blocking(LocalQueue::Entering(local.shared_from_this(), form), wait, local.AsksServers());
}

}  // namespace

// ---- CachedLock ---------------------------------------------------------------------------------

CachedLock::CachedLock(std::shared_ptr<Client> client, std::string path,
                       const CachedLockOptions& options)
    : client_(std::move(client)), local_(LocalQueue::Of(*client_, std::move(path), options)) {}

const std::string& CachedLock::path() const { return local_->path(); }

absl::StatusOr<CachedLease> CachedLock::Acquire(const WaitOptions& wait) const {
  return Taking(*local_, wait, LocalQueue::Form::kBlocking);
}

absl::StatusOr<CachedLease> CachedLock::TryAcquire(const WaitOptions& wait) const {
  return Taking(*local_, wait, LocalQueue::Form::kTry);
}

void CachedLock::AcquireAsync(WaitOptions wait,
                              absl::AnyInvocable<void(absl::StatusOr<CachedLease>) &&> done) const {
  Async(LocalQueue::Entering(local_, LocalQueue::Form::kAsync), wait, std::move(done));
}

}  // namespace zkrecipes
