// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_ELECTION_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_ELECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/queue/lease/lease_state.h"
#include "lib/queue/listing/observe.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "verification/schedules/queue_history.h"

namespace zkrecipes::schedules {

// An election in a LockWorld: observers, and leaders that proclaim. They use the code
// that LeaderElection::Observe and ::Proclaim run.
class Election : public HistoryReader, public std::enable_shared_from_this<Election> {
 public:
  using HistoryReader::HistoryReader;

  void ObserveOrStop(const Core& core);
  bool Observes(zk::SessionId session) const;
  void Stop(const Core& core);  // if it observes
  void StopObserving();
  // An observer's callback calls this last, and may thereby be destroyed.
  void AfterEachCallback(std::function<void(const Core&)> f) { after_callback_ = std::move(f); }

  // By the leader with this lease.
  void Proclaim(const Core& core, const std::shared_ptr<internal::LeaseState>& lease);
  bool Proclaims(int64_t czxid) const { return LastOpen(czxid) != nullptr; }
  void Abandon(int64_t czxid);  // REQUIRES: Proclaims(czxid)

  // Once all is quiet: every observer has told of the leader that there is.
  void CheckObservers() const;
  // Once all is quiet: every call was answered, and the later of two won.
  void CheckProclamations() const;

 private:
  struct Observer {
    Core core;
    bool ended = false;  // told of an error
    std::optional<std::optional<Leader>> told = {};
    // The latest that it was told in this session: the term, whether that was seen to be over, and
    // how far it is in the values of each leader.
    zk::SessionId session = 0;
    int tells = 0;
    int64_t term = 0;
    bool over = false;
    std::map<int64_t, size_t> read = {};
    Subscription subscription = {};
  };
  struct Call {
    Core core;
    std::shared_ptr<internal::LeaseState> lease;
    int64_t czxid = 0;
    std::string value = {};
    std::shared_ptr<queue::own_node::OwnNodeTurn> turn = {};
    int began = 0;
    int ended = std::numeric_limits<int>::max();
    bool ok = false;

    bool open() const { return ended == std::numeric_limits<int>::max(); }
  };

  void Read(const testing::memory::Transaction& change) override;
  void Tell(Observer& observer, const queue::listing::LeaderNews& news);
  void CheckOrder(Observer& observer);
  std::shared_ptr<Call> LastOpen(int64_t czxid) const;
  void OnAnswer(const std::shared_ptr<Call>& call, const absl::Status& status);
  std::optional<size_t> WriteOf(const Call& call) const;  // the last one, among those of its node

  std::map<std::string, int64_t> nodes_;                // the latest at each path
  std::map<int64_t, std::vector<std::string>> values_;  // that each node has had
  std::vector<std::shared_ptr<Observer>> observers_;    // all there ever were
  std::vector<std::shared_ptr<Call>> calls_;
  std::function<void(const Core&)> after_callback_ = [](const Core&) {};
  int now_ = 0;  // counts beginnings and ends of calls
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_ELECTION_H_
