// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/kept_lock_world_fixture.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::recipes::machine {

// ---- what LocalQueue does -----------------------------------------------------------------------

void KeptLockWorld::Enter(Process& p, Caller& caller, bool try_only) {
  --(try_only ? budget_.tries : budget_.acquires);
  if (p.lock.state() == State::kIdle) {
    if (Believed(p.token) && p.lock.TakeIdle()) return BeginTurn(p, caller);
    Do(p, p.lock.OnEnded());
  }
  if (try_only && p.lock.state() != State::kNone) return;  // it is busy
  caller = {Caller::kWaits, ++p.waiters, try_only};
  Do(p, p.lock.Acquire(caller.waiter, try_only));
}

void KeptLockWorld::EndTurn(Process& p, Caller& caller) {
  const Token token = std::exchange(caller, {}).token;
  if (p.token != token) return;
  const bool over = !p.lock.waiting().empty() && !Believed(token);
  Do(p, over ? p.lock.OnEnded() : p.lock.OnTurnOver(now_));
}

void KeptLockWorld::GiveUp(Process& p, Caller& caller) {
  if (!p.lock.GiveUp(std::exchange(caller, {}).waiter)) return;
  p.withdraws.push_back(p.joins);
  if (budget_.acquires + budget_.tries == 0) Withdraw(p);  // nobody comes meanwhile
}

void KeptLockWorld::Do(Process& p, const KeptLock::Actions& actions, Answer refusal) {
  for (const KeptLock::Action& action : actions) {
    const auto caller = std::ranges::find_if(p.callers, [&](const Caller& c) {
      return c.does == Caller::kWaits && c.waiter == action.waiter;
    });
    switch (action.what) {
      case What::kJoin:
      case What::kTry:
        ++p.joins;
        p.requests.emplace_back(action.what == What::kTry ? Asks::kTry : Asks::kJoin, 0);
        break;
      case What::kGrant:
        if (caller == p.callers.end()) return Check(false, "answered who does not wait");
        BeginTurn(p, *caller);
        break;
      case What::kRefuse:
        if (caller == p.callers.end()) return Check(false, "answered who does not wait");
        Check(refusal == Answer::kFailed || (refusal == Answer::kBusy && caller->tries),
              "refused by another's answer");
        *caller = {};
        break;
      case What::kLook:
        p.looks = p.token;
        p.told = Sight::kNothing;
        break;
      case What::kLeave:
        for (const Caller& c : p.callers) {
          Check(c.does != Caller::kHolds || c.token != p.token || !Believed(c.token),
                "the node goes under a believed turn");
        }
        p.requests.emplace_back(Asks::kDelete, p.token);
        End(p.token);
        p.token = p.looks = 0;
        break;
    }
  }
}

// The first turn of a tenure is as believed as its grant, which may have been on its way for long.
void KeptLockWorld::BeginTurn(Process& p, Caller& caller) {
  caller = {.does = Caller::kHolds, .token = p.token};
  Check(p.lock.turn() == ++p.turns, "turns are not counted from 1");
  Check(Believed(p.token) || p.turns == 1, "a turn began past the deadline");
  if (Believed(p.token)) {
    const auto turn = std::make_pair(p.token, p.lock.turn());
    Check(turn > std::exchange(last_, turn), "a turn's token is not above the last");
  }
  if (!p.asked.has_value()) return;
  Check(++*p.asked <= kLimits.turns, "more turns than the limit, once asked");
  Check(now_ < p.asked_at + kLimits.time, "a turn after the limit of time, once asked");
}

void KeptLockWorld::Hear(Process& p) {
  const auto [answer, token] = p.answers.front();
  p.answers.erase(p.answers.begin());
  if (answer != Answer::kGranted) return Do(p, p.lock.OnRefused(), answer);
  p.token = token;
  p.turns = 0;
  p.asked.reset();
  Do(p, p.lock.OnGranted(std::exchange(p.last, token) + 1 == token));
}

void KeptLockWorld::HearNews(Process& p) {
  const auto [token, sight] = std::exchange(p.news, {}).front();
  if (token == p.token) Learn(p, sight);
}

