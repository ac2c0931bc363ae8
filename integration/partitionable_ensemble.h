// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_PARTITIONABLE_ENSEMBLE_H_
#define ZKRECIPES_INTEGRATION_PARTITIONABLE_ENSEMBLE_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "integration/tcp_proxy.h"
#include "testing/work_directory.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {

// A local ensemble whose members reach each other only over links that can be cut; clients reach
// them directly. A link leads from the member that connects to the one that listens, and carries
// both directions of what they say: an elected follower connects to its leader.
//
// Each member's Java virtual machine makes its connections through a SOCKS proxy of its own. That
// leaves the servers' configuration alone, and catches also the connections that they make to an
// address they were told by the other end.
//
// Not thread-safe. Nothing but Start blocks for longer than the proxies take.
class PartitionableEnsemble {
 public:
  // REQUIRES: `options.java` is empty. Errors: see LocalEnsemble::Start.
  static absl::StatusOr<std::unique_ptr<PartitionableEnsemble>> Start(
      testing::LocalEnsembleOptions options);

  // As if the packets were dropped from now on: connections stay open and silent, new ones get no
  // answer. Mended, the silent ones are reset and new ones go through.
  void Cut(int from, int to);
  void Mend(int from, int to);
  // All links of member i.
  void CutOff(int i);
  void Heal(int i);
  void HealAll();
  // What goes over the links that member i made waits (a follower has one to its leader): it lags.
  void Hold(int i, bool hold) { proxies_[i]->HoldEverything(hold); }

  testing::LocalEnsemble& local() { return *local_; }
  int size() const { return local_->size(); }
  std::string member(int i) const { return local_->server(i); }  // where clients connect
  int leader() { return local_->Leader().value_or(-1); }

 private:
  PartitionableEnsemble(testing::WorkDirectory directory, int size);

  absl::Status Launch(testing::LocalEnsembleOptions options);
  void Apply();

  testing::WorkDirectory directory_;
  std::vector<std::unique_ptr<TcpProxy>> proxies_;  // by member; go after the servers
  std::unique_ptr<testing::LocalEnsemble> local_;
  std::vector<std::set<int>> ports_;  // by member: where it listens for the others
  std::set<std::pair<int, int>> cut_;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_PARTITIONABLE_ENSEMBLE_H_
