// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_SEQUENCER_TABLE_H_
#define ZKRECIPES_LIB_QUEUE_SEQUENCER_TABLE_H_

#include <cstddef>
#include <list>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::internal {

struct SequencerHash {
  size_t operator()(const Sequencer& sequencer) const;
};

// What a SequencerCache remembers: of at most so many sequencers, those used last. The caller says
// what time it is. Thread-safe; does not block.
class SequencerTable {
 public:
  SequencerTable(absl::Duration max_age, size_t max_entries)
      : max_age_(max_age), max_entries_(max_entries) {}

  struct Known {
    bool holds = false;             // false: it does not, for good
    bool watched = false;           // an event will tell its end
    base::BootTime confirmed = {};  // it held then, or later: when the question was sent
  };
  std::optional<Known> Get(const Sequencer& sequencer) const;

  struct Found {
    std::optional<bool> holds = std::nullopt;  // if it is known, and young enough at `now`
    bool renew = false;  // Renewed or NotRenewed is to be called, once for each time
  };
  Found Find(const Sequencer& sequencer, base::BootTime now);

  // All sequencers that are watched held at `sent`, or later.
  void Renewed(base::BootTime sent);
  void NotRenewed(base::BootTime now);  // soon, not at once, it is worth another try

  // Return which one was given up for it.
  std::optional<Sequencer> PutHolding(const Sequencer& sequencer, base::BootTime sent,
                                      bool watched);
  std::optional<Sequencer> PutGone(const Sequencer& sequencer);
  void Drop(const Sequencer& sequencer);
  // The watch is used up, or all have ended with the session: what was confirmed stays so.
  void Unwatch(const Sequencer& sequencer);
  void UnwatchAll();
  void Clear();

  size_t size() const;
  absl::Duration max_age() const { return max_age_; }

 private:
  struct Entry {
    Sequencer sequencer;
    Known known;
  };
  using Line = std::list<Entry>;  // the one used last is in front
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Sequencer& s) const { return SequencerHash()(s); }
    size_t operator()(Line::iterator it) const { return SequencerHash()(it->sequencer); }
  };
  struct Same {
    using is_transparent = void;
    static const Sequencer& Of(const Sequencer& s) { return s; }
    static const Sequencer& Of(Line::iterator it) { return it->sequencer; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Of(a) == Of(b);
    }
  };

  std::optional<Sequencer> Put(const Sequencer& sequencer, const Known& known);
  base::BootTime ConfirmedAt(const Known& known) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UnwatchLocked(Known& known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration max_age_;
  const size_t max_entries_;
  mutable base::Mutex mutex_;
  Line line_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Line::iterator, Hash, Same> index_ ABSL_GUARDED_BY(mutex_);
  base::BootTime renewed_ ABSL_GUARDED_BY(mutex_);  // of all that are watched
  bool renewing_ ABSL_GUARDED_BY(mutex_) = false;
  base::BootTime renew_from_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_SEQUENCER_TABLE_H_
