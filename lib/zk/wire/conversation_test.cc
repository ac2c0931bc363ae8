// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/conversation.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::wire {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSession = 0x1234;

class ConversationTest : public testing::Test {
 protected:
  void Ask(const std::string& request) { talk_.Asked(wire::Frame(request)); }
  // What is wrong with the frame, as the server says it.
  std::string Hear(const std::string& frame) {
    const std::string said = wire::Frame(frame);
    std::string wrong = talk_.WrongStart(said);
    return wrong.empty() ? talk_.Hear(frame) : wrong;
  }
  void Establish(int64_t asked = 0) {
    Ask(wire::Handshake(asked));
    ASSERT_EQ(Hear(wire::Welcome(kSession)), "");
  }
  // Of a connection that begins now.
  std::string HearWelcome(const std::string& welcome, int64_t asked = 0) {
    talk_ = Conversation();
    Ask(wire::Handshake(asked));
    return Hear(welcome);
  }
  // Of a request of that type.
  std::string HearAnswer(int32_t type, const std::string& body, int32_t error = 0) {
    talk_ = Conversation();
    Establish();
    Ask(wire::Request(1, type, wire::String("/a") + "and so on"));
    return Hear(wire::Reply(1, body, error));
  }

  Conversation talk_;
};

// Each form that an answer can have.
const std::vector<std::pair<int32_t, std::string>>& GoodAnswers() {
  static const std::vector<std::pair<int32_t, std::string>> answers = {
      {wire::kDelete, ""},
      {wire::kExists, wire::Stat()},
      {wire::kGetData, wire::String("data") + wire::Stat()},
      {wire::kGetData, wire::Int(-1) + wire::Stat()},
      {wire::kSetData, wire::Stat()},
      {wire::kGetAcl, wire::Acl({}) + wire::Stat()},
      {wire::kGetAcl, wire::Acl({{31, "world", "anyone"}, {1, "ip", "::1"}}) + wire::Stat()},
      {wire::kGetChildren, wire::Names({})},
      {wire::kGetChildren, wire::Names({"a", "", std::string(1000, 'n')})},
      {wire::kCreate2, wire::String("/a") + wire::Stat()},
      {wire::kRemoveWatches, ""},
      {wire::kCreateContainer, wire::String("/a0000000012") + wire::Stat()},
  };
  return answers;
}

TEST_F(ConversationTest, HearsTheAnswerToEachRequest) {
  for (const auto& [type, body] : GoodAnswers()) EXPECT_EQ(HearAnswer(type, body), "") << type;
}

TEST_F(ConversationTest, RefusesAnAnswerThatIsCutOffAnywhere) {
  for (const auto& [type, body] : GoodAnswers()) {
    for (size_t size = 0; size < body.size(); ++size) {
      EXPECT_THAT(HearAnswer(type, body.substr(0, size)), HasSubstr("is cut short")) << type;
    }
  }
}

TEST_F(ConversationTest, RefusesWhatFollowsAnAnswer) {
  for (const auto& [type, body] : GoodAnswers()) {
    EXPECT_THAT(HearAnswer(type, body + "xy"), HasSubstr(" is too long")) << type;
  }
}

TEST_F(ConversationTest, KnowsAPortForTls) {
  Ask(wire::Handshake());
  EXPECT_EQ(talk_.WrongStart("\x15\x03\x03" + std::string("\0\2\2P", 4)), "it speaks TLS");
}

TEST_F(ConversationTest, RefusesLengthsAndCountsThatCannotBe) {
  const std::string stat = wire::Stat();
  for (const int32_t wrong : {-1, -2, INT32_MIN, INT32_MAX, 1 << 24}) {
    const std::string length = wire::Int(wrong);
    EXPECT_NE(HearAnswer(wire::kCreate2, length + "/a" + stat), "") << wrong;
    EXPECT_NE(HearAnswer(wire::kGetChildren, length + wire::String("a")), "") << wrong;
    EXPECT_NE(HearAnswer(wire::kGetChildren, wire::Int(1) + length + "a"), "") << wrong;
    EXPECT_NE(HearAnswer(wire::kGetAcl, length + wire::Acl({}) + stat), "") << wrong;
    if (wrong == -1) continue;
    EXPECT_NE(HearAnswer(wire::kGetData, length + "data" + stat), "") << wrong;
  }
}

