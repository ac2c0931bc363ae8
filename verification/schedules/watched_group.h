// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_WATCHED_GROUP_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_WATCHED_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verification/schedules/queue_history.h"
#include "zkrecipes/group.h"

namespace zkrecipes::schedules {

// A group in a LockWorld, as the ensemble's history has it, and its watchers: each view is the
// group as it was at some time, and later ones are not of an earlier time.
class WatchedGroup : public HistoryReader {
 public:
  static constexpr char kGroupPath[] = "/p/members";

  using HistoryReader::HistoryReader;

  // Receivers call this last, and may thereby be destroyed.
  void AfterEachCallback(std::function<void(const Core&)> f) { after_callback_ = std::move(f); }
  void WatchOrStop(const std::shared_ptr<Client>& client);
  bool StopWatching(const Core& core);  // whether it did watch
  void StopWatching() { watchers_.clear(); }

  // Once it is calm: every watcher was told of the group that there is.
  void CheckWatchers() const;

 protected:
  // Whether its node is there, or an operator deleted it.
  bool Counts(int64_t token) const { return present_.contains(token) || deleted_.contains(token); }
  // Also why a member of the group ended.
  bool Explains(const Core& core, const absl::Status& status) const;
  void CheckNoMemberIsLeft() const;

  std::function<void(const Core&)> after_callback_ = [](const Core&) {};

 private:
  struct Watcher {
    Core core;
    bool ended = false;  // told of an error
    std::optional<GroupView> view = {};
    zk::SessionId session = 0;
    int tells = 0;     // in this session
    size_t state = 0;  // of `states_`, the last that it has seen
    Subscription subscription = {};
  };
  struct Present {
    std::string path;
    std::string id;
    zk::SessionId owner;
  };

  void Read(const testing::memory::Transaction& change) override;
  void OnView(Watcher& watcher, const absl::StatusOr<GroupView>& view);
  void CheckView(Watcher& watcher);

  std::list<Watcher> watchers_;
  std::map<int64_t, Present> present_;  // the members' nodes
  std::set<int64_t> deleted_;           // those of them that an operator deleted
  // The tokens of the group's members, after each change of it.
  std::vector<std::set<int64_t>> states_ = {{}};
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_WATCHED_GROUP_H_
