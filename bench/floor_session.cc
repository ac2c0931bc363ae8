// SPDX-License-Identifier: Apache-2.0

#include "bench/floor_session.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include <zookeeper/zookeeper.h>

namespace bench {
namespace {

FloorSession* SessionOf(const void* self) {
  return static_cast<FloorSession*>(const_cast<void*>(self));
}
void Ignore(zhandle_t*, int, int, const char*, void*) {}
void Made(int, const char*, const void* self) { SessionOf(self)->Answered(); }

// Every dialect's names end in the number, ten digits; other children do not count.
std::string NumberOf(const std::string& node) {
  return node.size() < 10 ? "" : node.substr(node.size() - 10);
}

}  // namespace

void FloorOrEnd(int code, const char* what) {
  if (code == ZOK) return;
  std::fprintf(stderr, "floor: %s: %s\n", what, zerror(code));
  std::exit(1);
}

FloorSession::FloorSession(const std::string& servers, int session_ms) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  zh_ = zookeeper_init(servers.c_str(), Ignore, session_ms, nullptr, nullptr, 0);
  if (zh_ == nullptr) FloorOrEnd(ZSYSTEMERROR, "init");
  while (zoo_state(zh_) != ZOO_CONNECTED_STATE) Turn();
}

FloorSession::~FloorSession() { zookeeper_close(zh_); }

void FloorSession::Turn(int wake) {
  int fd = -1, interest = 0;
  timeval until = {};
  const int code = zookeeper_interest(zh_, &fd, &interest, &until);
  if (code != ZOK && code != ZCONNECTIONLOSS) FloorOrEnd(code, "connect");
  pollfd polls[] = {{fd, 0, 0}, {wake, POLLIN, 0}};
  if (interest & ZOOKEEPER_READ) polls[0].events |= POLLIN;
  if (interest & ZOOKEEPER_WRITE) polls[0].events |= POLLOUT;
  poll(polls, wake < 0 ? 1 : 2, static_cast<int>(until.tv_sec * 1000 + until.tv_usec / 1000));
  int events = 0;
  if (polls[0].revents & (POLLIN | POLLERR | POLLHUP)) events |= ZOOKEEPER_READ;
  if (polls[0].revents & POLLOUT) events |= ZOOKEEPER_WRITE;
  zookeeper_process(zh_, events);
}

void FloorSession::Create(const std::string& path) {
  Sent(zoo_acreate(zh_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, Made, this));
  Drive();
}

std::string NearestInFront(const std::vector<std::string>& children, const std::string& mine,
                           bool reader) {
  const std::string number = SequenceOf(mine);
  std::string nearest;
  for (const std::string& child : children) {
    if (reader && child[0] == 'r') continue;
    if (SequenceOf(child) >= number) continue;
    if (nearest.empty() || SequenceOf(child) > SequenceOf(nearest)) nearest = child;
  }
  return nearest;
}

// ---- the witness --------------------------------------------------------------------------------

Witness::Witness(const std::string& servers, std::string path)
    : path_(std::move(path)), session_(servers, 40'000) {}

void Witness::AwaitQueue(int contenders) {
  while (static_cast<int>(Children().size()) < contenders) {
    std::this_thread::sleep_for(std::chrono::milliseconds(contenders < 100 ? 5 : 20));
  }
}

void Witness::WatchFirst() {
  const std::vector<std::string> queue = Children();
  const auto first = std::min_element(queue.begin(), queue.end(),
                                      [](auto& a, auto& b) { return NumberOf(a) < NumberOf(b); });
  if (first == queue.end()) FloorOrEnd(ZNONODE, "watch");
  const auto gone = [](zhandle_t*, int type, int, const char*, void* self) {
    if (type == ZOO_DELETED_EVENT) static_cast<Witness*>(self)->gone_ = true;
  };
  const auto answered = [](int rc, const Stat*, const void* self) {
    auto* const witness = static_cast<Witness*>(const_cast<void*>(self));
    if (rc == ZNONODE) witness->gone_ = true;
    witness->session_.Answered();
  };
  gone_ = false;
  const std::string node = path_ + "/" + *first;
  session_.Sent(zoo_awexists(session_.handle(), node.c_str(), gone, this, answered, this));
  session_.Drive();
}

std::chrono::steady_clock::time_point Witness::AwaitEndOfFirst() {
  while (!gone_) session_.Turn();
  return std::chrono::steady_clock::now();
}

std::vector<std::string> Witness::Children() {
  const auto listed = [](int, const String_vector* children, const void* self) {
    auto* const witness = static_cast<Witness*>(const_cast<void*>(self));
    witness->children_.clear();
    for (int i = 0; children != nullptr && i < children->count; ++i) {
      witness->children_.emplace_back(children->data[i]);
    }
    witness->session_.Answered();
  };
  session_.Sent(zoo_aget_children(session_.handle(), path_.c_str(), 0, listed, this));
  session_.Drive();
  return children_;
}

}  // namespace bench
