// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/transaction_log.h"

#include <zlib.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/queue_log.h"

namespace zkrecipes::history {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

std::string Number(int64_t value, int size) {
  std::string bytes;
  for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string Int(int32_t value) { return Number(value, 4); }
std::string Long(int64_t value) { return Number(value, 8); }
std::string Text(std::string_view text) {
  return Int(static_cast<int32_t>(text.size())) + std::string(text);
}
std::string OpenAcl() { return Int(1) + Int(31) + Text("world") + Text("anyone"); }
// Of kinds 1 and 15; the last number is the parent's cversion.
std::string Create(const std::string& path, bool ephemeral) {
  return Text(path) + Text("data") + OpenAcl() + std::string(1, ephemeral ? '\1' : '\0') + Int(3);
}
std::string Digest() { return Int(2) + Long(0x7766554433221100); }

// One file of a log: session 7, at 1000 ms and a zxid's worth.
class LogFile {
 public:
  LogFile& Add(int64_t zxid, int32_t type, const std::string& record, int64_t session = 7) {
    const std::string entry =
        Long(session) + Int(1) + Long(zxid) + Long(1000 + zxid) + Int(type) + record + Digest();
    const auto* begin = reinterpret_cast<const Bytef*>(entry.data());
    bytes_ += Long(static_cast<int64_t>(adler32_z(1, begin, entry.size()))) + Text(entry) + "B";
    return *this;
  }
  std::string bytes() const { return bytes_; }
  std::vector<Transaction> Read() const {
    absl::StatusOr<std::vector<Transaction>> read = ReadTransactionLog(bytes_);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *std::move(read) : std::vector<Transaction>();
  }

 private:
  std::string bytes_ = "ZKLG" + Int(2) + Long(0);
};

// Of each transaction: "+/a" created, "+/a*" ephemeral, "-/a" deleted, "end" of the session.
std::vector<std::string> Told(const std::vector<Transaction>& log) {
  std::vector<std::string> all;
  for (const Transaction& transaction : log) {
    std::vector<std::string> told;
    for (const Transaction::Change& change : transaction.changes) {
      const bool created = change.what == Transaction::Change::What::kCreated;
      told.push_back((created ? "+" : "-") + change.path + (change.ephemeral ? "*" : ""));
    }
    if (transaction.ends_session) told.emplace_back("end");
    all.push_back(absl::StrJoin(told, " "));
  }
  return all;
}

TEST(TransactionLog, ReadsWhatIsCreatedAndDeleted) {
  const std::string rest = Text("") + OpenAcl() + Int(1);
  LogFile file;
  file.Add(1, 1, Create("/a", false)).Add(2, 15, Create("/a/b", true));
  file.Add(3, 19, Text("/c") + rest).Add(4, 21, Text("/t") + rest + Long(5000));
  file.Add(5, 2, Text("/a/b")).Add(6, 20, Text("/c"));
  const std::vector<Transaction> log = file.Read();
  ASSERT_THAT(Told(log), ElementsAre("+/a", "+/a/b*", "+/c", "+/t", "-/a/b", "-/c"));
  EXPECT_EQ(log[1].zxid, 2);
  EXPECT_EQ(log[1].time_ms, 1002);
  EXPECT_EQ(log[1].session, 7);
}

TEST(TransactionLog, KeepsTransactionsThatChangeNoNames) {
  LogFile log;
  log.Add(1, -10, Int(5000)).Add(2, 5, Text("/a") + Text("x") + Int(1)).Add(3, -1, Int(-101));
  EXPECT_THAT(Told(log.Read()), ElementsAre("", "", ""));
}

std::string Part(int32_t type, const std::string& record) { return Int(type) + Text(record); }

TEST(TransactionLog, ReadsAllPartsOfAMultiAndNoneOfOneThatFailed) {
  LogFile log;
  log.Add(
      1, 14,
      Int(3) + Part(2, Text("/a")) + Part(13, Text("/b") + Int(0)) + Part(1, Create("/c", true)));
  log.Add(2, 14, Int(2) + Part(2, Text("/a")) + Part(-1, Int(-101)));
  EXPECT_THAT(Told(log.Read()), ElementsAre("-/a +/c*", ""));
}

TEST(TransactionLog, ReadsTheEndOfASessionWithAndWithoutItsNodes) {
  LogFile log;
  log.Add(1, -11, Int(2) + Text("/a") + Text("/b")).Add(2, -11, Int(0));
  log.Add(3, -11, "");  // closeSessionTxn.enabled=false
  EXPECT_THAT(Told(log.Read()), ElementsAre("-/a -/b end", "end", "end"));
}

TEST(TransactionLog, EndsWhereverItWasCutOff) {
  const std::string whole = LogFile().Add(1, 2, Text("/a")).Add(2, 2, Text("/b")).bytes();
  const std::size_t one = LogFile().Add(1, 2, Text("/a")).bytes().size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    for (const std::string& padding : {std::string(), std::string(200, '\0')}) {
      const auto log = ReadTransactionLog(whole.substr(0, size) + padding);
      if (size < 4) continue;  // not even the magic bytes
      ASSERT_TRUE(log.ok()) << size << ": " << log.status();
      EXPECT_THAT(*log, SizeIs(size < one ? 0 : 1)) << size;
    }
  }
}

TEST(TransactionLog, ComplainsOfABadRecordInTheMiddle) {
  std::string bytes = LogFile().Add(1, 2, Text("/a")).Add(2, 2, Text("/b")).bytes();
  bytes[bytes.find("/a")] = '!';
  EXPECT_EQ(ReadTransactionLog(bytes).status().code(), absl::StatusCode::kDataLoss);
}

TEST(TransactionLog, ComplainsOfARecordThatCannotBeReadAndOfAnotherKindOfFile) {
  EXPECT_EQ(ReadTransactionLog(LogFile().Add(1, 2, Int(1000)).bytes()).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadTransactionLog("ZKSN" + std::string(100, '\0')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// ---- several members ----------------------------------------------------------------------------

// "1.2" is transaction 2 of epoch 1; after a "/" stand the snapshots of the member.
std::vector<int64_t> Zxids(const std::string& words) {
  std::vector<int64_t> zxids;
  for (const absl::string_view word : absl::StrSplit(words, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(word, '.');
    zxids.push_back(std::stoll(parts.first) << 32 | std::stoll(parts.second));
  }
  return zxids;
}

void ExpectUnion(const std::vector<std::string>& members, const std::string& expected) {
  std::vector<MemberLog> logs;
  for (const std::string& member : members) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(member, '/');
    MemberLog& log = logs.emplace_back(MemberLog{{}, Zxids(parts.second)});
    for (const int64_t zxid : Zxids(parts.first)) log.transactions.push_back({.zxid = zxid});
  }
  std::vector<int64_t> zxids;
  for (const Transaction& transaction : UnionOf(logs)) zxids.push_back(transaction.zxid);
  EXPECT_EQ(zxids, Zxids(expected));
}

TEST(TransactionUnion, HasWhatAnyMemberHasOnceAndInOrder) {
  ExpectUnion({"0.1 0.2 0.5 / 0.0", "0.2 0.3 0.4 / 0.0", "/ 0.0"}, "0.1 0.2 0.3 0.4 0.5");
}

TEST(TransactionUnion, LeavesOutWhatAFallenLeaderAloneProposed) {
  ExpectUnion({"1.1 1.2 2.4 / 0.0 2.3", "1.1 2.1 2.2 2.3 2.4 / 0.0"}, "1.1 2.1 2.2 2.3 2.4");
}

// The second followed the first's fallen leader to the end, then led the next epoch itself.
TEST(TransactionUnion, LeavesOutWhatTwoWroteDownWhenTheThirdGoesOnWithoutIt) {
  ExpectUnion({"1.1 1.2 3.1 / 0.0", "1.1 1.2 3.1 / 0.0 1.1", "1.1 3.1 / 0.0 1.1"}, "1.1 3.1");
}

TEST(TransactionUnion, LeavesOutAWholeEpochThatAMemberSkips) {
  ExpectUnion({"1.1 2.1 3.1 / 0.0", "1.1 3.1 / 0.0"}, "1.1 3.1");
}

TEST(TransactionUnion, KeepsWhatAMemberLearntFromASnapshot) {
  ExpectUnion({"1.1 1.2 2.1 / 0.0", "1.1 2.1 / 0.0 1.2"}, "1.1 1.2 2.1");
  ExpectUnion({"1.1 1.2 2.1 2.2 / 0.0", "1.1 2.2 / 0.0 2.1"}, "1.1 1.2 2.1 2.2");
}

TEST(TransactionUnion, ConcludesNothingFromAGapInsideAnEpochOrFromAMemberWithoutSnapshots) {
  ExpectUnion({"1.1 1.2 2.1 2.2 / 0.0", "1.1 2.2 / 0.0"}, "1.1 1.2 2.1 2.2");
  ExpectUnion({"1.1 1.2 2.1 / 0.0", "1.1 2.1 /"}, "1.1 1.2 2.1");
}

TEST(TransactionUnion, KeepsTheEndOfTheLastEpoch) {
  ExpectUnion({"1.1 1.2 / 0.0", "1.1 / 0.0"}, "1.1 1.2");
}

// ---- lives --------------------------------------------------------------------------------------

std::vector<NodeLife> LivesIn(const LogFile& log) { return QueueLog(log.Read()).lives(); }

TEST(NodeLives, EndWithADeletionOrWithTheSession) {
  LogFile log;
  log.Add(1, 1, Create("/p", false)).Add(2, 1, Create("/p/a", true));
  log.Add(3, 1, Create("/p/b", true)).Add(4, 1, Create("/p/c", true), /*session=*/8);
  log.Add(5, 2, Text("/p/a")).Add(6, -11, "");
  // path, czxid, created, session, parent, gone
  EXPECT_THAT(LivesIn(log), ElementsAre(NodeLife{"/p", 1, 1001},  //
                                        NodeLife{"/p/a", 2, 1002, 7, 1, 5, 1005},
                                        NodeLife{"/p/b", 3, 1003, 7, 1, 6, 1006},
                                        NodeLife{"/p/c", 4, 1004, 8, 1}));
}

TEST(NodeLives, KnowTheIncarnationOfTheirParent) {
  LogFile log;
  log.Add(1, 1, Create("/p/a", true)).Add(2, 2, Text("/p/a")).Add(3, 2, Text("/p"));
  log.Add(4, 1, Create("/p", false)).Add(5, 1, Create("/p/a", true));
  EXPECT_THAT(LivesIn(log),
              ElementsAre(Field(&NodeLife::parent_czxid, 0), _, Field(&NodeLife::parent_czxid, 4)));
}

}  // namespace
}  // namespace zkrecipes::history
