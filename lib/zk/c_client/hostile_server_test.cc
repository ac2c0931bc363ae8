// SPDX-License-Identifier: Apache-2.0
//
// The whole C client against servers that are none, or wrong.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "lib/zk/tls/tls.h"
#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::c_client {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGranted = 77;

int32_t XidOf(const std::string& frame) { return wire::JuteReader(frame).Int(); }

// Welcomes whoever connects, and then says what `answer` makes of a request.
ScriptedServer::Script Welcoming(std::function<std::string(const std::string& frame)> answer) {
  return [answer = std::move(answer)](int number, const std::string& frame) {
    return number == 0 ? wire::Frame(wire::Welcome(kGranted)) : answer(frame);
  };
}

// As a good server answers a getChildren.
std::string Good(const std::string& frame) {
  return wire::Frame(wire::Reply(XidOf(frame), wire::Names({"a", "b"})));
}

class HostileServerTest : public HandleTest {
 protected:
  void Open(const std::vector<ScriptedServer*>& servers) {
    NumericServers addresses;
    for (ScriptedServer* server : servers) {
      addresses.push_back(server->address());
      steps_.emplace_back([server] { server->Step(); });
    }
    HandleTest::Open(addresses);
  }

  // Sends a getChildren whenever there is a new connection. Rounds until `done`: false if the
  // client has not come that far though its socket was ready so often, so that it only spins.
  bool RunUntil(const std::function<bool()>& done, int ready = 100) {
    for (ready_ = 0; ready_ < ready && !done();) {
      driver_.Round();
      if (diary_.connected > std::exchange(asked_, diary_.connected)) {
        handle_->Send(GetChildren{"/"}, [this](const Reply& r) { replies_.push_back(r); });
      }
    }
    return done();
  }
  // Of the first server that was refused; "" if none was.
  std::string refusal() const {
    for (const std::string& failure : diary_.failures) {
      if (absl::StrContains(failure, "does not speak ZooKeeper")) return failure;
    }
    return "";
  }
  bool RunUntilRefused() {
    return RunUntil([this] { return !refusal().empty(); });
  }

  std::vector<Reply> replies_;
  int asked_ = 0;
};

TEST_F(HostileServerTest, ABannerIsNoHandshake) {
  ScriptedServer mail(
      [](int, const std::string&) { return ""; },
      "220 mail.example.org ESMTP Postfix, and more than forty-one bytes of it\r\n");
  Open({&mail});
  ASSERT_TRUE(RunUntilRefused());
  EXPECT_EQ(
      refusal(),
      mail.address() + " does not speak ZooKeeper: it says \"220 mail.example.org ESMTP Postf\"");
  EXPECT_EQ(diary_.connected, 0);
  mail.Step();
  EXPECT_EQ(mail.open(), 0u) << "the connection is dropped";
}

TEST_F(HostileServerTest, NorIsTheAnswerOfAWebServer) {
  ScriptedServer web([](int, const std::string&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; });
  Open({&web});
  ASSERT_TRUE(RunUntilRefused());
  EXPECT_THAT(refusal(),
              HasSubstr(" does not speak ZooKeeper: it says \"HTTP/1.1 400 Bad Request"));
}

struct Wrong {
  const char* what;
  std::function<std::string(const std::string& frame)> answer;
  const char* refusal;
};

// Wrong answers of a server that has granted a session: a frame, its length, its order.
// (conversation_test.cc has them all.)
const std::vector<Wrong>& WrongAnswers() {
  using wire::Frame, wire::Int, wire::Names, wire::Reply;
  static const std::vector<Wrong> answers = {
      {"unsolicited", [](auto& f) { return Good(f) + Frame(Reply(99)); }, "but none was asked"},
      {"out of order", [](auto& f) { return Frame(Reply(XidOf(f) + 1, Names({}))); }, "instead of"},
      {"negative length", [](auto&) { return Int(-1) + "more"; }, "a reply of -1 bytes"},
      {"trailing garbage", [](auto& f) { return Frame(Reply(XidOf(f), Names({"a"}) + "zz")); },
       "getChildren is too long"},
      {"session's event", [](auto&) { return Frame(wire::Event(-1, "", -112)); }, "has type -1"},
      {"credentials", [](auto&) { return Frame(Reply(wire::kAuthXid, "", -115)); },
       "was sent none"},
  };
  return answers;
}

class WrongAnswerTest : public HostileServerTest, public testing::WithParamInterface<size_t> {};

