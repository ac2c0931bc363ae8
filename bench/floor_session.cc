// SPDX-License-Identifier: Apache-2.0

#include "bench/floor_session.h"

#include <poll.h>

#include <cstdio>
#include <cstdlib>

#include <zookeeper/zookeeper.h>

namespace bench {
namespace {

FloorSession* SessionOf(const void* self) {
  return static_cast<FloorSession*>(const_cast<void*>(self));
}
void Ignore(zhandle_t*, int, int, const char*, void*) {}
void Made(int, const char*, const void* self) { SessionOf(self)->Answered(); }

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

}  // namespace bench
