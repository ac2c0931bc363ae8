// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/output.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tools/zkr/result.h"

namespace zkrecipes::zkr {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
  EXPECT_EQ(FormatTable({{"POS", "OWNER", "NODE"}, {"0", "host-a:12", "x"}, {"1", "b", "y"}}),
            "POS  OWNER      NODE\n"
            "0    host-a:12  x\n"
            "1    b          y\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  EXPECT_EQ(FormatTable({{"\xc3\xa9\xc3\xa9", "1"}, {"ab", "2"}}), "\xc3\xa9\xc3\xa9  1\nab  2\n");
}

TEST(Table, EscapesWhatCannotBeShown) {
  EXPECT_EQ(FormatTable({{"a\x1b[31m\nb"}}), "a\\x1b[31m\\x0ab\n");
  // No UTF-8: a lone byte, a cut character, too long a form, a surrogate, a control character.
  EXPECT_EQ(FormatTable({{"\xff"}, {"\xc3"}, {"\xc0\xaf"}, {"\xed\xa0\x80"}, {"\xc2\x9b"}}),
            "\\xff\n\\xc3\n\\xc0\\xaf\n\\xed\\xa0\\x80\n\\xc2\\x9b\n");
  EXPECT_EQ(FormatTable({{"\xf0\x9f\x98\x80"}}), "\xf0\x9f\x98\x80\n");
  // Right to left, no width, an isolate, a tag.
  EXPECT_EQ(FormatTable({{"\u202e"}, {"\u200b"}, {"\u2066"}, {"\U000e0041"}}),
            "\\xe2\\x80\\xae\n\\xe2\\x80\\x8b\n\\xe2\\x81\\xa6\n\\xf3\\xa0\\x81\\x81\n");
}

TEST(Table, CutsWhatIsTooLong) {
  const std::string table = FormatTable({{std::string(1 << 20, 'x'), "1"}, {"y", "2"}});
  EXPECT_LT(table.size(), 200u);
  EXPECT_EQ(table.substr(0, table.find('\n')), std::string(72, 'x') + "...  1");
}

TEST(Queue, IsUnknownWhileNoServerAnswers) {
  EXPECT_EQ(QueueJson({"/q"}), "{\"path\":\"/q\",\"permits\":null,\"contenders\":null}\n");
  EXPECT_EQ(QueueJson({"/q", std::vector<ContenderInfo>()}),
            "{\"path\":\"/q\",\"permits\":null,\"contenders\":[]}\n");
}

ContenderInfo Permit(bool holds) {
  ContenderInfo permit{.mode = GrantMode::kShared, .holds = holds, .permits = 2};
  permit.node_czxid = 7;
  permit.node = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-permit-0000000007";
  return permit;
}

TEST(Queue, OfASemaphoreSaysHowManyPermitsAreHeld) {
  const std::vector<ContenderInfo> queue = {Permit(true), Permit(true), Permit(false)};
  const std::string text = QueueText({"/q", queue, 2});
  EXPECT_EQ(text.substr(0, text.find('\n')), "2 of 2 permits held");
  EXPECT_NE(text.find("  permit  waiting  "), std::string::npos) << text;
  EXPECT_NE(QueueJson({"/q", queue, 2}).find("{\"path\":\"/q\",\"permits\":2,"), std::string::npos);
  EXPECT_EQ(PermitsText(queue, std::nullopt), "permits held: 2 of an unknown number");
  EXPECT_EQ(PermitsText({ContenderInfo{.node = "x"}}, 2), "");
}

// Its number is in its node, and so is whether it is held.
TEST(Queue, DoesNotKnowAPermitThatMayNotBeRead) {
  ContenderInfo closed = Permit(false);
  closed.node_czxid = 0;
  closed.permits = 0;
  EXPECT_NE(QueueText({"/q", std::vector{closed}}).find("  permit  unknown  "), std::string::npos);
  EXPECT_EQ(PermitsText({Permit(true), closed}, 2), "at least 1 of 2 permits held");
  const std::string json = QueueJson({"/q", std::vector{closed}});
  EXPECT_NE(json.find("\"state\":null"), std::string::npos) << json;
  EXPECT_NE(json.find("\"permits\":null}"), std::string::npos) << json;
}

TEST(Queue, SaysThatALockMayBeKeptIdle) {
  ContenderInfo first{.holds = true, .node_czxid = 7, .owner = {"job", "db7", 4711}, .stays = true};
  ContenderInfo next{.position = 1, .node_czxid = 8, .stays = true};
  EXPECT_THAT(QueueText({"/q", std::vector{first, next}}),
              StartsWith("kept by job@db7:4711: held, or idle until it hears of another "
                         "contender\nPOS  MODE "));
  EXPECT_THAT(QueueJson({"/q", std::vector{first}}),
              EndsWith("\"permits\":null,\"stays\":true}]}\n"));
  first.stays = false;
  EXPECT_THAT(QueueText({"/q", std::vector{first, next}}), StartsWith("POS  MODE "));
  EXPECT_THAT(QueueJson({"/q", std::vector{first}}), Not(HasSubstr("stays")));
}

TEST(Queue, KeepsItsHolderOnAScreenThatIsTooLow) {
  EXPECT_EQ(OnScreen("head\nheld\n1\n2\n3\n4\n", 24), "head\nheld\n1\n2\n3\n4\n");
  EXPECT_EQ(OnScreen("head\nheld\n1\n2\n3\n4\n", 7), "head\nheld\n1\n2\n... and 2 more\n");
  EXPECT_EQ(OnScreen("head\n\n1\n", 24), "head\n\n1\n") << "between tables is an empty line";
  EXPECT_EQ(OnScreen("head\nheld\n1\n2\n", 1), "head\nheld\n... and 2 more\n");
}

TEST(Paragraph, EscapesWhatCannotBeShown) {
  EXPECT_EQ(Paragraph("label", "a\x1b b"), "label     a\\x1b b\n");
}

TEST(LogJson, IsOneObjectOnOneLine) {
  EXPECT_EQ(LogJson(absl::UnixEpoch(), "a\n\"b\"\xff", "UNAVAILABLE"),
            "{\"time\":\"1970-01-01T00:00:00+00:00\",\"message\":\"a\\n\\\"b\\\"\\ufffd\","
            "\"code\":\"UNAVAILABLE\"}\n");
  EXPECT_NE(LogJson(absl::UnixEpoch(), "a", "").find("\"code\":null"), std::string::npos);
}

std::string Written(const Result& result) {
  int fds[2];
  EXPECT_EQ(pipe(fds), 0);
  EXPECT_TRUE(WriteResult(fds[1], result));
  char buffer[256];
  const ssize_t got = read(fds[0], buffer, sizeof(buffer));
  close(fds[0]);
  close(fds[1]);
  return {buffer, static_cast<std::size_t>(got)};
}

TEST(Result, OfACommandIsItsOwnStatus) {
  EXPECT_EQ(Written(ResultOf({.end = supervisor::Outcome::End::kExited, .code = 75}, 42)),
            "{\"result\":\"ran\",\"status\":75,\"token\":42}\n");
  EXPECT_EQ(ResultOf({.end = supervisor::Outcome::End::kKilled, .code = SIGTERM}, 42).status, 143);
}

TEST(Result, OfSomethingUsedUpHasACodeOfItsOwn) {
  const Result result = ResultOf(absl::ResourceExhaustedError("sequence numbers"), 75);
  EXPECT_STREQ(result.word, "unavailable");
  EXPECT_EQ(result.status, 73);
}

TEST(Result, OfAShortageThatPassesIsNoReasonToGiveUp) {
  const Result result = ResultOf({.end = supervisor::Outcome::End::kNotRun, .code = EAGAIN}, 42);
  EXPECT_STREQ(result.word, "unavailable");
  EXPECT_EQ(result.status, 73);
}

TEST(Result, OfALossIsALossWhateverTheCommandSaid) {
  const Result result =
      ResultOf({.end = supervisor::Outcome::End::kExited, .code = 0, .lost = true}, 42);
  EXPECT_STREQ(result.word, "lost");
  EXPECT_EQ(result.status, 70);
}

TEST(Result, TellsACommandThatIsNotFoundFromOneThatSaysSo) {
  const Result result = ResultOf({.end = supervisor::Outcome::End::kNotRun, .code = ENOENT}, 42);
  EXPECT_STREQ(result.word, "usage");
  EXPECT_EQ(result.status, 127);
  EXPECT_EQ(ResultOf({.end = supervisor::Outcome::End::kNotRun, .code = EACCES}, 42).status, 126);
}

TEST(Result, OfAFailureHasNoToken) {
  EXPECT_EQ(Written(ResultOf(absl::DeadlineExceededError(""), 9)),
            "{\"result\":\"not_acquired\",\"status\":9,\"token\":null}\n");
  EXPECT_EQ(ResultOf(absl::UnavailableError(""), 75).status, 69);
  EXPECT_EQ(ResultOf(absl::PermissionDeniedError(""), 75).status, 77);
  EXPECT_EQ(ResultOf(absl::InvalidArgumentError(""), 75).status, 64);
}

TEST(Result, FindsTheStatusFdOfABadCommandLine) {
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd", "3", "--bad"}), 3);
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd=4"}), 4);
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd"}), -1);
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd", "x"}), -1);
  EXPECT_EQ(FindStatusFd({"lock"}), -1);
}

}  // namespace
}  // namespace zkrecipes::zkr
