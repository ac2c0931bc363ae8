// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/path.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk {
namespace {

using ::testing::HasSubstr;

// The message of the refusal, "" when the path is accepted.
std::string Refusal(const std::string& path) {
  const absl::Status status = ValidatePath("lock path", path);
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lock path \""));
  return std::string(status.message());
}

TEST(Path, ThatZooKeeperTakesIsAccepted) {
  EXPECT_EQ(Refusal("/a"), "");
  EXPECT_EQ(Refusal("/locks/orders-7/with space/_x.y"), "");
  EXPECT_EQ(Refusal("/locks/caf\xc3\xa9/\xe2\x82\xac"), "");
  EXPECT_EQ(Refusal("/a/.b/c./..d/..."), "");
  EXPECT_EQ(Refusal("/zookeeper-locks"), "");
  EXPECT_EQ(Refusal("/a/zookeeper"), "");
}

TEST(Path, RefusalNamesTheInputAndTheRule) {
  EXPECT_EQ(Refusal("a/b"), "lock path \"a/b\": must be absolute (start with a slash)");
}

TEST(Path, EmptyIsRefused) { EXPECT_THAT(Refusal(""), HasSubstr("must not be empty")); }

TEST(Path, RootIsRefused) { EXPECT_THAT(Refusal("/"), HasSubstr("must not be the root")); }

TEST(Path, WithATrailingSlashIsRefused) {
  EXPECT_THAT(Refusal("/a/"), HasSubstr("must not end with a slash"));
  EXPECT_THAT(Refusal("//"), HasSubstr("must not end with a slash"));
}

TEST(Path, WithADoubleSlashIsRefused) {
  EXPECT_THAT(Refusal("/a//b"), HasSubstr("double slash"));
  EXPECT_THAT(Refusal("//b"), HasSubstr("double slash"));
}

TEST(Path, WithARelativeComponentIsRefused) {
  EXPECT_THAT(Refusal("/a/./b"), HasSubstr("component \".\""));
  EXPECT_THAT(Refusal("/a/.."), HasSubstr("component \"..\""));
  EXPECT_THAT(Refusal("/."), HasSubstr("component \".\""));
}

TEST(Path, WithAControlCharacterIsRefusedAndShownEscaped) {
  EXPECT_EQ(Refusal("/a\nb"), "lock path \"/a\\nb\": must not contain the character U+000A");
  EXPECT_THAT(Refusal(std::string("/a\0b", 4)), HasSubstr("U+0000"));
  EXPECT_THAT(Refusal("/a\x7f"), HasSubstr("U+007F"));
  EXPECT_THAT(Refusal("/a\xc2\x9f"), HasSubstr("U+009F"));
}

TEST(Path, WithACharacterThatTheServerRefusesIsRefused) {
  EXPECT_THAT(Refusal("/\xee\x80\x80"), HasSubstr("U+E000"));       // private use
  EXPECT_THAT(Refusal("/\xef\xbf\xb0"), HasSubstr("U+FFF0"));       // specials
  EXPECT_THAT(Refusal("/\xf0\x9f\x94\x92"), HasSubstr("U+1F512"));  // surrogates in UTF-16
  EXPECT_EQ(Refusal("/\xef\xa4\x80"), "");                          // U+F900, just above
}

TEST(Path, ThatIsNotUtf8IsRefused) {
  EXPECT_THAT(Refusal("/\xff"), HasSubstr("valid UTF-8"));
  EXPECT_THAT(Refusal("/\x80"), HasSubstr("valid UTF-8"));
  EXPECT_THAT(Refusal("/a\xc3"), HasSubstr("valid UTF-8"));             // cut short
  EXPECT_THAT(Refusal("/\xc0\xaf"), HasSubstr("valid UTF-8"));          // overlong slash
  EXPECT_THAT(Refusal("/\xe0\x80\xaf"), HasSubstr("valid UTF-8"));      // overlong slash
  EXPECT_THAT(Refusal("/\xed\xa0\x80"), HasSubstr("valid UTF-8"));      // lone surrogate
  EXPECT_THAT(Refusal("/\xf5\x80\x80\x80"), HasSubstr("valid UTF-8"));  // beyond Unicode
}

TEST(Path, OfZooKeeperItselfIsRefused) {
  EXPECT_THAT(Refusal("/zookeeper"), HasSubstr("ZooKeeper's own"));
  EXPECT_THAT(Refusal("/zookeeper/quota"), HasSubstr("ZooKeeper's own"));
}

TEST(Path, OfUpTo512BytesIsAccepted) {
  EXPECT_EQ(Refusal("/" + std::string(511, 'a')), "");
  const std::string refusal = Refusal("/" + std::string(512, 'a'));
  EXPECT_THAT(refusal, HasSubstr("must have at most 512 bytes, has 513"));
  EXPECT_LT(refusal.size(), 200u) << "shows only the beginning of an endless path";
}

TEST(Path, HasAParentAndAName) {
  EXPECT_EQ(ParentPath("/a/b/c"), "/a/b");
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(NodeName("/a/b/c"), "c");
  EXPECT_EQ(JoinPath("/a/b", "c"), "/a/b/c");
  EXPECT_EQ(JoinPath("/", "a"), "/a");
}

TEST(Namespace, IsAddedToWhatGoesToTheServerAndTakenOffAgain) {
  const Namespace ns("/team/x");
  EXPECT_EQ(ns.ToServer("/a"), "/team/x/a");
  EXPECT_EQ(ns.ToUser("/team/x/a"), "/a");
  EXPECT_EQ(ns.ToServer("/"), "/team/x");
  EXPECT_EQ(ns.ToUser("/team/x"), "/");
}

TEST(Namespace, ThatIsEmptyChangesNothing) {
  const Namespace all;
  EXPECT_EQ(all.ToServer("/a"), "/a");
  EXPECT_EQ(all.ToUser("/a"), "/a");
  EXPECT_EQ(all.ToServer("/"), "/");
  EXPECT_EQ(all.ToUser("/"), "/");
}

}  // namespace
}  // namespace zkrecipes::zk
