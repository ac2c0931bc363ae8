// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_MODEL_ENSEMBLE_H_
#define ZKRECIPES_TESTING_MEMORY_MODEL_ENSEMBLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/zk/seam/types.h"
#include "testing/memory/model_parts.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {

// In what servers differ, as far as clients can see it; by default ZooKeeper 3.8 as it is
// configured by default. docs/servers.md says which source each of them is taken from.
struct ServerTraits {
  bool zxid_in_events = false;  // 3.9: the header of a watch event has the zxid of the change
  // Containers that never had a child are deleted when they are older (3.6; by default never before
  // 3.10).
  absl::Duration longest_unused_container = absl::InfiniteDuration();
  // Of as many requests one is refused as throttled (3.7), or has its connection closed instead
  // (3.6: a stale request; 3.10: an operator sheds connections). 0: none. Real servers count no
  // requests.
  int throttled_of = 0;
  int shed_of = 0;
  bool exists_needs_read = false;  // 3.8.4 and 3.9.2: exists is refused to those who may not read

  // ClickHouse Keeper. The library refuses a server that says so: nothing else of it is modelled.
  bool says_it_is_keeper = false;

  static ServerTraits ZooKeeper39() { return {.zxid_in_events = true}; }
  static ServerTraits ZooKeeper310() {
    return {.zxid_in_events = true,
            .longest_unused_container = absl::Minutes(5),
            .exists_needs_read = true};
  }
  static ServerTraits ClickHouseKeeper() { return {.says_it_is_keeper = true}; }
};

struct ModelOptions {
  int servers = 3;
  absl::Duration tick = absl::Milliseconds(500);
  int sync_limit = 6;  // ticks after which a follower that is cut off stops serving
  absl::Duration min_session_timeout = absl::Seconds(1);
  absl::Duration max_session_timeout = absl::Minutes(1);
  absl::Duration container_check_interval = absl::Minutes(1);
  bool keep_history = false;  // see ModelEnsemble::history
  // Sessions end as early as ZooKeeper may end them, not at the next tick, and a moment after it
  // was decided: see CloseDue.
  bool hostile_expiry = false;
  // An address that a server has left drops every packet; otherwise it refuses connections.
  bool old_addresses_drop = false;
  ServerTraits traits = {};
};

// The behaviour of a ZooKeeper ensemble, 3.8 unless its traits say otherwise, as a value: it
// copies, compares and hashes; it has no clock, no thread and no callback. The caller decides what
// happens next: a request is read by its server, the oldest proposal is committed, a server applies
// the next transaction, time passes, or something breaks. Whatever has not happened yet is data:
// messages on the wires, proposals that no quorum has seen, transactions that a follower has not
// applied.
//
//   client --Send--> wire --Execute--> read: the server's own tree ------------> wire --Receive-->
//                                      write: proposal --Commit--> log --Apply--> wire --Receive-->
//
// A write is checked, numbered and ordered when it is executed (against all earlier proposals), and
// answered when the server of its connection applies it. Servers are numbered from 0; 0 leads
// first.
class ModelEnsemble {
 public:
  explicit ModelEnsemble(const ModelOptions& options = {});

  // ---- A client's end of a connection -----------------------------------------------------------

  // 0 if no server listens there. REQUIRES of the others: the connection is there until its client
  // hangs up.
  ConnectionId Connect(int address, wire::Hello hello);
  void Send(ConnectionId id, ToServer message);
  std::optional<ToClient> Receive(ConnectionId id);
  // The server has closed its end: what has come is all that will ever come.
  bool ServerHungUp(ConnectionId id) const { return !connections_.at(id).server_open; }
  // A message has come, or the server has closed its end.
  bool HasNews(ConnectionId id) const {
    const Connection& connection = connections_.at(id);
    return !connection.to_client.empty() || !connection.server_open;
  }
  // Messages to the client are lost; those from the client are still on their way.
  void HangUp(ConnectionId id);

  // ---- What happens next ------------------------------------------------------------------------

  // The next message for this connection's server, or client. Null: none yet, or the end.
  const ToServer* NextOf(ConnectionId id) const {
    const auto& queue = connections_.at(id).to_server;
    return queue.empty() ? nullptr : &queue.front();
  }
  const ToClient* NextFor(ConnectionId id) const {
    const auto& queue = connections_.at(id).to_client;
    return queue.empty() ? nullptr : &queue.front();
  }
  // The server reads the next message of this connection.
  bool CanExecute(ConnectionId id) const { return CanExecute(connections_.at(id)); }
  // The first connection after this one of which its server can read a message. 0: none.
  ConnectionId NextToExecute(ConnectionId after) const;
  void Execute(ConnectionId id, base::BootTime now);  // REQUIRES: CanExecute(id)
  // The quorum agrees on the oldest proposal; the leader applies it.
  bool CanCommit() const { return !outstanding_.empty() && HasQuorum() && QuorumAnswers(); }
  void Commit();  // REQUIRES: CanCommit()
  // A server applies the next transaction.
  bool CanApply(int server) const {
    const Server& s = servers_[Index(server)];
    return s.applied < LogEnd() && !s.cut_off && !s.deaf && !s.still;
  }
  void Apply(int server);  // REQUIRES: CanApply(server)
  // Both, as far as they go, on all servers.
  void Spread();

