// SPDX-License-Identifier: Apache-2.0
//
// The transitions of a MachineWorld. machine_client.cc: their effects on a client.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {

using T = Transition;
using Whose = TransitionRow::Whose;
using enum Transition::Kind;

const TransitionRow MachineWorld::kTransitions[] = {
    {kExecute, Whose::kConnection, false, "server % reads, on connection #, ",
     [](auto& w, T t) { return w.ensemble_.CanExecute(t.who); },
     [](auto& w, T t) { w.ensemble_.Execute(t.who, base::BootTime()); }},
    // Messages that client and server have not read are lost.
    {kDrop, Whose::kConnection, false, "what was still on its way on connection # is lost",
     [](auto& w, T t) {
       return std::none_of(w.clients_.begin(), w.clients_.end(),
                           [&](const Client& c) { return c.connection == t.who; });
     },
     [](auto& w, T t) { w.ensemble_.DropUnread(t.who); }},
    {kApply, Whose::kServer, false, "server # applies the next transaction",
     [](auto& w, T t) { return w.set_->Has(NamedSet::kLag) && w.ensemble_.CanApply(t.who); },
     [](auto& w, T t) { w.ensemble_.Apply(t.who); }},
    // A server that is behind the client would refuse it; without lag one is as good as another.
    {kConnect, Whose::kClient, false, "client # connects to server %",
     [](auto& w, T t) {
       const Client& c = w.clients_[t.who];
       return c.connection == 0 &&
              (w.set_->Has(NamedSet::kLag) ? w.ensemble_.last_zxid(t.which) >= c.seen_zxid
                                           : t.which == w.ensemble_.leader());
     },
     [](auto& w, T t) { w.Connect(t.who, t.which); }},
    // Its next message, or that its connection is gone.
    {kDeliver, Whose::kClient, true, "client # ",
     [](auto& w, T t) { return w.HasNews(w.clients_[t.who]); },
     [](auto& w, T t) { w.Deliver(t.who); }},
    {kRelease, Whose::kContestant, true, "contestant # releases",
     [](auto& w, T t) { return w.CanRelease(w.contestants_[t.who]); },
     [](auto& w, T t) { w.Leave(t.who); }},
    {kFollow, Whose::kContestant, true, "contestant # goes on in another mode",
     [](auto& w, T t) { return w.CanFollow(w.contestants_[t.who]); },
     [](auto& w, T t) { w.Follow(t.who); }},
    // Timers are slow: they fire when nothing is on its way.
    {kRetry, Whose::kContestant, true, "contestant # tries again",
     [](auto& w, T t) { return w.contestants_[t.who].retry_due && !w.AwaitsReply(t.who); },
     [](auto& w, T t) {
       w.contestants_[t.who].retry_due = false;
       w.On(t.who, queue::machine::event::RetryDue{});
     }},
    {kOwnWatch, Whose::kContestant, true,
     "contestant # finds that it is time to watch its own node",
     [](auto& w, T t) { return w.contestants_[t.who].own_watch_due && !w.AwaitsReply(t.who); },
     [](auto& w, T t) {
       w.contestants_[t.who].own_watch_due = false;
       w.On(t.who, queue::machine::event::OwnWatchDue{});
     }},
    {kDelay, Whose::kContestant, true, "contestant # has waited for the lock delay",
     [](auto& w, T t) { return w.contestants_[t.who].delay_due != 0 && !w.AwaitsReply(t.who); },
     [](auto& w, T t) {
       Contestant& c = w.contestants_[t.who];
       c.delayed = true;
       w.On(t.who,
            queue::machine::event::DelayOver{std::exchange(c.delay_due, queue::machine::OpId{0})});
     }},

    // ---- Faults. ----
    // Messages that the client sent may still arrive.
    {kBreak, Whose::kClient, true, "client # LOSES ITS CONNECTION",
     [](auto& w, T t) { return w.clients_[t.who].connection != 0; },
     [](auto& w, T t) { w.Lose(t.who); }},
    {kExpire, Whose::kClient, false, "THE SESSION of client # EXPIRES",
     [](auto& w, T t) { return w.ensemble_.SessionLives(w.clients_[t.who].session); },
     [](auto& w, T t) { (void)w.ensemble_.Expire(w.clients_[t.who].session, base::BootTime()); }},
    // Its timeout, its cancellation and its destruction are one to the machine.
    {kGiveUp, Whose::kContestant, true, "contestant # GIVES UP",
     [](auto& w, T t) {
       const Contestant& c = w.contestants_[t.who];
       return !c.granted && !c.told_to_leave && !c.finished;
     },
     [](auto& w, T t) { w.Leave(t.who); }},
    // No answer proves the session any more: its leases cannot be believed.
    {kLapse, Whose::kContestant, true, "the lease of contestant # LAPSES",
     [](auto& w, T t) { return w.Believes(w.contestants_[t.who]); },
     [](auto& w, T t) {
       w.On(t.who, queue::machine::event::Lapsed{});
       if (w.Believes(w.contestants_[t.who])) w.Violate("a lease goes on after it has lapsed");
     }},
    {kElect, Whose::kServer, false, "SERVER # IS ELECTED", [](auto&, T) { return true; },
     [](auto& w, T t) { w.ensemble_.ElectLeader(t.who, 0, base::BootTime()); }},
    {kReap, Whose::kEnsemble, false, "EMPTY CONTAINERS ARE REAPED", [](auto&, T) { return true; },
     [](auto& w, T) { w.ensemble_.ReapContainers(base::BootTime()); }},
    {kOperatorDelete, Whose::kContestant, false, "AN OPERATOR DELETES the node of contestant #",
     [](auto& w, T t) { return !w.NodesOf(t.who).empty(); },
     [](auto& w, T t) {
       for (const std::string& path : w.NodesOf(t.who)) {
         (void)w.ensemble_.OperatorDeletes(path, base::BootTime());
       }
     }},
};