TEST_P(WrongAnswerTest, EndsTheConnectionAndIsTold) {
  const Wrong& wrong = WrongAnswers()[GetParam()];
  SCOPED_TRACE(wrong.what);
  ScriptedServer server(Welcoming(wrong.answer));
  Open({&server});
  ASSERT_TRUE(RunUntilRefused());
  EXPECT_THAT(refusal(), HasSubstr(server.address() + " does not speak ZooKeeper: "));
  EXPECT_THAT(refusal(), HasSubstr(wrong.refusal));
  server.Step();
  EXPECT_EQ(server.open(), 0u) << "the connection is dropped";
  driver_.RunPosted();
  ASSERT_EQ(replies_.size(), 1u) << "the request is answered, once";
  const bool answered_before = std::string(wrong.what) == "unsolicited";
  EXPECT_EQ(replies_[0].code, answered_before ? Code::kOk : Code::kConnectionLoss);
  EXPECT_EQ(diary_.ended, std::nullopt);
}

TEST_P(WrongAnswerTest, DoesNotKeepTheClientFromTheNextServer) {
  ScriptedServer hostile(Welcoming(WrongAnswers()[GetParam()].answer));
  ScriptedServer good(Welcoming(Good));
  Open({&hostile, &good, &hostile});
  EXPECT_TRUE(RunUntil([&] { return good.connections() > 0 && replies_.size() > 1; }));
  EXPECT_EQ(replies_.back().code, Code::kOk);
  EXPECT_EQ(diary_.ended, std::nullopt);
}

TEST_P(WrongAnswerTest, IsMetAgainOnlyAfterPausesThatGrow) {
  ScriptedServer server(Welcoming(WrongAnswers()[GetParam()].answer));
  Open({&server});
  const base::BootTime begin = driver_.Now();
  EXPECT_TRUE(RunUntil([&] { return driver_.Now() - begin > absl::Seconds(3); }, /*ready=*/1000));
  EXPECT_LE(server.connections(), 25);
}

INSTANTIATE_TEST_SUITE_P(Each, WrongAnswerTest, testing::Range(size_t{0}, WrongAnswers().size()));

// One that came to a former server's address, say: the session lives at the others.
TEST_F(HostileServerTest, AServerOfAnotherEnsembleDoesNotEndASession) {
  ScriptedServer foreign(
      [](int, const std::string&) { return wire::Frame(wire::KeepersWelcome(9)); });
  int connections = 0;
  ScriptedServer good([&](int number, const std::string& frame) {
    if (number > 0) return Good(frame);
    return wire::Frame(wire::Welcome(kGranted)) + (++connections == 1 ? wire::Int(-1) : "");
  });
  Open({&good, &foreign, &good});
  ASSERT_TRUE(RunUntil([&] { return foreign.connections() > 0 && diary_.connected == 2; }));
  EXPECT_EQ(diary_.session, kGranted);
  EXPECT_FALSE(handle_->OnKeeper());
  EXPECT_EQ(diary_.ended, std::nullopt);
  EXPECT_THAT(diary_.failures,
              testing::Contains(foreign.address() +
                                " is of another ensemble: it grants sessions without a password, "
                                "as ClickHouse Keeper does"));
}

// As after a loss of data: a server closes the connection of a client that has seen more. The
// question, of a client that has seen nothing, it answers.
TEST_F(HostileServerTest, ASessionIsGivenUpOnceEveryServerHasLostWhatItHasSeen) {
  std::vector<std::string> seen;  // in each handshake
  bool lost = false;
  const auto script = [&](int number, const std::string& frame) {
    if (number > 0) return lost ? wire::Int(-1) : Good(frame);
    const std::string zxid = frame.substr(4, 8);
    if (lost) seen.push_back(zxid);
    if (lost && zxid == wire::Long(0)) return wire::Frame(wire::Welcome(0, 0));
    return lost ? ScriptedServer::kHangUp : wire::Frame(wire::Welcome(kGranted, 1000));
  };
  ScriptedServer one(script), other(script);
  Open({&one, &other});
  ASSERT_TRUE(RunUntil([&] { return !replies_.empty(); }));
  lost = true;
  const base::BootTime begin = driver_.Now();
  one.HangUp();
  other.HangUp();
  ASSERT_TRUE(RunUntil([&] { return diary_.ended.has_value(); }, /*ready=*/1000));
  EXPECT_EQ(diary_.ended, Code::kSessionRefused);
  EXPECT_GE(driver_.Now() - begin, absl::Seconds(2)) << "no lease is there to be saved by then";
  EXPECT_THAT(
      diary_.failures,
      testing::Contains(HasSubstr("refuses this session: the client has seen what the server")));
  EXPECT_THAT(seen, testing::Contains(wire::Long(0)));
  EXPECT_EQ(seen.front(), wire::Long(100)) << "first as any client";
}

