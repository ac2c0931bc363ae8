// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <fstream>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "lib/base/secret.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/narrator.h"
#include "tools/zkr/commands/rest.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::zkr::commands {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Read = absl::StatusOr<std::vector<std::string>>;

// A pipe, as `--digest-file <(...)` gives.
Read ReadText(const std::string& text) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  const base::UniqueFd out(ends[0]);
  {
    const base::UniqueFd in(ends[1]);
    EXPECT_EQ(fcntl(in.get(), F_SETPIPE_SZ, 1 << 20), 1 << 20);
    EXPECT_EQ(write(in.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  return ReadCredentials(absl::StrCat("/proc/self/fd/", out.get()));
}

TEST(Credentials, AreOneUserALine) {
  EXPECT_THAT(*ReadText("alice:secret\n"), ElementsAre("alice:secret"));
  EXPECT_THAT(*ReadText("alice:secret\n\nbob:a b:c\ncarol:"),
              ElementsAre("alice:secret", "bob:a b:c", "carol:"));
}

TEST(Credentials, OfAnotherFormAreRefusedByLineAndNotShown) {
  for (const std::string line : {"secret", ":secret", "alice:secret\r"}) {
    const Read read = ReadText("bob:b\n" + line + "\n");
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(": line 2 is not user:password"));
    EXPECT_THAT(std::string(read.status().message()), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(std::string(ReadText("\n").status().message()), HasSubstr("names no user"));
}

TEST(Credentials, OfAFileThatIsNoneAreRefused) {
  EXPECT_EQ(ReadCredentials("/none/here").status().message(),
            "/none/here: No such file or directory");
  EXPECT_EQ(ReadCredentials("/").status().message(), "/: Is a directory");
  EXPECT_TRUE(ReadText("a:" + std::string((64 << 10) - 2, 'x')).ok());
  EXPECT_THAT(std::string(ReadText("a:" + std::string((64 << 10) - 1, 'x')).status().message()),
              HasSubstr("larger than 64 KiB"));
}

// A password that stands nowhere else in this program.
constexpr absl::string_view kMasked =
    "\x3b\x29\x6b\x34\x2c\x6d\x21\x30\x3c\x6f\x22\x35\x2e\x68\x39\x28\x2d\x37\x6a\x23";
char Unmasked(char c) { return static_cast<char>(c ^ 0x5a); }

bool IsOnTheHeap() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (!absl::StrContains(line, "[heap]")) continue;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) return false;
    const char* const last = reinterpret_cast<const char*>(end);
    return std::search(reinterpret_cast<const char*>(begin), last, kMasked.begin(), kMasked.end(),
                       [](char here, char masked) { return here == Unmasked(masked); }) != last;
  }
  return false;
}

TEST(Credentials, AreNotLeftInMemoryWhenTheirFileIsRefused) {
  mallopt(M_TRIM_THRESHOLD, INT_MAX);  // what is freed stays where it was
  for (const std::string& rest : {std::string(64 << 10, 'x'), std::string("\nsecret\n")}) {
    std::string text;
    text.reserve(65 << 10);
    text.append("alice:").append(100, 'y');  // whatever frees memory may write at its beginning
    for (const char c : kMasked) text.push_back(Unmasked(c));
    text += rest;
    if (!IsOnTheHeap()) GTEST_SKIP() << "this allocator has its memory elsewhere";
    EXPECT_TRUE(absl::IsInvalidArgument(ReadText(text).status()));
    base::Wipe(text);
    EXPECT_FALSE(IsOnTheHeap()) << rest.size();
  }
}

class CheckNumbersLeftTest : public ::testing::Test {
 protected:
  absl::Status Check() { return CheckNumbersLeft(*client_, "/q", {}); }

  testing::InMemoryEnsemble ensemble_;
  const std::shared_ptr<Client> client_ = *ensemble_.Connect();
};

TEST_F(CheckNumbersLeftTest, RefusesWithoutUsingANumber) {
  ASSERT_TRUE(ensemble_.Create("/q"));
  EXPECT_EQ(Check(), absl::OkStatus());
  ASSERT_TRUE(ensemble_.UseUpNumbers("/q"));
  const absl::Status refused = Check();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("sequence numbers are nearly used up"));
  // The recipe says the same, after it has made a node.
  EXPECT_EQ(Lock(client_, "/q").Acquire().status(), refused);
}

