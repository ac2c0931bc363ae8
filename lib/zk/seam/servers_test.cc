// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/servers.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk::inline seam {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(EachOnceShuffled, NamesEachServerOnce) {
  EXPECT_THAT(EachOnceShuffled({"a:1", "b:1", "a:1", "a:2", "b:1"}, 1),
              UnorderedElementsAre("a:1", "b:1", "a:2"));
}

TEST(EachOnceShuffled, SpreadsClientsOverTheServers) {
  std::set<std::string> first;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    first.insert(EachOnceShuffled({"a:1", "b:1", "c:1"}, seed).front());
  }
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(EachOnceShuffled({"a:1", "b:1", "c:1"}, 7), EachOnceShuffled({"a:1", "b:1", "c:1"}, 7));
}

TEST(FromNumeric, IsTheWayBackFromAnAddressToItsText) {
  for (const std::string text : {"127.0.0.1:2181", "[::1]:65535", "10.1.2.3:1"}) {
    sockaddr_storage address{};
    const socklen_t size = FromNumeric(text, address);
    ASSERT_GT(size, 0u) << text;
    EXPECT_EQ(ToNumeric(reinterpret_cast<const sockaddr&>(address), size), text);
  }
  for (const std::string text :
       {"", ":", "no port", "localhost:1", "127.0.0.1:", "[::1]", "[]:1"}) {
    sockaddr_storage address{};
    EXPECT_EQ(FromNumeric(text, address), 0u) << text;
  }
}

TEST(EachOnceShuffled, KeepsTheOrderWithoutASeed) {
  EXPECT_THAT(EachOnceShuffled({"c:1", "a:1", "c:1", "b:1"}, 0), ElementsAre("c:1", "a:1", "b:1"));
}

TEST(CountServers, TakesTwoAddressesOfDifferentFamiliesBehindOneNameForOneServer) {
  const auto is_one = [](const std::string& address) { return address.ends_with(":1"); };
  const auto count = [&](const Resolution& of) {
    const ServerCount counts = CountServers(of, is_one);
    return absl::StrCat(counts.counted, " of ", counts.all);
  };
  Resolution servers(NumericServers{"10.0.0.1:1", "10.0.0.2:2", "[::1]:1"});
  EXPECT_EQ(count(servers), "2 of 3") << "without names";
  servers.listed = {{"a", {"10.0.0.1:1", "[::1]:1"}, ""}, {"b", {"10.0.0.2:2"}, ""}};
  EXPECT_EQ(count(servers), "1 of 2");
  servers.listed = {{"all", {"10.0.0.1:1", "10.0.0.2:2", "[::1]:1", "[::2]:2"}, ""}, {"x", {}, ""}};
  EXPECT_EQ(count(servers), "1 of 3") << "two behind one name, and one unknown";
  servers.listed.back().exists = false;
  EXPECT_EQ(count(servers), "1 of 2");
  // A pod that starts anew is out of the names for a while, and still a server of the list.
  for (int times : {1, 2}) {
    servers = KeepingKnown(servers, {{"all", {}, "", false}, {"x", {"10.0.0.1:1"}, ""}}, 0);
    EXPECT_EQ(count(servers), "1 of 2") << times;
  }
}

TEST(KeepingKnown, ANameThatIsNotAnsweredKeepsItsAddresses) {
  const Resolution before =
      KeepingKnown({}, {{"zk1:1", {"10.0.0.1:1"}, ""}, {"zk2:1", {"10.0.0.2:1"}, ""}}, 0);
  const Resolution after = KeepingKnown(
      before, {{"zk1:1", {}, "no answer"}, {"zk2:1", {"10.9.9.9:1"}, ""}, {"zk3:1", {}, "none"}},
      0);
  EXPECT_THAT(after.addresses, ElementsAre("10.0.0.1:1", "10.9.9.9:1"));
  EXPECT_EQ(after.listed[0].error, "no answer");
  EXPECT_THAT(after.listed[2].addresses, IsEmpty());
  const Resolution gone =
      KeepingKnown(before, {{"zk1:1", {}, "no such name", /*exists=*/false}}, 0);
  EXPECT_THAT(gone.addresses, IsEmpty()) << "the address may be another's by now";
}

NumericServers NextOf(Rotation& rotation, int attempts) {
  NumericServers next;
  for (int i = 0; i < attempts; ++i) next.push_back(rotation.Next());
  return next;
}

TEST(Rotation, GoesRound) {
  Rotation rotation({"a", "b", "c"}, 1);
  EXPECT_THAT(NextOf(rotation, 4), ElementsAre("b", "c", "a", "b"));
}

TEST(Rotation, TriesNewServersFirstAndThoseThatHaveJustFailedLast) {
  Rotation rotation({"a", "b", "c"});
  NextOf(rotation, 2);
  rotation.Replace({"a", "b", "c", "d"});
  EXPECT_THAT(NextOf(rotation, 4), ElementsAre("d", "c", "a", "b"));
}

TEST(Rotation, AListThatIsReadAgainAndAgainDoesNotBringItBackToItsFirstServer) {
  Rotation rotation({"a", "b", "c"});
  for (const char* expected : {"a", "b", "c", "a"}) {
    EXPECT_EQ(rotation.Next(), expected);
    rotation.Replace({"a", "b", "c"});
  }
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