// ---- which can happen now -----------------------------------------------------------------------

bool MachineWorld::HasNews(const Client& client) const {
  return client.connection != 0 && ensemble_.HasNews(client.connection);
}

bool MachineWorld::AwaitsReply(int contestant) const {
  return !clients_[contestants_[contestant].client].pending.empty();
}

int MachineWorld::ClientOf(Whose whose, int who) const {
  if (whose == Whose::kClient) return who;
  if (whose == Whose::kContestant) return contestants_[who].client;
  for (size_t i = 0; whose == Whose::kConnection && i < clients_.size(); ++i) {
    if (static_cast<int>(clients_[i].connection) == who) return static_cast<int>(i);
  }
  return -1;
}

template <typename F>
void MachineWorld::ForEach(Whose whose, F f) const {
  if (whose == Whose::kConnection) return ensemble_.ForEachConnection(f);
  const size_t count = whose == Whose::kClient       ? clients_.size()
                       : whose == Whose::kContestant ? contestants_.size()
                       : whose == Whose::kServer     ? static_cast<size_t>(set_->servers())
                                                     : 1;
  for (size_t i = 0; i < count; ++i) f(static_cast<uint32_t>(i));
}

void MachineWorld::List(std::vector<Transition>& transitions) const {
  if (!violation_.empty()) return;
  // A message that one client reads does not concern the others and the servers, nor the other way
  // round: whatever order the rest happens in, it could as well happen afterwards. So only what
  // this client and its contestants can do instead is tried. (A persistent set.)
  const auto reader = std::find_if(clients_.begin(), clients_.end(),
                                   [this](const Client& client) { return HasNews(client); });
  const bool only_reader = reader != clients_.end();
  const Transition::Kind last_fault = set_->Has(NamedSet::kRough) ? kGiveUp : kOperatorDelete;
  const Transition::Kind last = faults_ < set_->most_faults ? last_fault : kDelay;
  for (const TransitionRow& row : kTransitions) {
    if (row.kind > last || (only_reader && !row.local)) continue;
    ForEach(row.whose, [&](uint32_t who) {
      const int client = ClientOf(row.whose, static_cast<int>(who));
      if (only_reader && client != reader - clients_.begin()) return;
      if (set_->Has(NamedSet::kAlike) && client > begun_) return;
      Transition transition{row.kind, static_cast<uint16_t>(who)};
      const int each = row.kind == kConnect ? set_->servers() : 1;
      for (; transition.which < each; ++transition.which) {
        if (row.can(*this, transition)) transitions.push_back(transition);
      }
    });
  }
}

