// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MODEL_WORLD_H_
#define ZKRECIPES_LIB_QUEUE_MODEL_WORLD_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/queue/contender.h"
#include "lib/queue/model_server.h"
#include "lib/session/watch_table.h"

namespace zkrecipes::queue {

// For tests: contenders in sessions over connections that break, and a model server behind them.
// Every step is the caller's choice. What a contender must never do fails the test at once: send
// without a connection; be granted twice, after Leave, without a listing of its session that shows
// its node, or while the tree has somebody in front; do anything after Finished, or say it while a
// node of it is there or may still come.
class ModelWorld {
 public:
  struct Contestant {
    Contender machine;
    ContenderSpec spec;
    int client = 0;
    bool retry_due = false;
    bool own_watch_due = false;
    bool told_to_leave = false;
    bool granted = false;
    bool lost = false;
    bool finished = false;
    Outcome outcome = Outcome::kNone;
    OpId last_op = 0;
    int woken = 0;                        // by the end of nodes that are not its own
    std::vector<std::string> guids = {};  // that it has used
    std::vector<std::string> seen = {};   // in the last listing of this session
  };

  // Returns the index of the new client or contestant. A client starts unconnected.
  int AddClient();
  int Enter(int client, const ContenderSpec& spec);

  // Steps: each returns false if it is not possible now.
  bool Execute(int client);   // the server executes the oldest request on its way
  bool Deliver(int client);   // the oldest reply or watch event arrives
  bool Throttle(int client);  // the server refuses the oldest request, unexecuted
  // The connection is lost. Of the requests on their way the first `executed` were executed, and
  // `late` more will be: at the latest before the next write of the session. Replies are lost.
  bool Drop(int client, size_t executed = 0, size_t late = 0);
  bool ApplyLate(int client);
  bool Reconnect(int client);       // or hears that the session is gone, then opens a new one
  bool Expire(int client);          // on the server; the client hears of it when it reconnects
  bool ReplaceSession(int client);  // expires, and a new one is there without a word
  bool Retry(int contestant);       // its timers
  bool WatchOwnNode(int contestant);
  bool Leave(int contestant);
  bool Lapse(int contestant);
  bool DeleteNode(int contestant);  // by an operator
  void Reap() { server_.Reap(); }
  // Replies to what is not outstanding: nothing may come of them.
  bool StaleReplies(int contestant);

  // No more faults: everything on its way arrives, connections come back, timers fire. False if
  // it never ends.
  bool Settle();
  // Settles, has every holder leave, and so on until all are done. What is left then, a contestant
  // that waits for ever or a node or a watch, fails the test.
  void EndQuietly();

  Contestant& contestant(int i) { return contestants_[i]; }
  int contestants() const { return static_cast<int>(contestants_.size()); }
  int clients() const { return static_cast<int>(clients_.size()); }
  bool connected(int client) const { return clients_[client].connected; }
  bool SessionIsAlive(int client) const { return server_.Alive(clients_[client].session); }
  size_t on_their_way(int client) const { return clients_[client].wire.size(); }
  const ModelServer& server() const { return server_; }

 private:
  struct Sent {
    int contestant = -1;  // -1: nobody waits for the reply
    OpId op = 0;
    zk::Request request;
    session::WatcherId watcher = 0;
  };
  struct Delivery {
    Sent sent;
    zk::Reply reply;
    std::string fired;  // the path of a watch event; else it is a reply
  };
  struct Watcher {
    int contestant = 0;
    std::string path;
  };
  struct Client {
    zk::SessionId session = 0;
    bool connected = false;
    std::deque<Sent> wire;
    std::deque<Delivery> inbox;
    std::deque<zk::Request> late;
    std::set<std::string> registered;  // watches that the client library sets again
    session::WatchTable table;
    std::map<session::WatcherId, Watcher> watchers;
  };
  class Doing;

  void Feed(int contestant, const Event& event);
  void FeedAll(int client, const Event& event);
  void FeedConnected(int contestant);
  void Arrive(Client& client, const Delivery& delivery);
  void ArriveFired(Client& client, const std::string& path);
  void RemoveServerWatch(Client& client, const std::string& path);
  void FlushLate(Client& client);
  void FailEverythingOnItsWay(int client);
  void ForgetSession(Client& client);
  void SetWatchesAgain(Client& client);
  void SpreadFired();
  bool SettleOnce();
  bool MayStillBeCreated(const Contestant& contestant) const;
  std::vector<std::string> NodesInTree(const Contestant& contestant) const;
  void ExpectNobodyInFront(const Contestant& contestant, const std::string& node) const;

  ModelServer server_;
  std::deque<Client> clients_;
  std::deque<Contestant> contestants_;
  session::WatcherId last_watcher_ = 0;
  int last_guid_ = 0;
};

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_MODEL_WORLD_H_
