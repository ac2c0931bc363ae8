// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/sequencer_table.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

#include "lib/session/retry_pauses.h"

namespace zkrecipes::internal {

// A node's name hardly ever comes twice.
size_t SequencerHash::operator()(const Sequencer& sequencer) const {
  return absl::HashOf(sequencer.node, sequencer.token);
}

base::BootTime SequencerTable::ConfirmedAt(const Known& known) const {
  return known.watched ? std::max(known.confirmed, renewed_) : known.confirmed;
}

std::optional<SequencerTable::Known> SequencerTable::Get(const Sequencer& sequencer) const {
  base::MutexLock lock(mutex_);
  const auto found = index_.find(sequencer);
  if (found == index_.end()) return std::nullopt;
  Known known = (*found)->known;
  known.confirmed = ConfirmedAt(known);
  return known;
}

SequencerTable::Found SequencerTable::Find(const Sequencer& sequencer, base::BootTime now) {
  base::MutexLock lock(mutex_);
  const auto found = index_.find(sequencer);
  if (found == index_.end()) return {};
  line_.splice(line_.begin(), line_, *found);
  const Known& known = (*found)->known;
  if (!known.holds) return {.holds = false};
  const absl::Duration age = now - ConfirmedAt(known);
  if (age >= max_age_) return {};
  const bool renew = known.watched && age >= max_age_ / 2 && !renewing_ && now >= renew_from_;
  if (renew) renewing_ = true;
  return {true, renew};
}

void SequencerTable::Renewed(base::BootTime sent) {
  base::MutexLock lock(mutex_);
  renewed_ = std::max(renewed_, sent);
  renewing_ = false;
}

void SequencerTable::NotRenewed(base::BootTime now) {
  base::MutexLock lock(mutex_);
  renewing_ = false;
  renew_from_ = now + session::kRetryPause;
}

std::optional<Sequencer> SequencerTable::Put(const Sequencer& sequencer, const Known& known) {
  base::MutexLock lock(mutex_);
  if (const auto found = index_.find(sequencer); found != index_.end()) {
    (*found)->known = known;
    return std::nullopt;
  }
  line_.push_front({sequencer, known});
  index_.insert(line_.begin());
  if (line_.size() <= max_entries_) return std::nullopt;
  index_.erase(std::prev(line_.end()));
  Sequencer last = std::move(line_.back().sequencer);
  line_.pop_back();
  return last;
}

std::optional<Sequencer> SequencerTable::PutHolding(const Sequencer& sequencer, base::BootTime sent,
                                                    bool watched) {
  return Put(sequencer, {.holds = true, .watched = watched, .confirmed = sent});
}

std::optional<Sequencer> SequencerTable::PutGone(const Sequencer& sequencer) {
  return Put(sequencer, {.holds = false});
}

void SequencerTable::Drop(const Sequencer& sequencer) {
  base::MutexLock lock(mutex_);
  const auto found = index_.find(sequencer);
  if (found == index_.end()) return;
  const Line::iterator entry = *found;
  index_.erase(found);
  line_.erase(entry);
}

void SequencerTable::UnwatchLocked(Known& known) {
  known.confirmed = ConfirmedAt(known);
  known.watched = false;
}

void SequencerTable::Unwatch(const Sequencer& sequencer) {
  base::MutexLock lock(mutex_);
  const auto found = index_.find(sequencer);
  if (found != index_.end()) UnwatchLocked((*found)->known);
}

void SequencerTable::UnwatchAll() {
  base::MutexLock lock(mutex_);
  for (Entry& entry : line_) UnwatchLocked(entry.known);
}

void SequencerTable::Clear() {
  base::MutexLock lock(mutex_);
  index_.clear();
  line_.clear();
}

size_t SequencerTable::size() const {
  base::MutexLock lock(mutex_);
  return line_.size();
}

}  // namespace zkrecipes::internal
