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
};

bool HasSnapshotIn(const MemberLog& member, const Gap& gap) {
  return std::any_of(member.snapshots.begin(), member.snapshots.end(),
                     [&](int64_t zxid) { return zxid > gap.after && zxid < gap.before; });
}

// Where the log goes over to the first transaction of another epoch, with nothing in between that it
// could have learnt from a snapshot.
std::vector<Gap> GapsOf(const MemberLog& member) {
  std::vector<Gap> gaps;
  if (member.snapshots.empty()) return gaps;
  for (std::size_t i = 1; i < member.transactions.size(); ++i) {
    const Gap gap{member.transactions[i - 1].zxid, member.transactions[i].zxid};
    if (EpochOf(gap.before) == EpochOf(gap.after) || CountOf(gap.before) != 1) continue;
    if (!HasSnapshotIn(member, gap)) gaps.push_back(gap);
  }
  return gaps;
}

bool InAny(const std::vector<Gap>& gaps, int64_t zxid) {
  return std::any_of(gaps.begin(), gaps.end(),
                     [&](const Gap& gap) { return zxid > gap.after && zxid < gap.before; });
}

std::string ReadBytes(std::ifstream& file) {
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

absl::StatusOr<std::vector<Transaction>> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  auto transactions = ReadTransactionLog(ReadBytes(file));
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
    if (!InAny(gaps, zxid)) together.push_back(*transaction);
  }
  return together;
}

absl::StatusOr<std::vector<Transaction>> ReadTransactionLogs(
    const std::vector<std::string>& files) {
  std::map<std::string, std::map<int64_t, Transaction>> members;  // by directory
  for (const std::string& path : files) {
    auto read = ReadFile(path);
    if (!read.ok()) return read.status();
    auto& member = members[std::filesystem::path(path).parent_path().string()];
    for (Transaction& transaction : *read) {
      const int64_t zxid = transaction.zxid;
      member.emplace(zxid, std::move(transaction));
    }
  }
  std::vector<MemberLog> logs;
  for (auto& [directory, transactions] : members) {
    MemberLog& log = logs.emplace_back();
    for (auto& [zxid, transaction] : transactions) {
      log.transactions.push_back(std::move(transaction));
    }
    log.snapshots = SnapshotsIn(directory);
  }
  return UnionOf(logs);
}

}  // namespace zkrecipes::history