  // The leader closes a session whose time was over: what it has heard of it since does not help.
  // With hostile_expiry only; the next Tick closes those that are left.
  bool CanCloseDue() const;
  void CloseDue();  // REQUIRES: CanCloseDue()

  // Goes on until this connection's messages are read and answered, as far as possible.
  void Finish(ConnectionId id, base::BootTime now);

  // Does all that is due: sessions expire, servers give up, empty containers go.
  void Tick(base::BootTime now);
  // `at_most`: nothing is due before that.
  base::BootTime NextDeadline(base::BootTime at_most = base::BootTime::InfiniteFuture()) const;

  // ---- Faults and operators ---------------------------------------------------------------------

  // The server's end breaks: what it has not read is never executed.
  void DropUnread(ConnectionId id);
  // As if the session had been silent for too long. False if there is no such session.
  bool Expire(zk::SessionId session, base::BootTime now);
  // The first `kept` proposals are committed, the others never happened. A new epoch; every session
  // gets its whole timeout; every connection to a server that takes part is closed.
  // REQUIRES: the server is up and not cut off.
  void ElectLeader(int server, size_t kept, base::BootTime now);
  // Cut off from the others, a server goes on answering reads until its sync limit; then it serves
  // no client until it is healed. Cutting off the leader stops all writes until another one is
  // elected.
  void CutOff(int server, base::BootTime now);
  // A leader that had lost its quorum is elected again.
  void Heal(int server, base::BootTime now);
  // The server's process ends: its connections close, and it serves nobody until it is healed.
  void Crash(int server, base::BootTime now);
  // From now on it listens at another address than before. At first addresses are the numbers of
  // the servers. No connection ends by this.
  void MoveAway(int server) { ++servers_[Index(server)].moves; }
  // Messages between a follower and the leader stop on their way, in either direction, and go on in
  // their order when it is over: no connection is closed. No effect on the leader, nor on a server
  // that is cut off.
  void Stall(int server, bool from_leader, bool to_leader, base::BootTime now);
  // A server stands still, as a stopped process does: it accepts connections, and does and says
  // nothing until it goes on. Its links to the others stay.
  void StandStill(int server, bool still, base::BootTime now);
  // From now on the leader pings that often; at first twice a tick.
  void SetPingGap(absl::Duration gap, base::BootTime now);
  // From now on followers note only every second request of a session as a sign of life.
  void set_loses_touches(bool loses) { loses_touches_ = loses; }
  // From now on each new connection finds ClickHouse Keeper, or no longer does.
  void set_keeper(bool keeper) { options_.traits.says_it_is_keeper = keeper; }
  // No request is throttled or shed any more. Whether any could have been.
  bool refused_some() const { return counted_ > 0; }
  void RefuseNothing() { options_.traits.throttled_of = options_.traits.shed_of = 0; }
  // Without a session: neither ACL nor owner matter. False: ZooKeeper refuses it.
  bool OperatorDeletes(const std::string& path, base::BootTime now);
  bool OperatorCreates(const std::string& path, Node node, base::BootTime now);
  bool OperatorSetsData(const std::string& path, const std::string& data);
  bool OperatorSetsAcl(const std::string& path, std::vector<zk::AclEntry> acl);  // {}: open to all
  void ReapContainers(base::BootTime now);
  // As after a restart of the servers with other settings: from the next (re)connection on.
  void set_max_session_timeout(absl::Duration max) { options_.max_session_timeout = max; }
  // For tests of the end of the numbers. REQUIRES: the node is there, on all servers.
  void SetNextSequence(const std::string& path, int32_t next);

  // ---- Observers --------------------------------------------------------------------------------

  const ModelOptions& options() const { return options_; }
  int servers() const { return static_cast<int>(servers_.size()); }
  int leader() const { return leader_; }
  bool IsCutOff(int server) const { return servers_[Index(server)].cut_off; }
  int AddressOf(int server) const { return servers_[Index(server)].moves * servers() + server; }
  bool Answers(int address) const {
    return !options_.old_addresses_drop || address == AddressOf(ServerAt(address));
  }
  // The server that is, or was, at this address.
  int ServerAt(int address) const { return address % servers(); }
  const Tree& tree(int server) const { return servers_[Index(server)].tree; }
  const Tree& committed() const { return tree(leader_); }
  int64_t last_zxid(int server) const { return servers_[Index(server)].zxid; }
  size_t proposals() const { return outstanding_.size(); }
  // The committed transactions that are kept: all of them, or those that a server still lacks.
  const std::deque<Transaction>& history() const { return log_; }
  bool SessionLives(zk::SessionId session) const;
  base::BootTime DeadlineOf(zk::SessionId session) const;  // the leader's. REQUIRES: it lives
  std::vector<ConnectionId> connections() const;           // of which either end is open
  template <typename F>  // calls f(id) for each of them; f must not add or close any
  void ForEachConnection(F f) const {
    for (const auto& [id, connection] : connections_) f(id);
  }
  bool Exists(ConnectionId id) const { return connections_.count(id) > 0; }
  zk::SessionId SessionOf(ConnectionId id) const { return connections_.at(id).session; }
  int ServerOf(ConnectionId id) const { return connections_.at(id).server; }
  ConnectionId connections_made() const { return last_connection_; }  // ever
  size_t watches() const { return Watches().size(); }                 // on all servers
  std::vector<std::pair<zk::SessionId, std::string>> Watches() const;

