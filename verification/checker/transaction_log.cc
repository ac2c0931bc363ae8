// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/transaction_log.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::history {
namespace {

// Takes values of ZooKeeper's serialisation from the front of some bytes: numbers are big-endian,
// strings and buffers have their length in front. Once something does not fit, it is not ok() and
// all that it gives is empty.
class JuteReader {
 public:
  explicit JuteReader(std::string bytes) : bytes_(std::move(bytes)) {}

  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }
  std::string_view rest() const { return std::string_view(bytes_).substr(at_); }

  char Byte() { return static_cast<char>(Number(1)); }
  bool Bool() { return Number(1) != 0; }
  int32_t Int() { return static_cast<int32_t>(Number(4)); }
  int64_t Long() { return static_cast<int64_t>(Number(8)); }
  // A length of -1 means null, which is taken for empty.
  std::string String() {
    const int32_t size = Int();
    if (size <= 0) return "";
    return std::string(Take(static_cast<std::size_t>(size)));
  }

 private:
  std::string_view Take(std::size_t size) {
    ok_ = ok_ && size <= bytes_.size() - at_;
    if (!ok_) return "";
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }
  uint64_t Number(std::size_t size) {
    uint64_t value = 0;
    for (const char byte : Take(size)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }

  std::string bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// ZooKeeper's ZooDefs.OpCode, those that a log holds.
enum Type : int32_t {
  kCreate = 1,
  kDelete = 2,
  kMulti = 14,
  kCreate2 = 15,
  kCreateContainer = 19,
  kDeleteContainer = 20,
  kCreateTtl = 21,
  kError = -1,
  kCloseSession = -11,
};

constexpr std::size_t kFileHeader = 16;  // "ZKLG", version, database
constexpr char kEndOfRecord = 'B';

void SkipAcl(JuteReader& in) {
  for (int32_t i = in.Int(); i > 0 && in.ok(); --i) {
    in.Int();
    in.String();
    in.String();
  }
}

void ReadCreate(JuteReader& in, bool says_if_ephemeral, Transaction& into) {
  Transaction::Change change{.what = Transaction::Change::What::kCreated, .path = in.String()};
  in.String();  // its data
  SkipAcl(in);
  if (says_if_ephemeral) change.ephemeral = in.Bool();
  into.changes.push_back(std::move(change));
}

void AddDeletion(std::string path, Transaction& into) {
  into.changes.push_back({Transaction::Change::What::kDeleted, std::move(path)});
}

// The record may be missing. What is there instead, a digest of the tree, makes no list of paths.
void ReadPathsOfSession(JuteReader in, Transaction& into) {
  into.ends_session = true;
  const std::size_t before = into.changes.size();
  for (int32_t i = in.Int(); i > 0 && in.ok(); --i) AddDeletion(in.String(), into);
  if (!in.ok()) into.changes.resize(before);
}

void ReadRecord(int32_t type, JuteReader& in, Transaction& into);

// All of it, or, if one part of it is an error, nothing.
void ReadMulti(JuteReader& in, Transaction& into) {
  bool failed = false;
  for (int32_t i = in.Int(); i > 0 && in.ok(); --i) {
    const int32_t type = in.Int();
    failed = failed || type == kError;
    JuteReader part(in.String());
    if (!failed && type != kMulti) ReadRecord(type, part, into);
    if (!part.ok()) in.Fail();
  }
  if (failed) into.changes.clear();
}

void ReadRecord(int32_t type, JuteReader& in, Transaction& into) {
  switch (type) {
    case kCreate:
    case kCreate2:
      return ReadCreate(in, /*says_if_ephemeral=*/true, into);
    case kCreateContainer:
    case kCreateTtl:
      return ReadCreate(in, /*says_if_ephemeral=*/false, into);
    case kDelete:
    case kDeleteContainer:
      return AddDeletion(in.String(), into);
    case kMulti:
      return ReadMulti(in, into);
    case kCloseSession:
      return ReadPathsOfSession(in, into);
    default:
      return;
  }
}

// The digest that follows TxnHeader and the record is not needed.
absl::StatusOr<Transaction> Parse(const std::string& bytes) {
  JuteReader in(bytes);
  Transaction transaction;
  transaction.session = in.Long();
  in.Int();  // the client's own count
  transaction.zxid = in.Long();
  transaction.time_ms = in.Long();
  const int32_t type = in.Int();
  ReadRecord(type, in, transaction);
  if (in.ok()) return transaction;
  return absl::DataLossError(
      absl::StrCat("transaction ", transaction.zxid, " of type ", type, " cannot be read"));
}

// ---- several members ----------------------------------------------------------------------------

int64_t EpochOf(int64_t zxid) { return zxid >> 32; }
int64_t CountOf(int64_t zxid) { return zxid & 0xffffffff; }

// Zxids between the two, of which none was ever committed.
struct Gap {
  int64_t after;
  int64_t before;

  bool Has(int64_t zxid) const { return zxid > after && zxid < before; }
};

// Where the log skips to the first transaction of another epoch, and had no snapshot to learn from
// what lies between.
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

absl::StatusOr<std::vector<Transaction>> ReadTransactionLog(const std::string& bytes) {
  std::vector<Transaction> transactions;
  if (bytes.size() < kFileHeader) return transactions;  // killed when it had just made the file
  if (bytes.compare(0, 4, "ZKLG") != 0) return absl::InvalidArgumentError("no transaction log");
  JuteReader in(bytes.substr(kFileHeader));
  while (true) {
    const int64_t checksum = in.Long();
    const std::string record = in.String();
    const char end = in.Byte();
    if (!in.ok() || record.empty() || end != kEndOfRecord) return transactions;
    const auto* begin = reinterpret_cast<const Bytef*>(record.data());
    if (checksum != static_cast<int64_t>(adler32_z(1, begin, record.size()))) {
      if (in.rest().find_first_not_of('\0') == std::string_view::npos) return transactions;
      return absl::DataLossError(
          absl::StrCat("a wrong checksum behind ", transactions.size(), " transactions"));
    }
    absl::StatusOr<Transaction> transaction = Parse(record);
    if (!transaction.ok()) return transaction.status();
    transactions.push_back(*std::move(transaction));
  }
}

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
