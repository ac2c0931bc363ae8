// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_TENANT_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_TENANT_H_

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "lib/base/boot_time.h"
#include "testing/memory/model_ensemble.h"
#include "verification/schedules/queue_history.h"

namespace zkrecipes::schedules {

// The lock, or the election, that a LockWorld is about.
inline constexpr char kLockPath[] = "/q";

// Another user of the ensemble with all rights below a lock's path and below the root: what it
// can do to the library without touching the record of a lock delay. What it creates is in a list
// (tenant.cc): nodes that are no contenders but look like them, some that count as contenders, and
// nodes outside the queue where a client might not expect any.
class Tenant {
 public:
  static const size_t kNodes;  // in its list

  Tenant(testing::memory::ModelEnsemble& model, std::string path)
      : model_(model), path_(std::move(path)) {}

  void Create(size_t which, base::BootTime now);
  void Delete(size_t which, base::BootTime now);
  void Deny(size_t which, const QueueHistory& queue);
  void AllowAll();
  void Write(size_t which, const QueueHistory& queue);
  void Crowd(size_t nodes, base::BootTime now);  // at once
  // Takes its obstacles away: ACLs, and nodes that count as contenders. Everything else stays.
  // REQUIRES: the ensemble has a quorum.
  void Leave(base::BootTime now);

  bool has_denied() const { return !denied_.empty(); }

 private:
  std::string Listed(size_t which) const;

  testing::memory::ModelEnsemble& model_;
  const std::string path_;
  std::set<std::string> denied_;  // paths with an ACL of its making, now or earlier
  size_t crowd_ = 0;
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_TENANT_H_
