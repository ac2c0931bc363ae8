// SPDX-License-Identifier: Apache-2.0
//
// The whole C client, under TLS, with a server that is played step by step.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/unique_fd.h"
#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/tls/tls.h"
#include "lib/zk/tls/tls_fixture.h"
#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::c_client {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kGranted = 77;

// A port of 127.0.0.1 that grants sessions and answers each getChildren, under TLS.
class SecureServer {
 public:
  explicit SecureServer(tls::Identity identity, tls::TlsServerEnd::Options options = {})
      : identity_(std::move(identity)), options_(std::move(options)) {
    listener_ = base::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
    listen(listener_.get(), 16);
    socklen_t size = sizeof(address);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  int connections() const { return connections_; }
  size_t open() const { return clients_.size(); }

  bool drops = false;         // hangs up once TLS is there, and does not say why
  bool silent = false;        // takes connections, and says nothing on them
  size_t piece = 1 << 20;     // says so many bytes a step
  bool changes_keys = false;  // before each answer
  std::string data = "/a";    // the child in its answers

  void HangUp() { clients_.clear(); }
  void SayGoodbye() {
    for (Client& client : clients_) client.tls->SayGoodbye();
  }

  void Step() {
    for (int fd; (fd = accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
      ++connections_;
      clients_.push_back(
          {base::UniqueFd(fd), std::make_unique<tls::TlsServerEnd>(identity_, options_), "", 0, 0});
    }
    clients_.remove_if([this](Client& client) { return !Serve(client); });
  }

 private:
  struct Client {
    base::UniqueFd fd;
    std::unique_ptr<tls::TlsServerEnd> tls;
    std::string unsent;
    size_t heard;
    int frames;
  };

  bool Serve(Client& client) {
    if (silent) return true;
    char bytes[4096];
    ssize_t got;
    while ((got = recv(client.fd.get(), bytes, sizeof(bytes), 0)) > 0) {
      client.tls->Hear({bytes, static_cast<size_t>(got)});
    }
    const bool gone = got == 0 || errno != EAGAIN;
    if (drops && client.tls->established()) return false;
    Answer(client);
    client.unsent += client.tls->TakeUnsent();
    const size_t size = std::min(piece, client.unsent.size());
    const ssize_t sent = send(client.fd.get(), client.unsent.data(), size, MSG_NOSIGNAL);
    if (sent > 0) client.unsent.erase(0, static_cast<size_t>(sent));
    const bool refused = !client.tls->failure().empty() && client.unsent.empty();
    return !gone && !refused;
  }

  void Answer(Client& client) {
    for (;;) {
      const std::string rest = client.tls->heard().substr(client.heard);
      if (rest.size() < 4) return;
      const size_t size = static_cast<size_t>(wire::JuteReader(rest).Int());
      if (rest.size() < 4 + size) return;
      client.heard += 4 + size;
      if (changes_keys) client.tls->ChangeKeys();
      client.tls->Say(wire::Frame(
          client.frames++ == 0
              ? wire::Welcome(kGranted)
              : wire::Reply(wire::JuteReader(rest.substr(4)).Int(), wire::Names({data}))));
    }
  }

  const tls::Identity identity_;
  const tls::TlsServerEnd::Options options_;
  base::UniqueFd listener_;
  int port_ = 0;
  int connections_ = 0;
  std::list<Client> clients_;
};

class TlsHandleTest : public HandleTest {
 protected:
  void Open(SecureServer& server, TlsOptions tls, const std::string& name = "localhost") {
    tls.ca_file = files_.Write("ca", authority_.certificate());
    auto context = tls::TlsContext::Open(tls);
    ASSERT_TRUE(context.ok()) << context.status();
    steps_ = {[&server] { server.Step(); }};
    HandleOptions options;
    options.servers = NumericServers{server.address()};
    options.servers.listed.front().name = name + ":1";
    options.tls = *std::move(context);
    HandleTest::Open(options);
  }
  void Open(SecureServer& server) { Open(server, {}); }
  Reply Ask() { return HandleTest::Ask(GetChildren{"/"}); }

  const tls::TlsFiles files_;
  tls::TestAuthority authority_;
};

TEST_F(TlsHandleTest, ASessionIsGrantedAndRequestsAreAnswered) {
  SecureServer server(authority_.Issue());
  Open(server);
  ASSERT_TRUE(RunUntilConnected()) << testing::PrintToString(diary_.failures);
  EXPECT_THAT(Ask().children, ElementsAre("/a"));
  EXPECT_LT(ready_, 20) << "no round is spent on a socket that can be written to";
}

TEST_F(TlsHandleTest, AServerThatSaysOneByteAtATimeIsUnderstood) {
  SecureServer server(authority_.Issue());
  server.piece = 1;
  server.changes_keys = true;
  Open(server);
  ASSERT_TRUE(RunUntilConnected()) << testing::PrintToString(diary_.failures);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Ask().children, ElementsAre("/a"));
}

TEST_F(TlsHandleTest, AnswersOfManyRecordsAreReadWholeWhateverPollSees) {
  SecureServer server(authority_.Issue());
  server.data = std::string(300'000, 'x');
  Open(server);
  ASSERT_TRUE(RunUntilConnected()) << testing::PrintToString(diary_.failures);
  int answers = 0;
  for (int i = 0; i < 20; ++i) {
    handle_->Send(GetChildren{"/"}, [&](const Reply& r) {
      answers += r.code == Code::kOk && r.children.front().size() == server.data.size();
    });
  }
  EXPECT_TRUE(RunUntil([&] { return answers == 20; })) << answers;
}

TEST_F(TlsHandleTest, TheSessionGoesOnOnANewConnection) {
  SecureServer server(authority_.Issue());
  Open(server);
  ASSERT_TRUE(RunUntilConnected());
  server.HangUp();
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_THAT(Ask().children, ElementsAre("/a"));
  server.SayGoodbye();
  ASSERT_TRUE(RunUntilConnected(3));
  EXPECT_THAT(diary_.failures, ElementsAre(server.address() + " closed the connection",
                                           server.address() + " closed the connection"));
}

TEST_F(TlsHandleTest, AServerOfAnotherNameGetsNoHandshakeOfZooKeepers) {
  SecureServer server(authority_.Issue({.names = "DNS:zk2"}));
  Open(server, {}, "zk1");
  ASSERT_TRUE(RunUntilFailed(3));
  EXPECT_EQ(diary_.failures.front(),
            server.address() + " has a certificate that is not for \"zk1\" but for \"zk2\"");
  EXPECT_EQ(diary_.connected, 0);
  EXPECT_EQ(server.connections(), 3) << "one connection for each attempt";
}

// Attempts keep to the pace: at T = 10 s about three in the first T/10, and one in T/10 or more
// since.
TEST_F(TlsHandleTest, WhatIsRefusedIsNotTriedInAStorm) {
  SecureServer server(authority_.Issue({.names = "DNS:zk2"}));
  Open(server, {}, "zk1");
  const base::BootTime end = driver_.Now() + absl::Seconds(60);
  ASSERT_TRUE(RunUntil([&] { return driver_.Now() >= end; }, 100'000));
  EXPECT_GE(server.connections(), 15);
  EXPECT_LE(server.connections(), 60);
}

TEST_F(TlsHandleTest, APortWithoutTlsThatHangsUpIsSuspected) {
  SecureServer server(authority_.Issue());
  server.silent = true;
  Open(server);
  ASSERT_TRUE(RunUntil([&] { return server.open() > 0; }));
  for (int i = 0; i < 3; ++i) driver_.Round();
  server.HangUp();
  ASSERT_TRUE(RunUntilFailed());
  EXPECT_EQ(diary_.failures.front(),
            server.address() +
                " closed the connection during the TLS handshake, as a port without TLS does");
  EXPECT_EQ(diary_.causes.front(), NoConnection::kTls);
}

// As one that requires a certificate may: its alert is lost if it resets the connection.
TEST_F(TlsHandleTest, AServerThatHangsUpBehindTheHandshakeMayHaveWantedACertificate) {
  SecureServer server(authority_.Issue());
  server.drops = true;
  Open(server);
  ASSERT_TRUE(RunUntilFailed());
  EXPECT_EQ(diary_.failures.front(),
            server.address() +
                " closed the connection during the handshake, as a server does that does not "
                "accept this client's certificate or its lack of one, has no quorum, or has "
                "maxClientCnxns connections of this host");
  EXPECT_EQ(diary_.causes.front(), NoConnection::kHungUp);
}

TEST_F(TlsHandleTest, AHandshakeThatStallsIsGivenUpAtThePaceOfAny) {
  SecureServer server(authority_.Issue());
  server.silent = true;
  Open(server);
  const base::BootTime began = driver_.Now();
  ASSERT_TRUE(RunUntilFailed());
  EXPECT_EQ(diary_.failures.front(),
            server.address() + " took the connection, but did not end the TLS handshake in time");
  const absl::Duration took = driver_.Now() - began;
  EXPECT_GE(took, absl::Seconds(10) / 3);
  EXPECT_LE(took, absl::Seconds(10) / 3 + absl::Seconds(1));
  EXPECT_LT(ready_, 10) << "nothing spins meanwhile";
  server.silent = false;
  EXPECT_TRUE(RunUntilConnected());
}

TEST_F(TlsHandleTest, AFileThatGoesBadLeavesTheConnectionAndIsNamedAtTheNextOne) {
  SecureServer server(authority_.Issue(), {.client_authority = authority_.certificate()});
  const tls::Identity own = authority_.Issue();
  Open(server, {.certificate_file = files_.Write("certificate", own.certificate),
                .key_file = files_.Write("key", own.key)});
  ASSERT_TRUE(RunUntilConnected()) << testing::PrintToString(diary_.failures);
  files_.Write("key", "no key");
  EXPECT_THAT(Ask().children, ElementsAre("/a"));
  server.HangUp();
  ASSERT_TRUE(RunUntilFailed(4));
  EXPECT_EQ(diary_.failures[1],
            absl::StrCat("tls: key_file \"", files_.path("key"), "\": has no good private key"));
  EXPECT_EQ(server.connections(), 1) << "no attempt is made meanwhile";
  EXPECT_GE(diary_.attempts.size(), 3u);
  const tls::Identity next = authority_.Issue();
  files_.Write("certificate", next.certificate);
  files_.Write("key", next.key);
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_THAT(Ask().children, ElementsAre("/a"));
}

}  // namespace
}  // namespace zkrecipes::zk::c_client