 private:
  struct Preparation;  // leader.cc
  struct Executing;    // server.cc

  using Server = parts::Server;
  using Session = parts::Session;
  using Connection = parts::Connection;

  static size_t Index(int server) { return static_cast<size_t>(server); }
  bool HasQuorum() const;
  bool QuorumAnswers() const;
  void StopServing(int server);
  bool Reaches(int server) const;  // the leader, and with it a quorum
  size_t LogEnd() const { return log_begin_ + log_.size(); }

  // Connections (model_ensemble.cc)
  bool CanExecute(const Connection& connection) const;
  void CloseServerEnd(Connection& connection);
  void ForgetIfClosed(ConnectionId id);
  void ForgetTouches(int server);

  // Sessions and time (sessions.cc)
  void Touch(zk::SessionId session, int server, base::BootTime now);
  void Ping(base::BootTime now);
  void Collect(Session& session, int server, base::BootTime when);
  void Hear(Session& session, int server, base::BootTime when);
  bool HearsPings(int server) const;
  base::BootTime Bucket(base::BootTime time) const;
  base::BootTime DeadlineOf(const Session& session) const;
  absl::Duration Negotiated(absl::Duration asked) const;
  bool IsReapable(const Node& node, base::BootTime now) const;
  void TrimLog();

  // A server at work (server.cc, applying.cc)
  void ApplyChange(int number, const Transaction& change);
  void ApplyDelete(int number, const std::string& path, int64_t zxid);
  void ApplyClose(int number, const Transaction& txn);
  void AnswerOrigin(int number, const Transaction& txn);
  bool Refuses(ConnectionId id, const ToServer& message);
  void Fire(int number, const std::string& path, zk::WatchEvent what);

  // The leader (leader.cc)
  int64_t NextZxid() const { return epoch_ << 32 | (counter_ + 1); }
  void Propose(Transaction txn);
  void Prepare(Transaction& txn);
  zk::Code PrepareMulti(const Connection& connection, const zk::Multi& multi, base::BootTime now,
                        Transaction& txn);
  void LogOldestProposal();
  void ProposeClose(zk::SessionId session, Session& state, ConnectionId origin);
  void ProposeCall(ConnectionId id, Connection& connection, const wire::Call& call,
                   base::BootTime now);
  int32_t NextSequence(const std::string& parent) const;
  bool OperatorChanges(const std::string& path, Transaction::Kind kind, Node node);

  ModelOptions options_;
  std::vector<Server> servers_;
  int leader_ = 0;
  int64_t epoch_ = 1;
  int64_t counter_ = 0;
  std::deque<Transaction> log_;  // those that not every server has applied
  size_t log_begin_ = 0;         // how many came before them
  std::deque<Transaction> outstanding_;
  // The tree with all proposals, and the sequence numbers they leave behind: past the end of the
  // numbers they go on in the proposals, but stick in the tree.
  Tree prepared_;
  std::map<std::string, int32_t> prepared_sequences_;
  std::map<zk::SessionId, Session> sessions_;
  std::map<ConnectionId, Connection> connections_;
  zk::SessionId last_session_ = 0x1000;
  ConnectionId last_connection_ = 0;
  base::BootTime next_reaping_;
  uint64_t counted_ = 0;  // requests, if one of a number is throttled or shed
  bool loses_touches_ = false;
  absl::Duration ping_gap_;
  base::BootTime last_ping_;
  base::BootTime next_ping_;

  auto Tie() const {
    return std::tie(servers_, leader_, epoch_, counter_, log_, log_begin_, outstanding_, prepared_,
                    last_session_, last_connection_, next_reaping_, counted_, loses_touches_,
                    ping_gap_, last_ping_, next_ping_);
  }
  auto Maps() const { return std::tie(prepared_sequences_, sessions_, connections_); }
  template <typename H, typename Map>
  static H Hash(H h, const Map& map) {
    for (const auto& [key, value] : map) h = H::combine(std::move(h), key, value);
    return H::combine(std::move(h), map.size());
  }

 public:
  friend bool operator==(const ModelEnsemble& a, const ModelEnsemble& b) {
    return a.Tie() == b.Tie() && a.Maps() == b.Maps();
  }
  template <typename H>
  friend H AbslHashValue(H h, const ModelEnsemble& m) {
    h = Hash(std::move(h), m.prepared_sequences_);
    h = Hash(std::move(h), m.sessions_);
    h = Hash(std::move(h), m.connections_);
    return H::combine(std::move(h), m.Tie());
  }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_MODEL_ENSEMBLE_H_
