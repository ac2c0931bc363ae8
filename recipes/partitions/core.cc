// SPDX-License-Identifier: Apache-2.0

#include "recipes/partitions/core.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"
#include "lib/queue/acquire/path_queue.h"
#include "lib/queue/acquire/work_loop.h"
#include "lib/queue/listing/node_data.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::internal {
namespace {

absl::Status CheckNames(const std::string& path, const std::vector<std::string>& names) {
  if (names.empty()) return absl::InvalidArgumentError("partitions: there are none");
  std::set<std::string> known;
  for (const std::string& name : names) {
    absl::Status rule = zk::ValidatePath("a partition's path", path + "/partitions/" + name);
    if (!rule.ok()) return rule;
    const auto wrong = [&](const char* what) {
      return absl::InvalidArgumentError(absl::StrCat("partition ", zk::Quoted(name), ": ", what));
    };
    if (name.find('/') != std::string::npos) return wrong("must be one part of a path");
    if (!known.insert(name).second) return wrong("is named twice");
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const PartitionsOptions& options) {
  const auto wrong = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat("partitions: ", what...));
  };
  constexpr int kMost = recipes::machine::kMostWeight;
  if (options.weight < 1 || options.weight > kMost) {
    return wrong("weight ", options.weight, ": must be from 1 to ", kMost);
  }
  if (options.at_once < 1) return wrong("at_once ", options.at_once, ": must be 1 or more");
  const absl::Duration first_wait = options.first_wait;
  if (first_wait < absl::ZeroDuration() || first_wait == absl::InfiniteDuration()) {
    return wrong("first wait \"", absl::FormatDuration(first_wait),
                 "\": must be finite and not negative");
  }
  if (absl::Duration(options.drain) < absl::ZeroDuration()) {
    return wrong("drain \"", absl::FormatDuration(options.drain), "\": must not be negative");
  }
  return queue::acquire::CheckPauses("partitions", options.first_pause, options.longest_pause);
}

absl::Status Check(const std::shared_ptr<Client>& client, const std::string& path,
                   const std::vector<std::string>& names, const PartitionsOptions& options) {
  for (const absl::Status& status :
       {zk::ValidatePath("path", path), CheckNames(path, names), CheckOptions(options),
        queue::listing::CheckCandidate({.id = options.id, .value = ""}, "member's"),
        // Of a path whose listeners hear something: each may keep series for its group.
        internal::PathQueue::Of(*client, path + "/members", options.acquire)->rule}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

PartitionsOptions Complete(const Client& client, PartitionsOptions options) {
  // Work that looks at its lease must not find it unproven, and return.
  if (!options.acquire.wait_for_proof.has_value()) options.acquire.wait_for_proof = true;
  if (options.id.empty()) {
    // With something of its own: processes of one host name may all have number 1.
    const std::string& owner_id = internal::ClientAccess::Core(client)->options().owner_id;
    options.id = absl::StrCat(queue::listing::DefaultId(owner_id), "-",
                              absl::Hex(base::RandomBits(), absl::kZeroPad16));
  }
  return options;
}

}  // namespace

PartitionsCore::PartitionsCore(std::shared_ptr<Client> its_client, std::string at,
                               std::vector<std::string> of, PartitionsOptions its_options)
    : client(std::move(its_client)),
      path(std::move(at)),
      names(std::move(of)),
      options(Complete(*client, its_options)),
      data(recipes::machine::MemberData(names, options.weight)),
      has_home(!its_options.id.empty()),
      rule(Check(client, path, names, options)) {}

Group PartitionsCore::group() const {
  const AcquireOptions& all = options.acquire;
  return Group(client, path + "/members",
               {.wait_for_proof = all.wait_for_proof, .acl = all.acl, .listener = all.listener});
}

PartitionsCore::Present PartitionsCore::PresentIn(const GroupView& view) {
  Present present;
  for (const Member& member : view.members) {
    present.push_back({member.id, member.data, member.since, member.token.value()});
  }
  return present;
}

recipes::machine::PartitionPlan PartitionsCore::Plan(const Present& present,
                                                     std::vector<std::string> homes) const {
  return recipes::machine::Plan(options.id, data, names, present, std::move(homes),
                                options.first_wait);
}

}  // namespace zkrecipes::internal