std::string WantsCredentials(const std::string& frame) {
  return wire::Frame(wire::Reply(XidOf(frame), "", /*SESSIONCLOSEDREQUIRESASLAUTH*/ -124));
}

TEST_F(HostileServerTest, AClientThatNoServerHasServedGivesUpIfItWouldHaveToAuthenticate) {
  ScriptedServer server(Welcoming(WantsCredentials));
  Open({&server});
  ASSERT_TRUE(RunUntil([&] { return diary_.ended.has_value(); }));
  EXPECT_EQ(diary_.ended, Code::kCredentialsRequired);
  EXPECT_EQ(server.connections(), 1);
  driver_.RunPosted();
  ASSERT_EQ(replies_.size(), 1u);
  EXPECT_EQ(replies_[0].code, Code::kConnectionLoss);
}

// As where enforce.auth.enabled is switched on: nothing is lost, and its user has to do something.
TEST_F(HostileServerTest, AServedSessionIsToldToAuthenticateOnceMostServersWantThat) {
  bool strict = false;
  const auto script = [&](int number, const std::string& frame) {
    if (number == 0) return wire::Frame(wire::Welcome(kGranted, 1000));
    return strict ? WantsCredentials(frame) : Good(frame);
  };
  ScriptedServer one(script), other(script);
  Open({&one, &other});
  ASSERT_TRUE(RunUntil([&] { return !replies_.empty(); }));
  strict = true;
  one.HangUp();
  other.HangUp();
  ASSERT_TRUE(RunUntil([&] { return diary_.ended.has_value(); }, /*ready=*/1000));
  EXPECT_EQ(diary_.ended, Code::kCredentialsRequired);
  EXPECT_TRUE(handle_->served());
  EXPECT_THAT(handle_->server(), testing::AnyOf(one.address(), other.address()));
}

TEST_F(HostileServerTest, OneThatWasServedGoesToTheNextServer) {
  ScriptedServer strict(Welcoming(WantsCredentials));
  int connections = 0;
  ScriptedServer good(Welcoming([&](const std::string& frame) {
    return Good(frame) + (++connections == 1 ? wire::Int(-1) : "");
  }));
  Open({&good, &strict, &good});
  ASSERT_TRUE(RunUntil([&] { return strict.connections() > 0 && replies_.size() == 3; }));
  EXPECT_EQ(replies_.back().code, Code::kOk);
  EXPECT_EQ(diary_.ended, std::nullopt);
}

