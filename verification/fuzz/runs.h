// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FUZZ_RUNS_H_
#define ZKRECIPES_VERIFICATION_FUZZ_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/string_view.h"

namespace zkrecipes::fuzz {

// Figures of one run, or of many.
struct Tally {
  int64_t runs = 0;
  int64_t connections = 0;
  int64_t bytes = 0;      // that the client has read
  int64_t good = 0;       // answers that it believed
  int64_t refusals = 0;   // connections that it dropped because of what was said
  std::string violation;  // "" if the client behaved
};

// A handle of the C client, a few dozen requests and a server that spoils its answers, all from a
// seed and on this thread. A violation: a request that is not answered exactly once, a client that
// spins (its socket is ready, and it does nothing), a good server that is refused, or names that no
// server has said. Crashes are the sanitizers' to see.
void RunOne(uint64_t seed, Tally& tally);

struct SequencerTally {
  int64_t texts = 0;
  int64_t read = 0;  // among those that were spoilt
  int64_t refused = 0;
  std::string violation;  // of a rule of README.md, or ""
};

// A sequencer, as a holder may have it, and a text that a stranger may send in its place, both
// chosen by the seed, are given to Sequencer::Parse.
void TrySequencers(uint64_t seed, SequencerTally& tally);

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

// Whatever the seed says.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  // 0 to below - 1.
  uint32_t Roll(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  bool OneIn(uint32_t n) { return Roll(n) == 0; }
  uint64_t Bits() { return random_(); }
  std::string Noise(size_t size);
  std::string Text(size_t size);  // of letters

 private:
  std::mt19937_64 random_;
};

// A server that answers as ZooKeeper does, until it spoils an answer: bytes and lengths are
// changed, answers cut, lengthened, repeated, swapped or left out, others slipped in that were
// never asked for.
class HostileServer {
 public:
  // `spoils` one answer in so many; 0: none, then it is a good server.
  HostileServer(Dice* dice, uint32_t spoils) : dice_(dice), spoils_(spoils) {}

  // A new connection.
  void Begin();
  // Reads what the client sends; what it has to say.
  std::string Hear(std::string& from_client);
  // One to which the client never asked anything to be said.
  std::string StrayEvent();

 private:
  std::string Answer(absl::string_view request);
  std::string AnswerTo(int32_t xid, int32_t type, const std::string& path);
  std::string AnswerToMulti();
  std::string Path();
  std::string Spoil(std::string frame);
  void SpoilNumber(std::string& frame);

  Dice* const dice_;
  const uint32_t spoils_;
  bool welcomed_ = false;
  int64_t session_ = 0;
  std::string created_;  // by the multi that was asked last
  std::string held_;     // said later than it should have been
};

}  // namespace zkrecipes::fuzz

#endif  // ZKRECIPES_VERIFICATION_FUZZ_RUNS_H_
