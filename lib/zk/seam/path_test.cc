// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/path.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk::inline seam {
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

TEST(Path, RefusalSaysWhichRuleIsBroken) {
  const struct {
    const char* rule;
    std::vector<const char*> paths;
  } kRefused[] = {
      {"must not be empty", {""}},
      {"must not be the root", {"/"}},
      {"must not end with a slash", {"/a/", "//"}},
      {"double slash", {"/a//b", "//b"}},
      {"component \".\"", {"/a/./b", "/."}},
      {"component \"..\"", {"/a/.."}},
      {"U+007F", {"/a\x7f"}},
      {"U+009F", {"/a\xc2\x9f"}},
      {"U+E000", {"/\xee\x80\x80"}},       // private use
      {"U+FFF0", {"/\xef\xbf\xb0"}},       // specials
      {"U+1F512", {"/\xf0\x9f\x94\x92"}},  // surrogates in UTF-16
      // Stray bytes, one that is cut short, overlong slashes, a lone surrogate, beyond Unicode.
      {"valid UTF-8",
       {"/\xff", "/\x80", "/a\xc3", "/\xc0\xaf", "/\xe0\x80\xaf", "/\xed\xa0\x80",
        "/\xf5\x80\x80\x80"}},
  };
  for (const auto& [rule, paths] : kRefused) {
    for (const char* path : paths) EXPECT_THAT(Refusal(path), HasSubstr(rule)) << path;
  }
  EXPECT_THAT(Refusal(std::string("/a\0b", 4)), HasSubstr("U+0000"));
  EXPECT_EQ(Refusal("/a\nb"), "lock path \"/a\\nb\": must not contain the character U+000A");
  EXPECT_EQ(Refusal("/\xef\xa4\x80"), "");  // U+F900, just above the private use
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
}  // namespace zkrecipes::zk::inline seam