// By a listing that shows nobody, and then by the watch's event, whoever is there when it comes.
// Once it knows that others wait it looks no more.
void KeptLockWorld::Learn(Process& p, Sight sight) {
  using Others = KeptLock::Others;
  const Others knew = p.lock.others();
  if (sight == Sight::kNothing) {
    Do(p, p.lock.OnBlind(now_));
  } else if (knew == Others::kNone) {
    Do(p, p.lock.OnChanged(now_));
  } else {
    Do(p, p.lock.OnOthers(sight == Sight::kOthers, now_));
  }
  if (knew == Others::kWait || p.lock.others() != Others::kWait || p.token == 0) return;
  p.looks = 0;
  p.asked = 0;
  p.asked_at = now_;
}

// Unless it is wanted again meanwhile.
void KeptLockWorld::Withdraw(Process& p) {
  const int join = p.withdraws.front();
  p.withdraws.erase(p.withdraws.begin());
  const bool latest = join == p.joins;
  if (latest && p.lock.OnWithdraw()) p.requests.emplace_back(Asks::kWithdraw, 0);
}

// ---- the queue's nodes --------------------------------------------------------------------------

template <typename F>
bool KeptLockWorld::Drop(F which) {
  const auto from = std::remove_if(queue_.begin(), queue_.end(), which);
  const bool some = from != queue_.end();
  queue_.erase(from, queue_.end());
  return some;
}

void KeptLockWorld::Serve(size_t process) {
  Process& p = processes_[process];
  const auto [asks, token] = p.requests.front();
  p.requests.erase(p.requests.begin());
  if (asks == Asks::kDelete) Drop([token = token](const Node& n) { return n.token == token; });
  if (asks == Asks::kWithdraw) Refuse(process, Answer::kWithdrawn);
  const bool busy = asks == Asks::kTry && !queue_.empty();
  if (busy) p.answers.emplace_back(Answer::kBusy, 0);
  const bool joins = asks == Asks::kJoin || (asks == Asks::kTry && !busy);
  if (joins) queue_.push_back({++tokens_, process});
  GrantFirst();
}

// If it still waits.
void KeptLockWorld::Refuse(size_t process, Answer why) {
  const bool waited = Drop([&](const Node& n) { return n.process == process && !n.granted; });
  if (waited) processes_[process].answers.emplace_back(why, 0);
}

// The lease of a node lapses before the servers drop that; a join may just fail.
void KeptLockWorld::Fail(size_t node) {
  --budget_.faults;
  if (queue_[node].granted) return End(queue_[node].token);
  Refuse(queue_[node].process, Answer::kFailed);
}

// A listing without the own node is heeded by nobody.
KeptLockWorld::Sight KeptLockWorld::SightFor(Token token) const {
  const auto own = [&](const Node& n) { return n.token == token; };
  if (std::ranges::none_of(queue_, own)) return Sight::kNothing;
  return std::ranges::all_of(queue_, own) ? Sight::kNobody : Sight::kOthers;
}

void KeptLockWorld::GrantFirst() {
  if (queue_.empty() || std::exchange(queue_.front().granted, true)) return;
  processes_[queue_.front().process].answers.emplace_back(Answer::kGranted, queue_.front().token);
}

// ---- rules --------------------------------------------------------------------------------------

void KeptLockWorld::CheckNow() {
  int believers = 0;
  for (const Process& p : processes_) {
    Check(p.lock.state() != State::kIdle || !p.asked.has_value(), "idle, and knows who waits");
    for (const Caller& caller : p.callers) {
      if (caller.does != Caller::kHolds || !Believed(caller.token)) continue;
      Check(++believers == 1, "two believe at once");
      Check(!queue_.empty() && queue_.front().token == caller.token, "believed without a node");
    }
  }
}

// Nothing is under way, and nobody holds.
void KeptLockWorld::CheckEnd() {
  for (const Process& p : processes_) {
    Check(p.lock.state() == State::kNone || p.lock.state() == State::kIdle, "waits for nothing");
    for (const Caller& c : p.callers) Check(c.does == Caller::kAway, "never answered");
  }
  for (const Node& n : queue_) {
    Check(processes_[n.process].token == n.token, "a node left behind");
  }
}

// ---- what can happen ----------------------------------------------------------------------------

void KeptLockWorld::ForEachNext(Visit visit) const {
  bool owed = ForEachOfNodes(visit);
  for (size_t i = 0; i < processes_.size(); ++i) {
    owed |= ForEachOfProcess(visit, i);
    owed |= ForEachOfCallers(visit, i);
  }
  if (!owed) Make(visit, {"nothing more happens", 0}, [](KeptLockWorld& w) { w.CheckEnd(); });
  if (budget_.jumps == 0) return;
  Make(visit, {"time passes", 0}, [](KeptLockWorld& w) {
    w.now_ = w.now_ + kLimits.time;
    --w.budget_.jumps;
  });
}

