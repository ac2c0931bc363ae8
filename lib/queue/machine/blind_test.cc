// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/blind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// As each library names its nodes.
const std::string kCurators = "_c_2f9c1d3e-5a77-4c0b-9d4e-0b6b7f0e9a11";
const std::string kCuratorsMutex = kCurators + "-lock-0000000001";
const std::string kCuratorsWriter = kCurators + "-__WRIT__0000000002";
const std::string kCuratorsReader = kCurators + "-__READ__0000000003";
const std::string kCuratorsLatch = kCurators + "-latch-0000000004";
const std::string kKazoos = "2f9c1d3e5a774c0b9d4e0b6b7f0e9a11__lock__0000000005";
const std::string kKazooReader = "2f9c1d3e5a774c0b9d4e0b6b7f0e9a11__rlock__0000000006";
const std::string kGos = "_c_2f9c1d3e5a774c0b9d4e0b6b7f0e9a11-lock-0000000007";
const std::string kOurLock = "_c_7k2m9qz4x1v8b3n-lock-0000000008";
const std::string kOurWriter = "_c_7k2m9qz4x1v8b3n-__WRIT__0000000009";
const std::string kOursInKazoos = "7k2m9qz4x1v8b3n__lock__0000000010";

const zk::Names kAllNames = {
    kCuratorsMutex, kCuratorsWriter, kCuratorsReader, kCuratorsLatch, kKazoos, kKazooReader,
    kGos,           kOurLock,        kOurWriter,      kOursInKazoos,  "locks", "config"};

std::vector<std::string> BlindTo(Mode named) {
  return BlindAmong(kAllNames, Dialect::kCurator, named);
}

TEST(Blind, IsEachRecipeOfCuratorsToNamesThatItDoesNotLookFor) {
  EXPECT_THAT(BlindTo(Mode::kExclusive),
              ElementsAre(kCuratorsWriter, kCuratorsReader, kCuratorsLatch, kKazoos, kKazooReader));
  EXPECT_THAT(BlindTo(Mode::kSharedWriter),
              ElementsAre(kCuratorsMutex, kCuratorsLatch, kKazoos, kKazooReader));
  EXPECT_THAT(BlindTo(Mode::kLeader),
              ElementsAre(kCuratorsMutex, kCuratorsWriter, kCuratorsReader, kKazoos, kKazooReader));
}

TEST(Blind, AreReadersToReadersAndNothingComesOfIt) {
  EXPECT_THAT(BlindTo(Mode::kShared), ElementsAre(kCuratorsMutex, kCuratorsLatch, kKazoos));
  EXPECT_THAT(BlindAmong({kCuratorsReader, kKazooReader}, Dialect::kKazoo, Mode::kShared),
              IsEmpty());
}

TEST(Blind, IsAllOfCuratorsToKazoosNames) {
  EXPECT_THAT(BlindAmong(kAllNames, Dialect::kKazoo, Mode::kExclusive),
              ElementsAre(kCuratorsMutex, kCuratorsWriter, kCuratorsReader, kCuratorsLatch));
}

TEST(Blind, IsASemaphoreToAll) {
  for (const Mode mode : {Mode::kExclusive, Mode::kShared, Mode::kSharedWriter, Mode::kLeader}) {
    for (const Dialect dialect : {Dialect::kCurator, Dialect::kKazoo}) {
      EXPECT_THAT(BlindAmong({"leases"}, dialect, mode), ElementsAre("leases"));
    }
  }
}

TEST(Blind, EndsAContenderThatWouldElseBeGranted) {
  Script()
      .Joins(3, {kCuratorsWriter, Mine(3)})
      .Expect("create a, list, own timer, delete a3")
      .Ok()
      .Expect("finished: blind");
}

TEST(Blind, EndsAWaiterThatListsAgain) {
  Script script;
  script.Joins(3, {Other(1), Mine(3)}).Expect("create a, list, own timer, watch other1");
  script.Ok()
      .Deleted(Other(1))
      .Expect("list")
      .Listed({Mine(3), kCuratorsLatch})
      .Expect("delete a3");
  script.Ok().Expect("finished: blind");
}

TEST(Blind, EndsATryBeforeItHasANode) {
  Script(Try()).Connected().Expect("list").Listed({"leases"}).Expect("finished: blind");
}

TEST(Blind, MayBeAllowed) {
  Candidacy lock = Lock();
  lock.beside_blind = true;
  Script(lock)
      .Joins(3, {kKazoos, "leases", Mine(3)})
      .Expect("create a, list, own timer, granted a3 token 1003 in 7");
}

TEST(Blind, IsNoneToALockThatIsNamedAsTheyAre) {
  Candidacy lock = Lock();
  lock.named_as = Mode::kSharedWriter;
  Script script(lock);
  script.Connected().Created(3).Listed({kCuratorsWriter, MineOf(Mode::kSharedWriter, 3)});
  script.ExpectState(Contender::State::kWatching);
  script.Expect("create a, list, own timer, watch 22");
}

}  // namespace
}  // namespace zkrecipes::queue::machine
