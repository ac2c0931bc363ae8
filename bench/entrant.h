// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_ENTRANT_H_
#define ZKRECIPES_BENCH_ENTRANT_H_

#include <memory>
#include <string>

#include "bench/contestant.h"
#include "bench/peer.h"

namespace bench {

// What is measured: in this process, or by a peer, a process of its own that speaks with this one.
struct Entrant {
  std::string name;
  std::unique_ptr<Contestant> (*connect)(const Place&) = nullptr;
  std::unique_ptr<Crowd> (*gather)(const Place&, std::shared_ptr<Turns>) = nullptr;
  std::string guest = {};  // the command of another process, which serves as a peer does
  std::shared_ptr<Peer> peer = nullptr;

  bool is_zookeepers() const { return peer == nullptr || peer->servers().empty(); }
};

}  // namespace bench

#endif  // ZKRECIPES_BENCH_ENTRANT_H_
