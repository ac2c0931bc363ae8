// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FUZZ_HOSTILE_SERVER_H_
#define ZKRECIPES_VERIFICATION_FUZZ_HOSTILE_SERVER_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace zkrecipes::fuzz {

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

#endif  // ZKRECIPES_VERIFICATION_FUZZ_HOSTILE_SERVER_H_
