// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_MACHINE_WORLD_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_MACHINE_WORLD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/queue/machine/contender.h"
#include "lib/session/machine/watch_table.h"
#include "testing/memory/model_ensemble.h"
#include "verification/explore/sets.h"

namespace zkrecipes::explore {

namespace memory = testing::memory;

// A value of which every part that counts is in Tie(): those are hashed.
template <typename H, typename T>
requires requires(const T& value) { value.Tie(); }
H AbslHashValue(H h, const T& value) { return H::combine(std::move(h), value.Tie()); }

class MachineWorld;

// The watch that a request sets, if it sets one.
std::optional<zk::Watch> WatchOf(const zk::Request& request);

// One thing that can happen in a MachineWorld: what it does is in the table of transitions.cc.
struct Transition {
  enum class Kind : uint8_t {
    // The ordinary course.
    kExecute,
    kDrop,
    kApply,
    kConnect,
    kDeliver,
    kRelease,
    kFollow,
    kRetry,
    kOwnWatch,
    kDelay,
    // Faults. Those up to kGiveUp are the rough ones.
    kBreak,
    kExpire,
    kGiveUp,
    kLapse,
    kElect,
    kReap,
    kOperatorDelete,
  };
  Kind kind = Kind::kConnect;
  uint16_t who = 0;
  uint16_t which = 0;  // kConnect: the server

  // A free choice of the holder.
  bool IsChoice() const { return kind == Kind::kRelease || kind == Kind::kFollow; }
  bool IsFault() const { return kind >= Kind::kBreak; }
  friend bool operator==(const Transition&, const Transition&) = default;
};

// A line of the table in transitions.cc.
struct TransitionRow {
  enum class Whose { kEnsemble, kServer, kConnection, kClient, kContestant };

  Transition::Kind kind;
  Whose whose;  // what Transition::who counts
  bool local;   // concerns one client and its contestants, but neither servers nor connections
  const char* story;  // # is `who`, % is `which`
  bool (*can)(const MachineWorld& world, Transition transition);
  void (*take)(MachineWorld& world, Transition transition);
};

// Contenders in sessions over connections that break, on a model ensemble: a value that copies and
// hashes, in which whatever can happen next is a transition that the caller picks. What a contender
// must never do, and what must hold in the tree, is checked at every transition: the first
// violation says what was wrong, and the story ends there.
//
// There is no time: a timer may fire at any moment, and a wait may end at any moment.
class MachineWorld {
 public:
  static const TransitionRow kTransitions[];  // transitions.cc

  // The beginning of a set's stories: each client is connected, and each contestant wants the lock.
  // `set` outlives it.
  explicit MachineWorld(const NamedSet& set);

  // Appends what can happen next. If there is nothing, the story is over: see CheckEnd.
  void List(std::vector<Transition>& transitions) const;
  bool CanTake(const Transition& transition) const;
  // For a person to read; before it is taken.
  std::string Describe(const Transition& transition) const;
  void Take(const Transition& transition);  // REQUIRES: CanTake(transition)

  // REQUIRES: only faults can happen. Every contestant must be done, and nothing be left.
  void CheckEnd();
  // REQUIRES: only faults and choices can happen. No contestant may believe what is not so.
  void CheckQuiet();
  // Empty: all is well so far.
  const std::string& violation() const { return violation_; }

 private:
  struct Contestant {
    queue::machine::Contender machine;
    queue::machine::Candidacy spec;
    int client = 0;
    bool retry_due = false;
    bool own_watch_due = false;
    queue::machine::OpId delay_due = 0;  // 0: none
    bool delayed = false;                // since its node was made
    bool told_to_leave = false;
    bool granted = false;
    bool lost = false;
    bool finished = false;
    queue::machine::Outcome outcome = queue::machine::Outcome::kNone;
    std::string node{};                          // granted
    int64_t token = 0;                           // granted
    int64_t czxid = 0;                           // granted: its node's
    zk::SessionId session = 0;                   // granted
    bool overtaken = false;                      // granted, and so was a writer since
    int guids = 0;                               // how many it was given
    std::optional<queue::machine::Mode> then{};  // may go on in this mode, as another contestant:
    int follower = -1;
    int followed = -1;  // the other way round

