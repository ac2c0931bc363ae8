// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/c_codec.h"

#include <gtest/gtest.h>

namespace zkrecipes::zk::c_client {
namespace {

TEST(CCodec, WritesAServerAsTheCClientReadsIt) {
  EXPECT_EQ(ToHost("10.0.0.1:2181"), "10.0.0.1:2181");
  EXPECT_EQ(ToHost("[::1]:2182"), "::1:2182");
  EXPECT_EQ(ToHost("[fe80::1%eth0]:2183"), "fe80::1%eth0:2183");
}

TEST(CCodec, KeepsTheFieldsOfAStat) {
  ::Stat stat{};
  stat.czxid = 1;
  stat.ephemeralOwner = 2;
  stat.ctime = 3;
  stat.cversion = 4;
  stat.numChildren = 5;
  const Stat expected{
      .czxid = 1, .ephemeral_owner = 2, .ctime_ms = 3, .cversion = 4, .num_children = 5};
  EXPECT_EQ(FromC(stat), expected);
}

TEST(CCodec, NamesTheModesAsTheCClientDoes) {
  EXPECT_EQ(static_cast<int>(CreateMode::kPersistent), ZOO_PERSISTENT);
  EXPECT_EQ(static_cast<int>(CreateMode::kEphemeral), ZOO_EPHEMERAL);
  EXPECT_EQ(static_cast<int>(CreateMode::kEphemeralSequential), ZOO_EPHEMERAL_SEQUENTIAL);
  EXPECT_EQ(static_cast<int>(CreateMode::kContainer), ZOO_CONTAINER);
}

TEST(CCodec, GivesAnAclOfItsOwn) {
  const CAcl acl({{.permissions = 5, .scheme = "digest", .id = "me:hash"},
                  {.permissions = 1, .scheme = "world", .id = "anyone"}});
  ASSERT_EQ(acl.get()->count, 2);
  EXPECT_EQ(acl.get()->data[0].perms, 5);
  EXPECT_STREQ(acl.get()->data[0].id.scheme, "digest");
  EXPECT_STREQ(acl.get()->data[0].id.id, "me:hash");
  EXPECT_STREQ(acl.get()->data[1].id.id, "anyone");
}

TEST(CCodec, KeepsTheEntriesOfAnAcl) {
  const std::vector<AclEntry> entries = {{5, "digest", "me:hash"}, {1, "world", "anyone"}};
  EXPECT_EQ(FromC(*CAcl(entries).get()), entries);
}

TEST(CCodec, OpensToEverybodyWhereNoAclIsGiven) {
  const CAcl acl({});
  ASSERT_EQ(acl.get()->count, 1);
  EXPECT_EQ(acl.get()->data[0].perms, 31);
  EXPECT_STREQ(acl.get()->data[0].id.scheme, "world");
  EXPECT_STREQ(acl.get()->data[0].id.id, "anyone");
}

}  // namespace
}  // namespace zkrecipes::zk::c_client
