// SPDX-License-Identifier: Apache-2.0

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "bench/contestant.h"

namespace bench {
namespace {

constexpr int kSessionTimeoutMs = 40'000;

void OrEnd(int code, const char* what) {
  if (code == ZOK) return;
  std::fprintf(stderr, "floor: %s: %s\n", what, zerror(code));
  std::exit(1);
}

// Nodes are "write-0000000001" and "read-0000000002", below the lock's path.
class Floor : public Contestant {
 public:
  Floor(const std::string& servers, std::string path) : path_(std::move(path)) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zh_ = zookeeper_init(servers.c_str(), OnEvent, kSessionTimeoutMs, nullptr, this, 0);
    while (zh_ == nullptr || zoo_state(zh_) != ZOO_CONNECTED_STATE) Turn();
    const auto made = [](int, const char*, const void* self) { Answered(self); };
    Ask([&] {
      return zoo_acreate(zh_, path_.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, made, this);
    });
  }
  ~Floor() override { zookeeper_close(zh_); }

  void Acquire(Mode mode) override {
    prefix_ = path_ + (mode == Mode::kShared ? "/read-" : "/write-");
    asked_ += 2;
    OrEnd(zoo_acreate2(zh_, prefix_.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                       ZOO_EPHEMERAL | ZOO_SEQUENCE, OnCreated, this),
          "create");
    OrEnd(zoo_aget_children(zh_, path_.c_str(), 0, OnListed, this), "list");
    Drive();
    for (std::string blocker = Blocker(mode); !blocker.empty(); blocker = Blocker(mode)) {
      gone_ = false;
      Ask([&] { return zoo_awget(zh_, blocker.c_str(), OnWatch, this, OnGot, this); });
      while (!gone_) Turn();
      Ask([&] { return zoo_aget_children(zh_, path_.c_str(), 0, OnListed, this); });
    }
  }

  void Release() override {
    const auto deleted = [](int rc, const void* self) {
      OrEnd(rc, "delete");
      Answered(self);
    };
    Ask([&] { return zoo_adelete(zh_, node_.c_str(), -1, deleted, this); });
  }

 private:
  static Floor* Self(const void* self) { return static_cast<Floor*>(const_cast<void*>(self)); }
  static void Answered(const void* self) { --Self(self)->asked_; }
  static void OnEvent(zhandle_t* zh, int, int, const char*, void* self) { Self(self)->zh_ = zh; }
  static void OnCreated(int rc, const char* node, const Stat*, const void* self) {
    OrEnd(rc, "create");
    Self(self)->node_ = node;
    Answered(self);
  }
  static void OnListed(int rc, const String_vector* children, const void* self) {
    OrEnd(rc, "list");
    Self(self)->children_.assign(children->data, children->data + children->count);
    Answered(self);
  }
  static void OnGot(int rc, const char*, int, const Stat*, const void* self) {
    if (rc == ZNONODE) Self(self)->gone_ = true;
    Answered(self);
  }
  static void OnWatch(zhandle_t*, int type, int, const char*, void* self) {
    if (type == ZOO_DELETED_EVENT) Self(self)->gone_ = true;
  }

  template <typename Send>
  void Ask(Send send) {
    ++asked_;
    OrEnd(send(), "send");
    Drive();
  }
  void Drive() {
    while (asked_ > 0) Turn();
  }
  // Flushes, waits for the socket and reads from it.
  void Turn() {
    int fd = -1, interest = 0;
    timeval until = {};
    const int code = zookeeper_interest(zh_, &fd, &interest, &until);
    if (code != ZOK && code != ZCONNECTIONLOSS) OrEnd(code, "connect");
    pollfd poll_for = {fd, 0, 0};
    if (interest & ZOOKEEPER_READ) poll_for.events |= POLLIN;
    if (interest & ZOOKEEPER_WRITE) poll_for.events |= POLLOUT;
    poll(&poll_for, 1, static_cast<int>(until.tv_sec * 1000 + until.tv_usec / 1000));
    int events = 0;
    if (poll_for.revents & (POLLIN | POLLERR | POLLHUP)) events |= ZOOKEEPER_READ;
    if (poll_for.revents & POLLOUT) events |= ZOOKEEPER_WRITE;
    zookeeper_process(zh_, events);
  }

  static std::string Sequence(const std::string& node) { return node.substr(node.rfind('-')); }
  // The nearest node in front that this one waits for; "" if there is none.
  std::string Blocker(Mode mode) const {
    const std::string mine = Sequence(node_);
    std::string nearest;
    for (const std::string& child : children_) {
      if (mode == Mode::kShared && child[0] == 'r') continue;
      if (Sequence(child) >= mine) continue;
      if (nearest.empty() || Sequence(child) > Sequence(nearest)) nearest = child;
    }
    return nearest.empty() ? "" : path_ + "/" + nearest;
  }

  const std::string path_;
  std::string prefix_;
  zhandle_t* zh_ = nullptr;
  int asked_ = 0;  // requests without an answer
  bool gone_ = false;
  std::string node_;
  std::vector<std::string> children_;
};

}  // namespace

std::unique_ptr<Contestant> ConnectFloor(const std::string& servers, const std::string& path) {
  return std::make_unique<Floor>(servers, path);
}

}  // namespace bench