TEST_F(CheckNumbersLeftTest, LeavesTheRestToTheContender) {
  EXPECT_EQ(Check(), absl::OkStatus());  // no such path
  std::stop_source cancel;
  cancel.request_stop();
  EXPECT_EQ(CheckNumbersLeft(*client_, "/q", cancel.get_token()), absl::OkStatus());
  EXPECT_TRUE(client_->Close().ok());
  EXPECT_EQ(Check(), absl::OkStatus());
}

ContenderInfo Contender(std::int64_t session, const std::string& host) {
  ContenderInfo contender;
  contender.session = session;
  contender.owner = {.id = "", .host = host, .pid = 7};
  contender.holds = session == 1;
  return contender;
}

TEST(WhyItWaits, NamesTheNextAndTheHolder) {
  const std::vector<ContenderInfo> queue = {Contender(1, "one"), Contender(2, "two"),
                                            Contender(3, "three")};
  EXPECT_THAT(
      WhyItWaits("/a", queue, 3),
      ::testing::StartsWith("waiting for /a: 2 in front, the next is two:7; held by one:7 since "));
}

TEST(WhyItWaits, CountsThoseWhoHoldTogether) {
  std::vector<ContenderInfo> queue = {Contender(1, "one"), Contender(2, "two"),
                                      Contender(3, "three")};
  queue[1].holds = true;
  EXPECT_THAT(WhyItWaits("/a", queue, 3), ::testing::EndsWith(", and by 1 more"));
  EXPECT_EQ(WhyItWaits("/a", queue, 2), "");
}

// Nobody waits for a group's member, though its number may be lower.
TEST(WhyItWaits, CountsNoMembers) {
  std::vector<ContenderInfo> queue = {Contender(9, "member"), Contender(1, "one"),
                                      Contender(2, "two")};
  queue[0].holds = true;
  queue[0].node = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-member-0000000007";
  EXPECT_THAT(
      WhyItWaits("/a", queue, 2),
      ::testing::StartsWith("waiting for /a: 1 in front, the next is one:7; held by one:7 since "));
}

TEST(WhyItWaits, SaysNothingOfOneThatIsFirstOrNotThere) {
  const std::vector<ContenderInfo> queue = {Contender(1, "one"), Contender(2, "two")};
  EXPECT_EQ(WhyItWaits("/a", queue, 1), "");
  EXPECT_EQ(WhyItWaits("/a", queue, 3), "");
}

TEST(WhyItWaits, ShowsNoControlCharacters) {
  const std::vector<ContenderInfo> queue = {Contender(1, "\x1b[2J"), Contender(2, "two")};
  EXPECT_THAT(WhyItWaits("/a", queue, 2), ::testing::Not(::testing::HasSubstr("\x1b")));
}

TEST(Rest, GrowsWhileTheCommandEndsAtOnce) {
  Rest rest;
  for (const int seconds : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_EQ(rest.After(absl::Milliseconds(10)), absl::Seconds(seconds));
  }
}

TEST(Rest, IsNotNeededAfterACommandThatRanForAWhile) {
  Rest rest;
  EXPECT_EQ(rest.After(absl::ZeroDuration()), absl::Seconds(1));
  EXPECT_EQ(rest.After(absl::Seconds(1)), absl::ZeroDuration());
  EXPECT_EQ(rest.After(absl::ZeroDuration()), absl::Seconds(1));
}

// As RunWhileLeading does: servers that are slow for a while cost a turn, not the candidate.
TEST(StandsAgain, AfterALostPlaceOrAMissingProofButNotWithoutAFirstConnection) {
  EXPECT_TRUE(StandsAgain(absl::AbortedError("its node was deleted"), true));
  EXPECT_TRUE(StandsAgain(absl::UnavailableError("its session was not proven"), true));
  EXPECT_FALSE(StandsAgain(absl::UnavailableError("no session"), false));
  for (const auto code : {absl::StatusCode::kPermissionDenied, absl::StatusCode::kUnauthenticated,
                          absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInvalidArgument,
                          absl::StatusCode::kResourceExhausted}) {
    EXPECT_FALSE(StandsAgain(absl::Status(code, ""), true)) << code;
  }
}

TEST(EndOfWait, IsNoneBeforeItsLimit) {
  const absl::Status unproven = absl::UnavailableError("first in the queue for 20s, but");
  EXPECT_EQ(EndOfWait(unproven, /*over=*/false), unproven);
  EXPECT_EQ(ResultOf(EndOfWait(unproven, /*over=*/false), 7).status, kUnavailable);
  EXPECT_EQ(ResultOf(EndOfWait(unproven, /*over=*/true), 7).status, 7);
  EXPECT_TRUE(absl::IsCancelled(EndOfWait(absl::CancelledError(""), /*over=*/true)));
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