bool MachineWorld::CanTake(const Transition& transition) const {
  std::vector<Transition> all;
  List(all);
  return std::find(all.begin(), all.end(), transition) != all.end();
}

const TransitionRow& MachineWorld::RowOf(const Transition& transition) {
  return kTransitions[static_cast<size_t>(transition.kind)];
}

// ---- and what comes of it -----------------------------------------------------------------------

void MachineWorld::Take(const Transition& transition) {
  const TransitionRow& row = RowOf(transition);
  begun_ = std::max(begun_, ClientOf(row.whose, transition.who) + 1);
  if (transition.IsFault()) ++faults_;
  row.take(*this, transition);
  Spread();
  CheckExclusion();
}

void MachineWorld::Settle() {
  for (std::vector<Transition> all;; all.clear()) {
    List(all);
    const auto ordinary = std::find_if(
        all.begin(), all.end(), [](const Transition& t) { return !t.IsChoice() && !t.IsFault(); });
    if (ordinary == all.end()) break;
    Take(*ordinary);
  }
  begun_ = 0;
}

void MachineWorld::Leave(int contestant) {
  contestants_[contestant].told_to_leave = true;
  On(contestant, queue::machine::event::Leave{});
}

// The quorum agrees at once; the others may lag behind the leader.
void MachineWorld::Spread() {
  if (!set_->Has(NamedSet::kLag)) return ensemble_.Spread();
  while (ensemble_.CanCommit()) ensemble_.Commit();
}

// ---- how it reads -------------------------------------------------------------------------------

namespace {

namespace wire = memory::wire;

struct Incoming {
  std::string operator()(const wire::Welcome& m) const {
    return absl::StrCat("is welcome in session ", m.session);
  }
  std::string operator()(const wire::Expired&) const { return "hears that its session is gone"; }
  std::string operator()(const wire::Pong&) const { return "reads a pong"; }
  std::string operator()(const wire::Fired& m) const {
    return absl::StrCat("hears that ", m.path,
                        m.what == zk::WatchEvent::kDeleted ? " was deleted" : " has changed");
  }
  std::string operator()(const wire::Answer& m) const {
    std::string text = absl::StrCat("reads an answer: ", zk::CodeName(m.reply.code));
    if (!m.reply.path.empty()) absl::StrAppend(&text, ", ", m.reply.path);
    if (!m.reply.children.empty()) {
      absl::StrAppend(&text, ", ", absl::StrJoin(m.reply.children, " "));
    }
    return text;
  }
};

struct Outgoing {
  std::string operator()(const wire::Hello& m) const {
    return m.session == 0 ? "a hello" : absl::StrCat("a hello of session ", m.session);
  }
  std::string operator()(const wire::SetWatches& m) const {
    return absl::StrCat("watches to be set again: ", absl::StrJoin(m.paths, " "));
  }
  std::string operator()(const wire::Credential&) const { return "a credential"; }
  std::string operator()(const wire::Ping&) const { return "a ping"; }
  std::string operator()(const wire::EndSession&) const { return "the end of the session"; }
  std::string operator()(const wire::Call& m) const {
    return absl::StrCat(zk::OperationName(m.request), " ", zk::PathOf(m.request));
  }
};

}  // namespace

std::string MachineWorld::Describe(const Transition& transition) const {
  const bool executes = transition.kind == kExecute;
  const int number = executes ? ensemble_.ServerOf(transition.who) : transition.which;
  std::string text = absl::StrReplaceAll(
      RowOf(transition).story, {{"#", absl::StrCat(transition.who)}, {"%", absl::StrCat(number)}});
  if (executes) text += std::visit(Outgoing(), *ensemble_.NextOf(transition.who));
  if (transition.kind == kDeliver) {
    const auto* message = ensemble_.NextFor(clients_[transition.who].connection);
    text +=
        message == nullptr ? "sees that its connection is gone" : std::visit(Incoming(), *message);
  }
  return text;
}

}  // namespace zkrecipes::explore