TEST_F(ConversationTest, HearsAMillionNamesAndNoMore) {
  const int32_t most = 1 << 20;
  const std::string names(4 * (most + 1), '\0');
  EXPECT_EQ(HearAnswer(wire::kGetChildren, wire::Int(most) + names.substr(4)), "");
  EXPECT_NE(HearAnswer(wire::kGetChildren, wire::Int(most + 1) + names), "");
}

TEST_F(ConversationTest, RefusesANulInANameOrAPath) {
  const std::string nul("a\0b", 3);
  EXPECT_NE(HearAnswer(wire::kGetChildren, wire::Names({nul})), "");
  EXPECT_NE(HearAnswer(wire::kCreate2, wire::String("/a" + nul) + wire::Stat()), "");
  EXPECT_EQ(HearAnswer(wire::kGetData, wire::String(nul) + wire::Stat()), "") << "data may be any";
}

TEST_F(ConversationTest, RefusesAnotherNodeThanItWasAskedToMake) {
  for (const char* made : {"/b", "/", "", "/b/a", "a", "/a\x1b[2J", "/a0000000001/b"}) {
    EXPECT_EQ(HearAnswer(wire::kCreate2, wire::String(made) + wire::Stat()),
              "it has made another node than it was asked for");
  }
}

TEST_F(ConversationTest, RefusesTheAnswerToWhatThisLibraryNeverAsks) {
  EXPECT_EQ(HearAnswer(/*sync=*/9, wire::String("/")),
            "it answers operation 9, which was never asked");
}

TEST_F(ConversationTest, TakesAnErrorWhateverFollowsIt) {
  EXPECT_EQ(HearAnswer(wire::kGetChildren, "", -101), "");
  EXPECT_EQ(HearAnswer(wire::kCreate2, "anything", -110), "");
  EXPECT_EQ(HearAnswer(wire::kDelete, "", -112), "") << "the session may be over";
}

TEST_F(ConversationTest, RefusesAnErrorThatOnlyAClientReports) {
  EXPECT_EQ(HearAnswer(wire::kDelete, "", -4),
            "it reports ZCONNECTIONLOSS, which only a client does");
  EXPECT_THAT(HearAnswer(wire::kDelete, "", -116), HasSubstr("ZCLOSING"));
  EXPECT_EQ(HearAnswer(wire::kDelete, "", 5), "it reports an error 5");
}

TEST_F(ConversationTest, HearsAnswersOnlyInTheOrderOfTheRequests) {
  Establish();
  Ask(wire::Request(5, wire::kDelete));
  Ask(wire::Request(6, wire::kExists));
  EXPECT_EQ(Hear(wire::Reply(5)), "");
  EXPECT_EQ(Hear(wire::Reply(6, wire::Stat())), "");
  Ask(wire::Request(7, wire::kDelete));
  Ask(wire::Request(8, wire::kDelete));
  EXPECT_EQ(Hear(wire::Reply(8)), "it answers request 8 instead of 7");
}

TEST_F(ConversationTest, RefusesAnAnswerToNothing) {
  Establish();
  EXPECT_EQ(Hear(wire::Reply(5)), "it answers request 5, but none was asked");
  Ask(wire::Request(6, wire::kDelete));
  EXPECT_EQ(Hear(wire::Reply(6)), "");
  EXPECT_EQ(Hear(wire::Reply(6)), "it answers request 6, but none was asked");
}

TEST_F(ConversationTest, HearsTheAnswersToTheClientsOwnRequestsOncePerRequest) {
  const std::vector<std::pair<int32_t, int32_t>> own = {{wire::kPingXid, wire::kPing},
                                                        {wire::kAuthXid, wire::kSetAuth},
                                                        {wire::kSetWatchesXid, wire::kSetWatches}};
  for (const auto& [xid, type] : own) {
    talk_ = Conversation();
    Establish();
    Ask(wire::Request(1, wire::kDelete));
    EXPECT_THAT(Hear(wire::Reply(xid)), HasSubstr("but was sent none"));
    Ask(wire::Request(xid, type));
    EXPECT_EQ(Hear(wire::Reply(xid)), "") << "before the older request's";
    EXPECT_THAT(Hear(wire::Reply(xid)), HasSubstr("but was sent none"));
    Ask(wire::Request(xid, type));
    EXPECT_THAT(Hear(wire::Reply(xid, "x")), HasSubstr(" is too long"));
  }
}

