// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MODEL_SERVER_H_
#define ZKRECIPES_LIB_QUEUE_MODEL_SERVER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/zk/types.h"

namespace zkrecipes::queue {

// For tests: an honest ensemble in a few lines. One tree, sessions, one-shot watches; a request is
// executed when the caller says so. Every write, refused ones included, goes through one order.
class ModelServer {
 public:
  struct Node {
    zk::SessionId owner = 0;
    int64_t czxid = 0;
    int32_t next_sequence = 0;  // of its children
    bool is_container = false;
  };
  struct Fired {
    zk::SessionId session = 0;
    std::string path;
  };

  zk::SessionId Open();
  bool Alive(zk::SessionId session) const { return alive_.count(session) > 0; }
  // Deletes the session's nodes; its own watches fire too, before the connection goes.
  void Expire(zk::SessionId session);

  // REQUIRES: the session is alive.
  zk::Reply Execute(zk::SessionId session, const zk::Request& request);

  // By an operator. False if there is no such node.
  bool Delete(const std::string& path);
  // Containers that have had children and are empty now go, as they do once a minute.
  void Reap();

  // What a connection brings with it and takes away.
  bool Watch(zk::SessionId session, const std::string& path);  // false: no such node
  void ForgetWatches(zk::SessionId session);
  std::vector<Fired> TakeFired() { return std::exchange(fired_, {}); }

  const std::map<std::string, Node>& tree() const { return tree_; }
  const std::set<std::pair<std::string, zk::SessionId>>& watches() const { return watches_; }
  std::vector<std::string> Children(const std::string& parent) const;

 private:
  class Executor;

  std::map<std::string, Node> tree_ = {{"/", Node()}};
  std::set<zk::SessionId> alive_;
  std::set<std::pair<std::string, zk::SessionId>> watches_;
  std::vector<Fired> fired_;
  zk::SessionId last_session_ = 100;
  int64_t zxid_ = 5000;
};

bool IsWrite(const zk::Request& request);

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_MODEL_SERVER_H_