template <typename F>
void KeptLockWorld::Make(Visit visit, Move move, F does) const {
  KeptLockWorld next = *this;
  does(next);
  next.CheckNow();
  visit(move, std::move(next));
}

bool KeptLockWorld::ForEachOfNodes(Visit visit) const {
  bool owed = false;
  for (size_t i = 0; i < queue_.size(); ++i) {
    const auto& [token, process, granted] = queue_[i];
    if (!Believed(token)) {
      owed = true;
      Make(visit, {"has its node dropped by the servers", process},
           [token = token](KeptLockWorld& w) {
             w.Drop([token](const Node& n) { return n.token == token; });
             w.GrantFirst();
           });
    } else if (budget_.faults > 0) {
      Make(visit, {granted ? "has its lease lapse" : "has its join fail", process},
           [i](KeptLockWorld& w) { w.Fail(i); });
    }
  }
  return owed;
}

bool KeptLockWorld::ForEachOfProcess(Visit visit, size_t process) const {
  bool owed = false;
  const auto may = [&](const char* what, auto does) {
    Make(visit, {what, process}, [&](KeptLockWorld& w) { does(w, w.processes_[process]); });
  };
  const auto will = [&](bool can, const char* what, auto does) {
    owed |= can;
    if (can) may(what, does);
  };
  using W = KeptLockWorld;
  const Process& its = processes_[process];
  const Sight sight = SightFor(its.looks);
  const bool lists = its.looks != 0 && its.news.empty() && sight != Sight::kNothing;
  will(!its.requests.empty(), "is served", [&](W& w, Process&) { w.Serve(process); });
  will(!its.answers.empty(), "is answered", [](W& w, Process& p) { w.Hear(p); });
  will(!its.withdraws.empty(), "withdraws a join", [](W& w, Process& p) { w.Withdraw(p); });
  will(lists && its.told != sight, "lists who waits", [sight](W&, Process& p) {
    p.told = sight;
    p.news = {{p.looks, sight}};
  });
  will(!its.news.empty(), "hears of that", [](W& w, Process& p) { w.HearNews(p); });
  will(its.token != 0 && !Believed(its.token), "hears of its lease's end",
       [](W& w, Process& p) { w.Do(p, p.lock.OnEnded()); });
  const bool idle = its.lock.state() == State::kIdle;
  if (lists && its.told == Sight::kNobody) {
    may("hears that another has come and gone",
        [](W& w, Process& p) { w.Learn(p, Sight::kNobody); });
  }
  if (lists && budget_.faults > 0) {
    may("is denied the listing", [](W& w, Process& p) {
      --w.budget_.faults;
      w.Learn(p, Sight::kNothing);
    });
  }
  if (idle && budget_.jumps > 0) {
    may("checks whether it is quiet", [](W& w, Process& p) {
      --w.budget_.jumps;
      w.Do(p, p.lock.OnQuietCheck());
    });
  }
  return owed;
}

bool KeptLockWorld::ForEachOfCallers(Visit visit, size_t process) const {
  bool owed = false;
  bool enters = true;  // one of them is as good as another
  for (size_t i = 0; i < processes_[process].callers.size(); ++i) {
    const auto make = [&](const char* what, auto does) {
      Make(visit, {what, process}, [&](KeptLockWorld& w) {
        does(w, w.processes_[process], w.processes_[process].callers[i]);
      });
    };
    using W = KeptLockWorld;
    switch (processes_[process].callers[i].does) {
      case Caller::kHolds:
        owed = true;
        make("ends a turn", [](W& w, Process& p, Caller& c) { w.EndTurn(p, c); });
        break;
      case Caller::kWaits:
        make("has a caller that gives up", [](W& w, Process& p, Caller& c) { w.GiveUp(p, c); });
        break;
      case Caller::kAway:
        if (!std::exchange(enters, false)) break;
        if (budget_.acquires > 0)
          make("acquires", [](W& w, Process& p, Caller& c) { w.Enter(p, c, false); });
        if (budget_.tries > 0)
          make("tries", [](W& w, Process& p, Caller& c) { w.Enter(p, c, true); });
        break;
    }
  }
  return owed;
}

}  // namespace zkrecipes::recipes::machine
