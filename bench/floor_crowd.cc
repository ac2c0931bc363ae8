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

std::unique_ptr<Crowd> GatherFloor(const Place& place, std::shared_ptr<Turns> turns) {
  return std::make_unique<FloorCrowd>(place, std::move(turns));
}

}  // namespace bench
