// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "verification/checker/transaction_log.h"

namespace zkrecipes::history {
namespace {

int64_t EpochOf(int64_t zxid) { return zxid >> 32; }
int64_t CountOf(int64_t zxid) { return zxid & 0xffffffff; }

// Zxids of which none was ever committed: those between the two.
struct Gap {
  int64_t after;
  int64_t before;

  bool Has(int64_t zxid) const { return zxid > after && zxid < before; }
};

// Where the log skips to the first transaction of another epoch, and had no snapshot to learn from what
// lies between.
std::vector<Gap> GapsOf(const MemberLog& member) {
  std::vector<Gap> gaps;
  if (member.snapshots.empty()) return gaps;
  for (std::size_t i = 1; i < member.transactions.size(); ++i) {
    const Gap gap{member.transactions[i - 1].zxid, member.transactions[i].zxid};
    if (EpochOf(gap.before) == EpochOf(gap.after) || CountOf(gap.before) != 1) continue;
    const auto inside = [&gap](int64_t zxid) { return gap.Has(zxid); };
    if (std::ranges::none_of(member.snapshots, inside)) gaps.push_back(gap);
  }
  return gaps;
}

absl::StatusOr<std::vector<Transaction>> ReadOne(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  auto transactions = ReadTransactionLog({std::istreambuf_iterator<char>(file), {}});
  if (transactions.ok()) return transactions;
  return absl::Status(transactions.status().code(),
                      absl::StrCat(path, ": ", transactions.status().message()));
}

std::vector<int64_t> SnapshotsIn(const std::string& directory) {
  std::vector<int64_t> zxids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    int64_t zxid = 0;
    if (absl::StartsWith(name, "snapshot.") && absl::SimpleHexAtoi(name.substr(9), &zxid)) {
      zxids.push_back(zxid);
    }
  }
  return zxids;
}

}  // namespace

std::vector<Transaction> UnionOf(const std::vector<MemberLog>& members) {
  std::vector<Gap> gaps;
  std::map<int64_t, const Transaction*> all;
  for (const MemberLog& member : members) {
    for (const Gap& gap : GapsOf(member)) gaps.push_back(gap);
    for (const Transaction& transaction : member.transactions) {
      all.emplace(transaction.zxid, &transaction);
    }
  }
  std::vector<Transaction> together;
  for (const auto& [zxid, transaction] : all) {
    const auto skipped = [zxid = zxid](const Gap& gap) { return gap.Has(zxid); };
    if (std::ranges::none_of(gaps, skipped)) together.push_back(*transaction);
  }
  return together;
}

absl::StatusOr<std::vector<Transaction>> ReadTransactionLogs(
    const std::vector<std::string>& files) {
  std::map<std::string, MemberLog> members;  // by directory
  for (const std::string& path : files) {
    auto read = ReadOne(path);
    if (!read.ok()) return read.status();
    MemberLog& member = members[std::filesystem::path(path).parent_path().string()];
    std::ranges::move(*read, std::back_inserter(member.transactions));
  }
  std::vector<MemberLog> logs;
  for (auto& [directory, member] : members) {
    std::ranges::stable_sort(member.transactions, {}, &Transaction::zxid);
    member.snapshots = SnapshotsIn(directory);
    logs.push_back(std::move(member));
  }
  return UnionOf(logs);
}

}  // namespace zkrecipes::history
