// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FUZZ_MEMORY_SOCKET_H_
#define ZKRECIPES_VERIFICATION_FUZZ_MEMORY_SOCKET_H_

#include <cstddef>
#include <string>

namespace zkrecipes::fuzz {

// The one socket that the C client can have in a program that links this: its calls (socket,
// connect, send, recv, ...) are answered here and not by the kernel, so that a connection costs
// microseconds. Every other descriptor is the kernel's as ever. One thread.
struct MemorySocket {
  bool open = false;
  int opened = 0;             // how often, so far
  std::string from_client;    // sent by the client, and not read by the server yet
  std::string to_client;      // said by the server
  size_t taken = 0;           // of to_client, by the client
  bool ended = false;         // the server says no more
  size_t piece = 0xffffffff;  // the most that one recv gets

  // A new connection, of the same kind.
  void Open() {
    open = true;
    ++opened;
    from_client.clear();
    to_client.clear();
    taken = 0;
    ended = false;
  }
  bool readable() const { return taken < to_client.size() || ended; }
};

MemorySocket& TheSocket();

}  // namespace zkrecipes::fuzz

#endif  // ZKRECIPES_VERIFICATION_FUZZ_MEMORY_SOCKET_H_
