// SPDX-License-Identifier: Apache-2.0

#include <sys/eventfd.h>
#include <unistd.h>

#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "bench/contestant.h"
#include "bench/floor_session.h"

namespace bench {
namespace {

// Nodes are "write-0000000001" and "read-0000000002", below the lock's path.
class Floor : public Contestant {
 public:
  explicit Floor(const Place& place)
      : path_(place.path), session_(place.servers, place.session_ms) {
    session_.Create(path_);
  }

  void Acquire(Mode mode) override {
    prefix_ = path_ + (mode == Mode::kShared ? "/read-" : "/write-");
    session_.Sent(zoo_acreate2(zh_, prefix_.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                               ZOO_EPHEMERAL | ZOO_SEQUENCE, OnCreated, this));
    session_.Sent(zoo_aget_children(zh_, path_.c_str(), 0, OnListed, this));
    session_.Drive();
    for (std::string blocker = Blocker(mode); !blocker.empty(); blocker = Blocker(mode)) {
      gone_ = false;
      session_.Sent(zoo_awget(zh_, blocker.c_str(), OnWatch, this, OnGot, this));
      session_.Drive();
      while (!gone_) session_.Turn();
      session_.Sent(zoo_aget_children(zh_, path_.c_str(), 0, OnListed, this));
      session_.Drive();
    }
  }

  void Release() override {
    session_.Sent(zoo_adelete(zh_, node_.c_str(), -1, OnDeleted, this));
    session_.Drive();
  }

 private:
  static Floor* Self(const void* self) { return static_cast<Floor*>(const_cast<void*>(self)); }
  static void OnCreated(int rc, const char* node, const Stat*, const void* self) {
    FloorOrEnd(rc, "create");
    Self(self)->node_ = node;
    Self(self)->session_.Answered();
  }
  static void OnListed(int rc, const String_vector* children, const void* self) {
    FloorOrEnd(rc, "list");
    Self(self)->children_.assign(children->data, children->data + children->count);
    Self(self)->session_.Answered();
  }
  static void OnGot(int rc, const char*, int, const Stat*, const void* self) {
    if (rc == ZNONODE) Self(self)->gone_ = true;
    Self(self)->session_.Answered();
  }
  static void OnWatch(zhandle_t*, int type, int, const char*, void* self) {
    if (type == ZOO_DELETED_EVENT) Self(self)->gone_ = true;
  }
  static void OnDeleted(int rc, const void* self) {
    FloorOrEnd(rc, "delete");
    Self(self)->session_.Answered();
  }

  // The path of the nearest node in front that this one waits for; "" if there is none.
  std::string Blocker(Mode mode) const {
    const std::string nearest = NearestInFront(children_, node_, mode == Mode::kShared);
    return nearest.empty() ? "" : path_ + "/" + nearest;
  }

  const std::string path_;
  FloorSession session_;
  zhandle_t* const zh_ = session_.handle();
  std::string prefix_;
  bool gone_ = false;
  std::string node_;
  std::vector<std::string> children_;
};

// The thread alone uses the session and the waiters.
class FloorCrowd : public Crowd {
 public:
  FloorCrowd(const Place& place, std::shared_ptr<Turns> turns)
      : path_(place.path), turns_(std::move(turns)), session_(place.servers, place.session_ms) {
    session_.Create(path_);
    thread_ = std::thread([this] { Run(); });
  }
  ~FloorCrowd() override {
    over_ = true;
    eventfd_write(wake_, 1);
    thread_.join();
    close(wake_);
  }
  void Add() override {
    ++wanted_;
    eventfd_write(wake_, 1);
  }

 private:
  struct Waiter {
    FloorCrowd* crowd;
    std::string node = "";
  };

  void Run() {
    while (!over_) {
      for (; wanted_ > 0; --wanted_) Queue(waiters_.emplace_back(Waiter{this}));
      session_.Turn(wake_);
      eventfd_t count;
      eventfd_read(wake_, &count);
    }
  }
  void Queue(Waiter& waiter) {
    FloorOrEnd(zoo_acreate2(session_.handle(), (path_ + "/write-").c_str(), "", 0,
                            &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE, OnCreated, &waiter),
               "create");
    List(waiter);
  }
  void List(Waiter& waiter) {
    FloorOrEnd(zoo_aget_children(session_.handle(), path_.c_str(), 0, OnListed, &waiter), "list");
  }
  void Decide(Waiter& waiter, const std::vector<std::string>& children) {
    const std::string nearest = NearestInFront(children, waiter.node, false);
    if (nearest.empty()) return Granted(waiter);
    FloorOrEnd(zoo_awget(session_.handle(), (path_ + "/" + nearest).c_str(), OnWatch, &waiter,
                         OnGot, &waiter),
               "watch");
  }
  void Granted(const Waiter& waiter) {
    if (++turns_->granted >= turns_->most) return;
    FloorOrEnd(zoo_adelete(session_.handle(), waiter.node.c_str(), -1, OnDeleted, nullptr),
               "delete");
  }

  static Waiter& Self(const void* self) { return *static_cast<Waiter*>(const_cast<void*>(self)); }
  // Closing the session answers what is left with ZCLOSING.
  static void OnCreated(int rc, const char* node, const Stat*, const void* self) {
    if (rc != ZCLOSING) FloorOrEnd(rc, "create");
    if (rc == ZOK) Self(self).node = node;
  }
  static void OnListed(int rc, const String_vector* children, const void* self) {
    if (rc == ZCLOSING) return;
    FloorOrEnd(rc, "list");
    Waiter& waiter = Self(self);
    waiter.crowd->Decide(waiter, {children->data, children->data + children->count});
  }
  static void OnGot(int rc, const char*, int, const Stat*, const void* self) {
    if (rc == ZNONODE) Self(self).crowd->List(Self(self));
  }
  static void OnWatch(zhandle_t*, int type, int, const char*, void* self) {
    if (type == ZOO_DELETED_EVENT) Self(self).crowd->List(Self(self));
  }
  static void OnDeleted(int, const void*) {}

  const std::string path_;
  const std::shared_ptr<Turns> turns_;
  const int wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<int> wanted_ = 0;
  std::atomic<bool> over_ = false;
  std::list<Waiter> waiters_;
  FloorSession session_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Contestant> ConnectFloor(const Place& place) {
  return std::make_unique<Floor>(place);
}

std::unique_ptr<Crowd> GatherFloor(const Place& place, std::shared_ptr<Turns> turns) {
  return std::make_unique<FloorCrowd>(place, std::move(turns));
}

}  // namespace bench