// Sends more than any reply has, while the client reads.
TEST_F(HostileServerTest, AReplyThatIsTooLongFailsItsRequestAndNoOther) {
  constexpr int32_t kBytes = 65 << 20;
  const std::string piece(100'000, 'x');
  int32_t left = 0;
  ScriptedServer server(Welcoming([&](const std::string& frame) {
    if (left != 0) return Good(frame);
    left = kBytes - 16;
    return wire::Int(kBytes) + wire::Reply(XidOf(frame));
  }));
  Open({&server});
  steps_.emplace_back([&] {
    if (left <= 0) return;
    const int32_t size = std::min(left, static_cast<int32_t>(piece.size()));
    left -= server.SayToAll(piece.substr(0, static_cast<size_t>(size)));
  });
  ASSERT_TRUE(RunUntil([&] { return left == 0 && !replies_.empty(); }, /*ready=*/100'000));
  EXPECT_EQ(replies_[0].code, Code::kReplyTooLong);
  left = -1;
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_EQ(server.connections(), 1);
}

// Stands for TLS that holds much which no poll sees: behind the head of a long reply it adds the
// rest of it by itself. Whenever it hears kMuch it has much to say.
class Inflating final : public tls::TlsStream, public tls::TlsContext {
 public:
  static constexpr int32_t kBytes = 65 << 20;
  static inline const std::string kMuch = "/much";
  static std::string Head(int32_t xid) { return wire::Int(kBytes) + wire::Reply(xid); }

  State state() const override { return State::kEstablished; }
  const std::string& failure() const override { return none_; }
  void Hear(absl::string_view sealed) override {
    const size_t before = heard_.size();
    heard_.append(sealed.data(), sealed.size());
    const size_t head = heard_.find(wire::Int(kBytes), before);
    if (head != std::string::npos) heard_.insert(head + 20, kBytes - 16, 'x');
    if (heard_.find(kMuch, before) != std::string::npos) unsent_.append(16 << 20, 'x');
  }
  size_t Read(char* bytes, size_t room) override {
    const size_t read = heard_.copy(bytes, room, read_);
    read_ += read;
    return read;
  }
  void Say(absl::string_view bytes) override { unsent_.append(bytes.data(), bytes.size()); }
  absl::string_view unsent() const override { return unsent_; }
  void Sent(size_t size) override { unsent_.erase(0, size); }

  absl::StatusOr<std::unique_ptr<tls::TlsStream>> Connect(
      const std::vector<std::string>&) override {
    return std::make_unique<Inflating>();
  }

 private:
  const std::string none_;
  std::string heard_, unsent_;
  size_t read_ = 0;
};

HandleOptions Inflated(const ScriptedServer& server) {
  HandleOptions options;
  options.servers = NumericServers{server.address()};
  options.servers.listed.front().name = "localhost:1";
  options.session_timeout = absl::Hours(1);
  options.tls = std::make_shared<Inflating>();
  return options;
}

TEST_F(HostileServerTest, AReplyThatIsTooLongIsSkippedThoughPollSeesNoMoreOfIt) {
  ScriptedServer server([](int number, const std::string& frame) {
    if (number == 0) return wire::Frame(wire::Welcome(kGranted, 3'600'000));  // no ping helps
    // Both answers are one piece, behind which the socket is empty.
    return number == 1 ? "" : Inflating::Head(XidOf(frame) - 1) + Good(frame);
  });
  steps_.emplace_back([&server] { server.Step(); });
  HandleTest::Open(Inflated(server));
  ASSERT_TRUE(RunUntilConnected());
  for (int i = 0; i < 2; ++i) {
    handle_->Send(GetChildren{"/"}, [this](const Reply& r) { replies_.push_back(r); });
  }
  const base::BootTime begin = driver_.Now();
  ASSERT_TRUE(HandleTest::RunUntil([this] { return replies_.size() == 2; }, /*rounds=*/200));
  EXPECT_EQ(replies_[0].code, Code::kReplyTooLong);
  EXPECT_EQ(replies_[1].code, Code::kOk);
  EXPECT_LT(driver_.Now() - begin, absl::Milliseconds(150)) << "it slept beside a full stream";
}

TEST_F(HostileServerTest, WhatTlsSaysWhileItReadsIsSentOnceThereIsRoom) {
  ScriptedServer server([](int number, const std::string& frame) {
    return number == 0 ? wire::Frame(wire::Welcome(kGranted, 3'600'000)) : Good(frame);
  });
  bool reads = true;
  steps_.emplace_back([&] {
    if (reads) server.Step();
  });
  HandleTest::Open(Inflated(server));
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);  // of the connection's beginning all is done
  reads = false;
  server.SayToAll(wire::Frame(wire::Event(4, Inflating::kMuch)));
  const auto hears = [this, before = ready_] { return ready_ > before; };
  ASSERT_TRUE(HandleTest::RunUntil(hears));
  int told = -1;
  const auto hears_nothing_more = [&] { return std::exchange(told, ready_) == ready_; };
  ASSERT_TRUE(HandleTest::RunUntil(hears_nothing_more)) << "the socket has no room";
  reads = true;
  EXPECT_TRUE(HandleTest::RunUntil([&] { return ready_ > told; }));
}

TEST_F(HostileServerTest, AGoodServerIsHeardAndSoAreItsStrayEvents) {
  ScriptedServer server(Welcoming([](const std::string& frame) {
    return wire::Frame(wire::Event(4, "/elsewhere")) + Good(frame);
  }));
  Open({&server});
  EXPECT_TRUE(RunUntil([this] { return !replies_.empty(); }));
  EXPECT_EQ(replies_[0].children, (Names{"a", "b"}));
  EXPECT_THAT(diary_.watches, testing::IsEmpty()) << "nothing was watched there";
  EXPECT_EQ(refusal(), "");
}

TEST_F(HostileServerTest, ABurstOfRepliesIsHandledThoughPollSeesAnEmptySocket) {
  constexpr int kBurst = 350;  // more than a round handles, and less than fills the inbox
  std::string held;
  int asked = 0;
  ScriptedServer server(Welcoming([&](const std::string& frame) {
    held += Good(frame);
    return ++asked == kBurst + 1 ? held : "";
  }));
  Open({&server});
  ASSERT_TRUE(RunUntil([this] { return diary_.connected > 0; }));
  for (int i = 0; i < kBurst; ++i) {
    handle_->Send(GetChildren{"/"}, [this](const Reply& r) { replies_.push_back(r); });
  }
  const base::BootTime begin = driver_.Now();
  EXPECT_TRUE(RunUntil([this] { return replies_.size() == kBurst + 1; }));
  EXPECT_LT(driver_.Now() - begin, absl::Milliseconds(150)) << "it slept beside a full inbox";
}

}  // namespace
}  // namespace zkrecipes::zk::c_client