TEST_F(ConversationTest, AnErrorInsteadOfSetWatchesIsNoAnswerToLiveWith) {
  Establish();
  Ask(wire::Request(wire::kSetWatchesXid, wire::kSetWatches));
  EXPECT_EQ(Hear(wire::Int(wire::kSetWatchesXid) + wire::Long(5) + wire::Int(-127)),
            "did not set the watches again (ZTHROTTLEDOP)");
}

TEST_F(ConversationTest, HearsWatchEventsAtAnyTimeAndNoOthers) {
  Establish();
  for (int32_t type = 1; type <= 4; ++type) EXPECT_EQ(Hear(wire::Event(type, "/a")), "");
  EXPECT_EQ(Hear(wire::Event(-1, "/a")), "its watch event has type -1") << "one of the session's";
  EXPECT_EQ(Hear(wire::Event(5, "/a")), "its watch event has type 5");
  EXPECT_EQ(Hear(wire::Event(1, "/a", -112)), "its watch event has state -112");
  EXPECT_EQ(Hear(wire::Event(1, "")), "its watch event has no path");
  EXPECT_NE(Hear(wire::Event(1, "/a") + "x"), "");
  EXPECT_NE(Hear(wire::Reply(-1, wire::Int(1) + wire::Int(3) + wire::Int(-1))), "");
}

TEST_F(ConversationTest, HearsAWelcome) {
  EXPECT_EQ(HearWelcome(wire::Welcome(kSession)), "");
  EXPECT_EQ(HearWelcome(wire::Welcome(kSession, 10)), "") << "short";
  EXPECT_EQ(HearWelcome(wire::Welcome(kSession).substr(0, 36)), "") << "of an old server";
  EXPECT_EQ(HearWelcome(wire::Welcome(kSession), kSession), "") << "resumed";
  EXPECT_EQ(HearWelcome(wire::Welcome(0, 0), kSession), "") << "expired";
}

