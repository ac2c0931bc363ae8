// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource.h"

#include "gtest/gtest.h"

namespace zkrecipes::history {
namespace {

constexpr Event::Mode kExclusive = Event::Mode::kExclusive;
constexpr Event::Mode kShared = Event::Mode::kShared;

class ResourceTest : public ::testing::Test {
 protected:
  bool Admits(Event::Mode mode, int64_t token) {
    return resource_.Write("/a", mode, token).accepted;
  }

  Resource resource_;
};

TEST_F(ResourceTest, AdmitsTheSameTokenAgainAndALargerOne) {
  EXPECT_TRUE(Admits(kExclusive, 5));
  EXPECT_TRUE(Admits(kExclusive, 5));
  EXPECT_TRUE(Admits(kExclusive, 6));
}

TEST_F(ResourceTest, RefusesAWriterWhoseTokenIsBelowAnotherWriters) {
  EXPECT_TRUE(Admits(kExclusive, 6));
  EXPECT_FALSE(Admits(kExclusive, 5));
  EXPECT_TRUE(Admits(kExclusive, 6));
}

TEST_F(ResourceTest, RefusesAWriterWhoseTokenIsBelowAReaders) {
  EXPECT_TRUE(Admits(kShared, 6));
  EXPECT_FALSE(Admits(kExclusive, 5));
}

TEST_F(ResourceTest, RefusesAReaderWhoseTokenIsBelowAWriters) {
  EXPECT_TRUE(Admits(kExclusive, 6));
  EXPECT_FALSE(Admits(kShared, 5));
}

TEST_F(ResourceTest, AdmitsReadersTogetherWhateverTheirTokens) {
  EXPECT_TRUE(Admits(kShared, 6));
  EXPECT_TRUE(Admits(kShared, 5));
  EXPECT_FALSE(Admits(kExclusive, 5)) << "the largest reader's counts, not the last one's";
}

TEST_F(ResourceTest, AdmitsTheReaderThatAWriterBecameWithTheSameToken) {
  EXPECT_TRUE(Admits(kExclusive, 6));
  EXPECT_TRUE(Admits(kShared, 6));
}

TEST_F(ResourceTest, ARefusedTokenChangesNothing) {
  EXPECT_TRUE(Admits(kExclusive, 6));
  EXPECT_FALSE(Admits(kShared, 5));
  EXPECT_TRUE(Admits(kExclusive, 6));
}

TEST_F(ResourceTest, EveryPathHasItsOwnGateAndAllHaveOneOrder) {
  EXPECT_EQ(resource_.Write("/a", kExclusive, 6).order, 1);
  const Resource::Verdict other = resource_.Write("/b", kExclusive, 5);
  EXPECT_TRUE(other.accepted);
  EXPECT_EQ(other.order, 2);
  const Resource::Verdict refused = resource_.Write("/a", kExclusive, 5);
  EXPECT_FALSE(refused.accepted);
  EXPECT_EQ(refused.order, 3);
  EXPECT_EQ(resource_.accepted(), 2);
  EXPECT_EQ(resource_.refused(), 1);
}

}  // namespace
}  // namespace zkrecipes::history
