// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/path_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/zk/seam/path.h"

namespace zkrecipes::internal {
namespace {

// The recipe's options, with the client's where they say nothing.
AcquireOptions WithDefaults(const ClientOptions& client, AcquireOptions options) {
  if (!options.wait_for_proof.has_value()) options.wait_for_proof = client.lease.wait_for_proof;
  if (!options.ends_at.has_value()) options.ends_at = client.lease.ends_at;
  if (!options.dialect.has_value()) options.dialect = client.dialect;
  return options;
}

absl::Status CheckPositive(const char* name, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " \"", absl::FormatDuration(value), "\": must be more than zero"));
}

// A constructor cannot fail, so every call that acquires returns this.
absl::Status BrokenRule(const std::string& path, const AcquireOptions& options) {
  for (const absl::Status& status :
       {zk::ValidatePath("path", path), CheckPositive("alive within", options.alive_within),
        CheckPositive("hold at most", options.hold_at_most)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

PathQueue::PathQueue(std::shared_ptr<ClientCore> of, std::string at,
                     const AcquireOptions& its_options, std::string its_owner)
    : core(std::move(of)),
      path(std::move(at)),
      options(WithDefaults(core->options(), its_options)),
      owner_id(its_owner.empty() ? core->options().owner_id : std::move(its_owner)),
      rule(BrokenRule(path, options)) {
  // Asked once here, not at each acquire: AtOnce may look up a group by the path.
  const std::array listeners = {&options.listener, &core->options().listener};
  for (size_t i = 0; i < listeners.size(); ++i) {
    const auto& listener = *listeners[i];
    if (listener == nullptr) continue;
    at_once[i] = listener->AtOnce(path);
    if (at_once[i] == nullptr) later.push_back(listener);
  }
}

std::shared_ptr<const PathQueue> PathQueue::Of(const Client& client, std::string path,
                                               const AcquireOptions& options) {
  return std::make_shared<const PathQueue>(ClientAccess::Core(client), std::move(path), options);
}

}  // namespace zkrecipes::internal
