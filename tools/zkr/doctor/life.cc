// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/life.h"

namespace zkrecipes::zkr::doctor {

Life LifeOf(const Facts& facts, std::int64_t session) {
  using enum Life::State;
  if (session == 0) return {.state = kNoSession};
  Life life{.state = kCutOff};
  for (const ServerFacts& server : facts.servers) {
    if (!server.connections) life.state = kUnknown;
    if (!server.connections || !server.connections->contains(session)) continue;
    const ConnectionFacts& connection = server.connections->at(session);
    // One that has moved on may still be shown by the server that it left.
    if (life.connection && life.connection->silent <= connection.silent) continue;
    life.connection = connection;
    life.server = server.name;
  }
  if (life.connection) {
    life.state = life.connection->silent * 2 < life.connection->timeout ? kAlive : kSilent;
  }
  return life;
}

const char* Word(Life::State state) {
  using enum Life::State;
  switch (state) {
    case kAlive:
      return "alive";
    case kSilent:
      return "silent";
    case kCutOff:
      return "cut-off";
    case kUnknown:
      return "unknown";
    case kNoSession:
      return "no-session";
  }
  return "unknown";
}

const char* ProcessWord(char state) {
  switch (state) {
    case 'R':
    case 'S':
    case 'I':
      return "runs";
    case 'D':
      return "waits for a disk or the kernel";
    case 'T':
    case 't':
      return "is stopped";
    case 'Z':
    case 'X':
      return "is dead";
    default:
      return "is in an unknown state";
  }
}

}  // namespace zkrecipes::zkr::doctor
