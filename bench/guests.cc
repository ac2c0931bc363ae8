// SPDX-License-Identifier: Apache-2.0

#include "bench/guests.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>
#include <zookeeper/zookeeper.h>

#include "bench/floor_session.h"

namespace bench {

int Serve(const Entrant& entrant) {
  std::unique_ptr<Contestant> holder;
  std::cout << "{}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const nlohmann::json task = nlohmann::json::parse(line);
    if (task.at("run") != "hold") return std::fprintf(stderr, "cannot %s\n", line.c_str()), 1;
    holder = entrant.connect({task.at("servers"), task.at("path"), task.at("session_ms")});
    holder->Acquire(Mode::kExclusive);
    std::cout << R"({"value": 0})" << std::endl;
  }
  return 0;
}

namespace {

constexpr char kNode[] = "/bench-commits";
constexpr itimerspec kPace = {{0, 50'000'000}, {0, 50'000'000}};

// Its own answers are not waited for: they may be the ones that are kept back.
void Ignore(int, const Stat*, const void*) {}

bool StandardInputEnds() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) != 0;
}

}  // namespace

int KeepCommitting(const std::string& servers) {
  FloorSession session(servers, 40'000);
  session.Create(kNode);
  std::cout << "{}" << std::endl;
  const int ticks = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  timerfd_settime(ticks, 0, &kPace, nullptr);
  while (!StandardInputEnds()) {
    session.Turn(ticks);
    uint64_t passed;
    if (read(ticks, &passed, sizeof(passed)) < 0) continue;
    FloorOrEnd(zoo_aset(session.handle(), kNode, "", 0, -1, Ignore, nullptr), "set");
  }
  return 0;
}

}  // namespace bench