TEST_F(ConversationTest, RefusesAWelcomeThatCannotBe) {
  const std::string good = wire::Welcome(kSession);
  const auto with = [&good](size_t at, const std::string& bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  EXPECT_EQ(HearWelcome(with(0, wire::Int(42))), "its protocol has version 42");
  EXPECT_EQ(HearWelcome(wire::Welcome(0)), "it grants no session");
  EXPECT_EQ(HearWelcome(wire::Welcome(9), kSession), "it grants another client's session");
  EXPECT_EQ(HearWelcome(wire::Welcome(kSession, 0)), "it grants a session timeout of 0 ms");
  EXPECT_EQ(HearWelcome(wire::Welcome(kSession, -5)), "it grants a session timeout of -5 ms");
  EXPECT_THAT(HearWelcome(wire::Welcome(kSession, 1 << 30)), HasSubstr("a session timeout of"));
  EXPECT_EQ(HearWelcome(with(16, wire::Int(15))), "its handshake has impossible lengths");
  EXPECT_EQ(HearWelcome(with(16, wire::Int(-1))), "its handshake has impossible lengths");
  EXPECT_EQ(HearWelcome(with(36, "\1")), "it offers a read-only session");
}

TEST_F(ConversationTest, KnowsClickHouseKeeperByItsEmptyPassword) {
  EXPECT_EQ(HearWelcome(wire::Welcome(kSession)), "");
  EXPECT_FALSE(talk_.with_keeper());
  EXPECT_EQ(HearWelcome(wire::Welcome(0, 0), kSession), "") << "expired: ZooKeeper's is empty, too";
  EXPECT_FALSE(talk_.with_keeper());
  EXPECT_EQ(HearWelcome(wire::KeepersWelcome(kSession)), "");
  EXPECT_TRUE(talk_.with_keeper());
}

// Of a client that has a session, one server may be of another ensemble.
TEST_F(ConversationTest, RefusesAWelcomeWithAnEmptyPasswordIfASessionWasAskedFor) {
  for (const int64_t granted : {kSession, int64_t{9}}) {
    EXPECT_THAT(HearWelcome(wire::KeepersWelcome(granted), kSession),
                HasSubstr("another ensemble"));
    EXPECT_TRUE(talk_.with_keeper());
  }
}

TEST_F(ConversationTest, RefusesAServerThatAnswersOnlyClientsThatHaveAuthenticated) {
  constexpr int32_t kSessionClosedRequireSaslAuth = -124;
  for (const int32_t xid : {1, wire::kPingXid, wire::kSetWatchesXid}) {
    talk_ = Conversation();
    Establish();
    Ask(wire::Request(xid, wire::kDelete));
    EXPECT_THAT(Hear(wire::Reply(xid, "", kSessionClosedRequireSaslAuth)),
                HasSubstr("only clients that have authenticated"));
    EXPECT_EQ(talk_.turned_away(), Code::kCredentialsRequired);
  }
  EXPECT_EQ(HearAnswer(wire::kDelete, "", -102), "");
  EXPECT_FALSE(talk_.turned_away().has_value());
}

TEST_F(ConversationTest, RefusesAServerThatRefusesTheCredentials) {
  Establish();
  Ask(wire::Request(wire::kAuthXid, 100));
  EXPECT_EQ(Hear(wire::Reply(wire::kAuthXid, "", -115)), "refuses this client's credentials");
  EXPECT_EQ(talk_.turned_away(), Code::kAuthFailed);
}

TEST_F(ConversationTest, ShowsTheBeginningOfWhatIsNoWelcome) {
  Ask(wire::Handshake());
  EXPECT_EQ(talk_.WrongStart("220 mail.example.org ESMTP ready for everyone"),
            "it says \"220 mail.example.org ESMTP ready\"");
  EXPECT_EQ(talk_.WrongStart("HTTP/1.1 400\r\n"), "it says \"HTTP/1.1 400\\r\\n\"");
  EXPECT_EQ(talk_.WrongStart(wire::Int(36)), "");
}

TEST_F(ConversationTest, HearsNothingBeforeItsHandshakeIsSent) {
  EXPECT_NE(talk_.WrongStart(wire::Int(37)), "");
}

TEST_F(ConversationTest, BoundsTheLengthOfAReply) {
  Establish();
  EXPECT_EQ(talk_.WrongStart(wire::Int(16)), "");
  EXPECT_EQ(talk_.WrongStart(wire::Int(64 << 20)), "");
  EXPECT_EQ(talk_.WrongStart(wire::Int(15)), "it sends a reply of 15 bytes");
  EXPECT_EQ(talk_.WrongStart(wire::Int(-4)), "it sends a reply of -4 bytes");
  EXPECT_FALSE(Conversation::IsTooLong(wire::Int(64 << 20)));
  EXPECT_TRUE(Conversation::IsTooLong(wire::Int((64 << 20) + 1)));
}

TEST_F(ConversationTest, AReplyThatIsTooLongAnswersTheOldestRequestOrNone) {
  Establish();
  Ask(wire::Request(1, wire::kGetChildren, wire::String("/a")));
  Ask(wire::Request(2, wire::kDelete, wire::String("/a")));
  EXPECT_EQ(talk_.HearTooLong(wire::Reply(2)), "it answers request 2 instead of 1");
  EXPECT_EQ(talk_.HearTooLong(wire::Reply(1)), "");
  EXPECT_EQ(talk_.HearTooLong(wire::Reply(2)), "its answer to operation 2 is too long")
      << "whether it was done would not be known";
  EXPECT_EQ(talk_.HearTooLong(wire::Reply(1)), "it answers request 1, but none was asked");
}

TEST_F(ConversationTest, UnderstandsRequestsInPiecesOfAnySize) {
  const std::string asked = wire::Frame(wire::Handshake(kSession)) +
                            wire::Frame(wire::Request(3, wire::kCreate2, wire::String("/path"))) +
                            wire::Frame(wire::Request(wire::kPingXid, wire::kPing)) +
                            wire::Frame(wire::Request(4, wire::kDelete, std::string(300, 'x')));
  for (size_t piece = 1; piece <= asked.size(); ++piece) {
    talk_ = Conversation();
    for (size_t at = 0; at < asked.size(); at += piece) talk_.Asked(asked.substr(at, piece));
    EXPECT_EQ(Hear(wire::Welcome(kSession)), "");
    EXPECT_EQ(Hear(wire::Reply(3, wire::String("/path") + wire::Stat())), "");
    EXPECT_EQ(Hear(wire::Reply(wire::kPingXid)), "");
    EXPECT_EQ(Hear(wire::Reply(4)), "") << piece;
  }
}

}  // namespace
}  // namespace zkrecipes::zk::wire
