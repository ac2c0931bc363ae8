// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/tenant.h"

#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "testing/memory/tree.h"

namespace zkrecipes::schedules {
namespace {

using testing::memory::Node;

// $ is the path, @ a guid, ~ a thousand dashes: in a UUID, where they may be anywhere.
constexpr const char* kList[] = {
    // Contenders, by their names: in front of everybody, in between, and behind.
    "$/_c_@-lock-0000000000",
    "$/_c_@-latch-0000000001",
    "$/_c_@-__READ__0000000000",
    "$/_c_@-__WRIT__0000000002",
    "$/@__lock__0000000003",
    "$/@__rlock__0000000004",
    "$/_c_@-lock--000000001",
    "$/_c_@-lock--2147483648",
    "$/_c_@-lock-2147483647",
    // No contenders.
    "$/_c_@-lock-",
    "$/_c_@-lock-12345",
    "$/_c_@-lock-4294967295",
    "$/_c_@-lock-99999999999999999999",
    "$/_c_@-lock-0000000000 ",
    "$/_c_00112233445566778899aabbccddeeff~-lock-0000000000",
    "$/-lock-0000000000",
    "$/lock-0000000001",
    "$/_c_@-latch-00000000x0",
    "$/_c_@__lock__0000000000",
    "$/0000000000",
    "$/foreign",
    "$/foreign/_c_@-lock-0000000000",
    // Outside the queue.
    "$",
    "/zkrecipes-never",
    "/zkrecipes-never/beat",
    "/zkrecipes-never/beat/x",
    "/zkrecipes-missing",
    "/zkrecipes-missing/beat",
    "/zkrecipes-missing-@",
    "/zkrecipes-missing-@/beat",
};
constexpr size_t kContenders = 9;            // the first ones
constexpr char kGuid[] = "0123456789abcde";  // as of ours: others refuse us (admission.h)

constexpr const char* kTexts[] = {
    "",    "{", "{\"token\":1}", "{\"id\":\"x\",\"token\":9223372036854775807}", "x\n{\"token\":2}",
    "\n\n"};

// A contender's path.
std::string Pick(size_t which, const QueueHistory& queue) {
  const auto& nodes = queue.nodes();
  if (nodes.empty()) return "";
  return std::next(nodes.begin(), static_cast<std::ptrdiff_t>(which % nodes.size()))->second;
}

}  // namespace

const size_t Tenant::kNodes = std::size(kList);

std::string Tenant::Listed(size_t which) const {
  return absl::StrReplaceAll(kList[which % std::size(kList)],
                             {{"$", path_}, {"@", kGuid}, {"~", std::string(1000, '-')}});
}

void Tenant::Create(size_t which, base::BootTime now) {
  const std::string path = Listed(which);
  // With what is above it, outside the queue.
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    if (path.substr(0, end) != path_) (void)model_.OperatorCreates(path.substr(0, end), {}, now);
  }
  (void)model_.OperatorCreates(path, Node{.data = kTexts[which % std::size(kTexts)]}, now);
}

void Tenant::Delete(size_t which, base::BootTime now) {
  if (Listed(which) != path_) (void)model_.OperatorDeletes(Listed(which), now);
}

void Tenant::Deny(size_t which, const QueueHistory& queue) {
  using namespace testing::memory;  // NOLINT(google-build-using-namespace): the permissions
  constexpr int32_t kRights[] = {0, kMayRead | kMayWrite | kMayCreate,
                                 kMayWrite | kMayCreate | kMayDelete};
  const size_t target = which / std::size(kRights);
  const std::string path = target < 2 ? path_ : Pick(target, queue);
  const std::vector<zk::AclEntry> acl = {{kRights[which % std::size(kRights)], "world", "anyone"}};
  if (!model_.OperatorSetsAcl(path, acl)) return;
  denied_.insert(path);
}

// All that it ever denied: a change of leader may have undone an earlier opening.
void Tenant::AllowAll() {
  for (const std::string& path : denied_) (void)model_.OperatorSetsAcl(path, {});
}

void Tenant::Write(size_t which, const QueueHistory& queue) {
  (void)model_.OperatorSetsData(Pick(which, queue), kTexts[which % std::size(kTexts)]);
}

void Tenant::Crowd(size_t nodes, base::BootTime now) {
  for (size_t i = 0; i < nodes; ++i) {
    (void)model_.OperatorCreates(absl::StrCat(path_, "/_c_", kGuid, "-lock-", ++crowd_), {}, now);
  }
  model_.Spread();
}

void Tenant::Leave(base::BootTime now) {
  AllowAll();
  for (size_t i = 0; i < kContenders; ++i) (void)model_.OperatorDeletes(Listed(i), now);
}

}  // namespace zkrecipes::schedules