    auto Tie() const {
      return std::tie(machine, client, retry_due, own_watch_due, delay_due, delayed, told_to_leave,
                      granted, lost, finished, outcome, node, token, czxid, session, overtaken,
                      guids, follower, followed);
    }
  };

  struct Pending {
    int contestant = -1;  // -1: none waits for the reply
    queue::machine::OpId op = 0;
    zk::Request request;
    session::machine::WatcherId watcher = 0;

    auto Tie() const { return std::make_tuple(contestant, op, request.index(), watcher); }
  };
  using Watcher = std::pair<int, zk::Watch>;  // of a contestant
  // The state of a session and of the client library.
  struct Client {
    memory::ConnectionId connection = 0;
    bool up = false;  // greeted
    zk::SessionId session = 0;
    int64_t seen_zxid = 0;
    uint64_t last_call = 0;
    session::machine::WatcherId last_watcher = 0;
    std::map<uint64_t, Pending> pending{};
    // Watches that the client library sets again; true: of a node that was absent.
    std::map<zk::Watch, bool> registered{};
    session::machine::WatchTable table{};
    std::map<session::machine::WatcherId, Watcher> watchers{};

    auto Tie() const {
      return std::tie(connection, up, session, seen_zxid, last_call, last_watcher, pending,
                      registered, table, watchers);
    }
  };
  struct Doing;      // machine_world.cc: what a contender does
  struct Receiving;  // machine_client.cc: a message from the server

  // Contenders (machine_world.cc).
  // Once granted it may be upgraded or downgraded to `then`, by another contestant, whose
  // `followed` it is.
  void Enter(int client, const NamedSet::Role& role, int followed = -1);
  void On(int contestant, queue::machine::Event event);
  void OnAll(int client, const queue::machine::Event& event);
  void OnConnected(int contestant);
  void Violate(std::string what);
  std::vector<std::string> NodesOf(int contestant) const;  // in the leader's tree
  // Whether what a contestant is being told proves that its node is there.
  bool HasEvidence(int client, const std::string& node) const;
  bool CanBeProven(int client) const;
  bool Believes(const Contestant& contestant) const;  // to hold the lock
  bool HasLiveNode(const Contestant& contestant) const;
  void CheckGrant(const Contestant& contestant);
  void CheckDelay(const Contestant& contestant);
  void CheckRefusal(const Contestant& follower);
  void CheckExclusion();
  void CheckPermits();

  // Upgrades and downgrades (machine_client.cc).
  bool CanFollow(const Contestant& contestant) const;
  bool CanRelease(const Contestant& contestant) const;
  void Follow(int contestant);
  void TakeOver(int follower);
  void Overtake(int writer);

  // The way to the ensemble (machine_client.cc).
  void Connect(int client, int server);
  void Deliver(int client);
  void Answer(int client, const Pending& pending, const zk::Reply& reply);
  void Send(int client, Pending pending);
  void Lose(int client);
  void ForgetSession(int client);
  void RemoveServerWatch(int client, const zk::Watch& watch);
  void SetWatchesAgain(int client);
  void Fire(int client, const std::string& path, zk::WatchEvent what);

  // The transitions that are possible (transitions.cc).
  static const TransitionRow& RowOf(const Transition& transition);
  bool HasNews(const Client& client) const;
  bool AwaitsReply(int contestant) const;
  int ClientOf(TransitionRow::Whose whose, int who) const;  // -1: of none
  template <typename F>
  void ForEach(TransitionRow::Whose whose, F f) const;
  void Leave(int contestant);
  void Settle();  // takes ordinary transitions until there are none
  void Spread();

  const NamedSet* set_;
  memory::ModelEnsemble ensemble_;
  std::vector<Client> clients_;
  std::vector<Contestant> contestants_;
  int faults_ = 0;
  int begun_ = 0;  // alike: to how many clients something has happened
  int last_granted_ = -1;
  int64_t last_token_ = 0;
  std::string violation_;
  // The message that a contestant is given: a listing's children, an event, or a write's reply. No
  // part of the state.
  const zk::Names* listing_ = nullptr;
  bool by_event_ = false;
  bool by_write_ = false;

 public:
  auto Tie() const {
    return std::tie(ensemble_, clients_, contestants_, faults_, begun_, last_granted_, last_token_,
                    violation_);
  }
};

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_MACHINE_WORLD_H_
