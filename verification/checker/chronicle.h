// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_CHRONICLE_H_
#define ZKRECIPES_VERIFICATION_CHECKER_CHRONICLE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "verification/checker/event.h"

namespace zkrecipes::history {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The events of one kInvoke of one process. Null: did not happen, or was not recorded.
struct Attempt {
  std::string who;
  int process = 0;  // which of those that had this part, from 1
  int64_t number = 0;
  std::string path = "";
  Event::Mode mode = Event::Mode::kExclusive;
  const Attempt* from = nullptr;  // whose lease an upgrade or a downgrade goes on from

  const Event* invoke = nullptr;
  const Event* grant = nullptr;
  const Event* failed = nullptr;
  const Event* lost = nullptr;
  const Event* release = nullptr;
  const Event* released = nullptr;
  std::vector<const Event*> beliefs = {};  // in order

  bool granted() const { return grant != nullptr; }
  bool exclusive() const { return mode == Event::Mode::kExclusive; }
  int64_t token() const { return grant->token; }    // REQUIRES: granted()
  int64_t granted_at() const { return grant->at; }  // REQUIRES: granted()
  // granted_at() is when the process heard of its grant, which may have been made long before. A
  // grant that still promises something at that moment has not been lost since.
  bool sure() const { return granted() && grant->until > grant->at; }
  bool IsDowngrade() const { return from != nullptr && from->exclusive() && !exclusive(); }
  int64_t asked_at() const { return invoke != nullptr ? invoke->at : 0; }
  // Null: it is waiting still.
  const Event* EndOfWait() const { return granted() ? grant : failed; }
  // It cannot have been granted before.
  int64_t granted_after() const { return sure() ? granted_at() : asked_at(); }

  // Until when a conflicting grant breaks its promise: the last moment that the lease named, or its
  // own release, which an upgrade and a downgrade are, too. 0: it promised nothing.
  int64_t ProvenUntil() const;
};

struct ProcessLife {
  std::string who;
  int number = 0;  // from 1
  int64_t started = 0;
  int64_t ended = kNever;  // by its own will
  int64_t killed = kNever;
  struct Pause {
    int64_t begin = 0;
    int64_t end = kNever;
  };
  std::vector<Pause> pauses = {};
  std::vector<const Attempt*> attempts = {};

  // Its end, or that of the run if it lived on.
  int64_t EndIn(int64_t end_of_run) const { return std::min({ended, killed, end_of_run}); }
};

struct FaultSpan {
  std::string name;
  std::string target;
  int64_t begin = 0;
  int64_t end = kNever;
};

// A run's events, put together to attempts, processes and faults. A value to be moved, not copied.
class Chronicle {
 public:
  explicit Chronicle(std::vector<Event> events);
  Chronicle(Chronicle&&) = default;
  Chronicle(const Chronicle&) = delete;

  const std::vector<Event>& events() const { return events_; }  // by time
  const std::deque<Attempt>& attempts() const { return attempts_; }
  const std::deque<ProcessLife>& processes() const { return processes_; }
  const std::vector<FaultSpan>& faults() const { return faults_; }
  // Those that were granted, in the order of their kGrants.
  const std::vector<const Attempt*>& grants() const { return grants_; }
  // The first of them that was heard of then or later.
  std::vector<const Attempt*>::const_iterator GrantsFrom(int64_t at) const;
  int64_t begin() const { return events_.empty() ? 0 : events_.front().at; }
  int64_t end() const { return events_.empty() ? 0 : events_.back().at; }
  int64_t quiet() const { return quiet_; }  // kNever: there was none

 private:
  ProcessLife& CurrentProcess(const Event& event);
  void AddToProcess(const Event& event);
  void AddToAttempt(const Event& event);
  void AddFault(const Event& event);

  std::vector<Event> events_;
  std::deque<ProcessLife> processes_;
  std::deque<Attempt> attempts_;
  std::vector<FaultSpan> faults_;
  std::vector<const Attempt*> grants_;
  int64_t quiet_ = kNever;

  std::map<std::string, ProcessLife*> current_;
  std::map<const ProcessLife*, std::map<int64_t, Attempt*>> by_number_;
};

// Leases of these two must not be held at once.
bool Conflict(const Attempt& a, const Attempt& b);

// How people read them: "w3's attempt 7 (exclusive, /locks/a, token 4294967302)" and, since the run
// began, "12.345 s".
std::string NameOf(const Attempt& attempt);
std::string When(const Chronicle& run, int64_t at);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_CHRONICLE_H_
