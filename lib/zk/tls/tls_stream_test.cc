// SPDX-License-Identifier: Apache-2.0
//
// A client's TLS and a server's, in memory.

#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/tls/tls.h"
#include "lib/zk/tls/tls_fixture.h"

namespace zkrecipes::zk::tls {
namespace {

using ::testing::HasSubstr;
using State = TlsStream::State;

class TlsStreamTest : public testing::Test {
 protected:
  TlsOptions Options() const { return {.ca_file = files_.Write("ca", authority_.certificate())}; }
  TlsOptions WithCertificate(const Identity& own) const {
    TlsOptions options = Options();
    options.certificate_file = files_.Write("certificate", own.certificate);
    options.key_file = files_.Write("key", own.key);
    return options;
  }
  std::unique_ptr<TlsStream> Connect(const TlsOptions& options,
                                     const std::vector<std::string>& hosts) {
    auto context = TlsContext::Open(options);
    EXPECT_TRUE(context.ok()) << context.status();
    auto stream = (*context)->Connect(hosts);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return *std::move(stream);
  }
  // As Read, whatever there is.
  static std::string Read(TlsStream& stream) {
    std::string bytes(100'000, '\0');
    bytes.resize(stream.Read(bytes.data(), bytes.size()));
    return bytes;
  }
  // Until neither has anything to say. What the client reads on the way.
  static std::string Talk(TlsStream& client, TlsServerEnd& server, size_t piece = 1 << 20) {
    std::string read;
    for (bool more = true; more;) {
      const std::string up(client.unsent());
      client.Sent(up.size());
      for (size_t i = 0; i < up.size(); i += piece) server.Hear(up.substr(i, piece));
      const std::string down = server.TakeUnsent();
      for (size_t i = 0; i < down.size(); i += piece) {
        client.Hear(down.substr(i, piece));
        read += Read(client);
      }
      more = !client.unsent().empty() || !down.empty();
    }
    return read;
  }
  // What becomes of a handshake with a server that has this certificate.
  std::string FailureWith(const Identity& identity, const std::vector<std::string>& hosts,
                          const TlsOptions& options) {
    const auto client = Connect(options, hosts);
    TlsServerEnd server(identity);
    Talk(*client, server);
    EXPECT_EQ(client->state(), client->failure().empty() ? State::kEstablished : State::kFailed);
    return client->failure();
  }
  std::string FailureWith(const Identity& identity, const std::vector<std::string>& hosts) {
    return FailureWith(identity, hosts, Options());
  }

  const TlsFiles files_;
  TestAuthority authority_;
};

TEST_F(TlsStreamTest, WhatIsSaidIsHeardOnTheOtherSideInVersions12And13) {
  for (const bool only_1_2 : {false, true}) {
    const auto client = Connect(Options(), {"localhost"});
    TlsServerEnd server(authority_.Issue(), {.only_1_2 = only_1_2});
    Talk(*client, server);
    ASSERT_EQ(client->state(), State::kEstablished) << client->failure();
    client->Say("a question");
    server.Say("an answer");
    EXPECT_EQ(Talk(*client, server), "an answer");
    EXPECT_EQ(server.heard(), "a question");
  }
}

TEST_F(TlsStreamTest, NothingDependsOnHowTheBytesAreCut) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server, /*piece=*/1);
  ASSERT_EQ(client->state(), State::kEstablished) << client->failure();
  const std::string much(50'000, 'x');  // several records
  server.Say(much);
  EXPECT_EQ(Talk(*client, server, /*piece=*/1000), much);
}

TEST_F(TlsStreamTest, ReadsOnlyAsMuchAsThereIsRoomForAndTheRestLater) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server);
  server.Say("0123456789");
  server.Say("abc");
  client->Hear(server.TakeUnsent());
  char bytes[8];
  ASSERT_EQ(client->Read(bytes, 8), 8u);
  EXPECT_EQ(Read(*client), "89abc");
  EXPECT_EQ(Read(*client), "");
}

TEST_F(TlsStreamTest, AChangeOfKeysIsAnsweredWithoutLosingAnything) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server);
  for (int i = 0; i < 5; ++i) {
    server.ChangeKeys();
    server.Say("x");
    client->Say("y");
    EXPECT_EQ(Talk(*client, server), "x");
  }
  EXPECT_EQ(server.heard(), "yyyyy");
}

TEST_F(TlsStreamTest, AServerThatAsksForNewKeysAndDoesNotReadIsLeft) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server);
  for (int i = 0; i < 10'000; ++i) {  // one that reads may ask as often as it likes
    server.ChangeKeys();
    ASSERT_EQ(Talk(*client, server), "");
  }
  ASSERT_EQ(client->state(), State::kEstablished) << client->failure();
  const std::string much(1 << 20, 'x');
  client->Say(much);  // does not count: the server has not made the client say so
  for (int i = 0; i < 10'000 && client->state() == State::kEstablished; ++i) {
    server.ChangeKeys();
    client->Hear(server.TakeUnsent());
    EXPECT_EQ(Read(*client), "");
    if (i == 100) {
      EXPECT_EQ(client->state(), State::kEstablished);
    }
  }
  EXPECT_EQ(client->state(), State::kFailed);
  EXPECT_EQ(client->failure(), "makes this client answer, but does not read the answers");
  EXPECT_LT(client->unsent().size(), much.size() + 120'000);
}

TEST_F(TlsStreamTest, AGoodbyeEndsTheStreamBehindWhatWasSaid) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server);
  server.Say("last words");
  server.SayGoodbye();
  EXPECT_EQ(Talk(*client, server), "last words");
  EXPECT_EQ(client->state(), State::kClosed);
  EXPECT_EQ(client->failure(), "");
}

// The threads of loops are not ended at exit(), when OpenSSL frees what they use if the program has
// initialised it before this library.
TEST_F(TlsStreamTest, NothingOfOpenSslIsUsedWhileTheProcessExits) {
  const TlsOptions options = Options();
  const auto exit_amid_handshakes = [&options] {
    std::atomic<int> handshakes = 0;
    for (int i = 0; i < 4; ++i) {
      std::thread([&handshakes, context = *TlsContext::Open(options)] {
        for (;; ++handshakes) (void)context->Connect({"localhost"});
      }).detach();
    }
    while (handshakes < 20) std::this_thread::yield();
    OPENSSL_cleanup();  // as exit() does
    const int before = handshakes;
    while (handshakes < before + 1000) std::this_thread::yield();
    _exit(0);
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_EXIT(exit_amid_handshakes(), testing::ExitedWithCode(0), "");
  }
}

// ---- which servers are accepted ---------------------------------------------------------------

TEST_F(TlsStreamTest, AServerHasToHaveTheNameThatItIsListedBy) {
  const Identity zk1 = authority_.Issue({.names = "DNS:zk1.example,DNS:zk1"});
  EXPECT_EQ(FailureWith(zk1, {"zk1"}), "");
  EXPECT_EQ(FailureWith(zk1, {"ZK1.example."}), "") << "capitals and a last dot are no difference";
  EXPECT_EQ(FailureWith(zk1, {"zk2"}),
            "has a certificate that is not for \"zk2\" but for \"zk1.example\", \"zk1\"");
  EXPECT_EQ(FailureWith(zk1, {"zk2", "zk1"}), "") << "one of its names is enough";
}

TEST_F(TlsStreamTest, AnAddressIsNoName) {
  const Identity by_address = authority_.Issue({.names = "IP:10.0.0.1,IP:fd00::1"});
  EXPECT_EQ(FailureWith(by_address, {"10.0.0.1"}), "");
  EXPECT_EQ(FailureWith(by_address, {"fd00:0::1"}), "");
  EXPECT_EQ(FailureWith(by_address, {"fd00::1%eth0"}), "");
  EXPECT_EQ(FailureWith(by_address, {"10.0.0.2"}),
            "has a certificate that is not for \"10.0.0.2\" but for \"10.0.0.1\", \"fd00::1\"");
  const Identity by_name = authority_.Issue({.names = "DNS:10.0.0.1"});
  EXPECT_NE(FailureWith(by_name, {"10.0.0.1"}), "") << "an address in a DNS name is none";
  EXPECT_NE(FailureWith(by_address, {"zk1", "10.0.0.1"}), "") << "a listed name has to be there";
}

TEST_F(TlsStreamTest, WildcardsStandForOneWholeLabel) {
  const Identity any = authority_.Issue({.names = "DNS:*.example.org"});
  EXPECT_EQ(FailureWith(any, {"zk1.example.org"}), "");
  EXPECT_NE(FailureWith(any, {"zk1.eu.example.org"}), "");
  EXPECT_NE(FailureWith(any, {"example.org"}), "");
  EXPECT_NE(FailureWith(authority_.Issue({.names = "DNS:zk*.example.org"}), {"zk1.example.org"}),
            "");
}

// To OpenSSL it would be any name below, however deep.
TEST_F(TlsStreamTest, ANameThatBeginsWithADotIsNone) {
  auto context = TlsContext::Open(Options());
  ASSERT_TRUE(context.ok()) << context.status();
  for (const char* name : {".example.org", ".example.org%eth0", ".", "..", ".:", "%eth0"}) {
    for (const auto& hosts :
         std::vector<std::vector<std::string>>{{name}, {"zk1", name}, {name, "10.0.0.1"}}) {
      EXPECT_EQ((*context)->Connect(hosts).status().code(), absl::StatusCode::kInvalidArgument)
          << name;
    }
  }
}

TEST_F(TlsStreamTest, ACommonNameCountsForNothing) {
  const Identity old = authority_.Issue({.names = "", .common_name = "zk1"});
  EXPECT_EQ(FailureWith(old, {"zk1"}), "has a certificate that is not for \"zk1\" but for no host");
}

TEST_F(TlsStreamTest, TheServerNameOfTheOptionsStandsForAll) {
  TlsOptions options = Options();
  options.server_name = "ensemble.example";
  const Identity shared = authority_.Issue({.names = "DNS:ensemble.example"});
  EXPECT_EQ(FailureWith(shared, {"10.0.0.1"}, options), "");
  EXPECT_NE(FailureWith(authority_.Issue({.names = "IP:10.0.0.1"}), {"10.0.0.1"}, options), "");
}

TEST_F(TlsStreamTest, TheServerIsToldWhichNameIsWantedButNoAddress) {
  for (const auto& [host, asked] : {std::pair("localhost", "localhost"), {"127.0.0.1", ""}}) {
    const auto client = Connect(Options(), {host});
    TlsServerEnd server(authority_.Issue());
    Talk(*client, server);
    EXPECT_EQ(client->state(), State::kEstablished) << client->failure();
    EXPECT_EQ(server.name_asked_for(), asked);
  }
}

TEST_F(TlsStreamTest, ACertificateHasItsTime) {
  EXPECT_EQ(FailureWith(authority_.Issue({.until = -absl::Minutes(1)}), {"localhost"}),
            "has a certificate that is not accepted: certificate has expired");
  EXPECT_EQ(FailureWith(authority_.Issue({.from = absl::Minutes(10)}), {"localhost"}),
            "has a certificate that is not accepted: certificate is not yet valid");
}

TEST_F(TlsStreamTest, ACertificateHasToBeOneOfTheAuthorities) {
  TestAuthority stranger("a stranger");
  EXPECT_EQ(FailureWith(stranger.Issue(), {"localhost"}),
            "has a certificate that is not accepted: unable to get local issuer certificate");
  TestAuthority impostor;  // of the same name
  EXPECT_NE(FailureWith(impostor.Issue(), {"localhost"}), "");
}

TEST_F(TlsStreamTest, AnyOfSeveralAuthoritiesWillDo) {
  TestAuthority next("the next authority");
  TlsOptions options = Options();
  options.ca_file = files_.Write("both", authority_.certificate() + next.certificate());
  EXPECT_EQ(FailureWith(authority_.Issue(), {"localhost"}, options), "");
  EXPECT_EQ(FailureWith(next.Issue(), {"localhost"}, options), "");
}

TEST_F(TlsStreamTest, ARevokedCertificateIsRefusedAndSoIsOneWithoutAListInForce) {
  const Identity good = authority_.Issue();
  const Identity bad = authority_.Issue();
  TlsOptions options = Options();
  options.crl_file = files_.Write("crl", authority_.ListOfRevoked({bad.serial}));
  EXPECT_EQ(FailureWith(good, {"localhost"}, options), "");
  EXPECT_EQ(FailureWith(bad, {"localhost"}, options),
            "has a certificate that is not accepted: certificate revoked");
  files_.Write("crl", authority_.ListOfRevoked({}, /*until=*/-absl::Minutes(1)));
  EXPECT_EQ(FailureWith(good, {"localhost"}, options),
            "has a certificate that is not accepted: CRL has expired");
  files_.Write("crl", TestAuthority("another").ListOfRevoked({}));
  EXPECT_EQ(FailureWith(good, {"localhost"}, options),
            "has a certificate that is not accepted: unable to get certificate CRL");
}

TEST_F(TlsStreamTest, AServerHearsWhyItIsRefused) {
  const auto client = Connect(Options(), {"zk9"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server);
  EXPECT_THAT(server.failure(), HasSubstr("alert bad certificate"));
}

TEST_F(TlsStreamTest, OldVersionsAreRefused) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue(), {.only_1_1 = true});
  Talk(*client, server);
  EXPECT_EQ(client->state(), State::kFailed);
  EXPECT_THAT(client->failure(), HasSubstr("version"));
}

// A configuration that allows every cipher, as OPENSSL_CONF may.
class EveryCipherIsAllowed {
 public:
  explicit EveryCipherIsAllowed(const TlsFiles& files) {
    const std::string path = files.Write("openssl.cnf",
                                         "openssl_conf = all\n"
                                         "[all]\nssl_conf = every\n"
                                         "[every]\nsystem_default = one\n"
                                         "[one]\nCipherString = ALL:eNULL:@SECLEVEL=0\n");
    EXPECT_EQ(CONF_modules_load_file(path.c_str(), nullptr, 0), 1);
  }
  ~EveryCipherIsAllowed() { CONF_modules_finish(); }
};

TEST_F(TlsStreamTest, NoConfigurationAllowsAServerWithoutACertificateOrAConnectionInTheClear) {
  const EveryCipherIsAllowed configured(files_);
  for (const char* ciphers : {"aNULL:@SECLEVEL=0", "eNULL:!aNULL:@SECLEVEL=0"}) {
    const auto client = Connect(Options(), {"localhost"});
    TlsServerEnd server(authority_.Issue(), {.only_1_2 = true, .ciphers = ciphers});
    Talk(*client, server);
    EXPECT_EQ(client->state(), State::kFailed) << ciphers;
    EXPECT_FALSE(server.established()) << ciphers;
  }
  EXPECT_EQ(FailureWith(authority_.Issue(), {"localhost"}), "");
}

// ---- what servers ask for ---------------------------------------------------------------------

TEST_F(TlsStreamTest, AServerThatAsksGetsTheClientsCertificate) {
  const Identity own = authority_.Issue({.names = "", .common_name = "a client"});
  const auto client = Connect(WithCertificate(own), {"localhost"});
  TlsServerEnd server(authority_.Issue(), {.client_authority = authority_.certificate()});
  Talk(*client, server);
  EXPECT_EQ(client->state(), State::kEstablished) << client->failure();
  EXPECT_TRUE(server.client_has_certificate());
}

TEST_F(TlsStreamTest, AClientWithoutTheCertificateThatIsRequiredIsToldSo) {
  for (const bool only_1_2 : {false, true}) {
    const auto client = Connect(Options(), {"localhost"});
    TlsServerEnd server(authority_.Issue(),
                        {.client_authority = authority_.certificate(), .only_1_2 = only_1_2});
    Talk(*client, server);
    EXPECT_EQ(client->state(), State::kFailed);
    EXPECT_THAT(client->failure(), HasSubstr("refused the TLS connection: \""));
    EXPECT_THAT(client->failure(), HasSubstr("\" (this client has no certificate)"));
  }
}

TEST_F(TlsStreamTest, SoIsOneWithAStrangersCertificate) {
  const auto client = Connect(WithCertificate(TestAuthority("x").Issue()), {"localhost"});
  TlsServerEnd server(authority_.Issue(), {.client_authority = authority_.certificate()});
  Talk(*client, server);
  EXPECT_EQ(client->failure(), "refused the TLS connection: \"tlsv1 alert unknown ca\"");
}

// ---- what is no TLS ---------------------------------------------------------------------------

TEST_F(TlsStreamTest, WhatIsNoTlsIsShown) {
  const auto client = Connect(Options(), {"localhost"});
  client->Hear("220 mail.example.org ESMTP Postfix\r\n");
  EXPECT_EQ(client->state(), State::kFailed);
  EXPECT_EQ(client->failure(), "does not speak TLS: it says \"220 mail.example.org ESMTP Postf\"");
}

TEST_F(TlsStreamTest, AGarbledRecordOfAServerThatSpokeTlsIsCalledThat) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server);
  server.Say("an answer");
  std::string sealed = server.TakeUnsent();
  sealed[1] ^= 0x40;  // its version
  client->Hear(sealed);
  EXPECT_EQ(Read(*client), "");
  EXPECT_EQ(client->state(), State::kFailed);
  EXPECT_EQ(client->failure(), "broke the rules of TLS: wrong version number");
}

TEST_F(TlsStreamTest, NoByteOfAnEstablishedStreamCanBeChanged) {
  const auto client = Connect(Options(), {"localhost"});
  TlsServerEnd server(authority_.Issue());
  Talk(*client, server);
  server.Say("an answer");
  std::string sealed = server.TakeUnsent();
  sealed[sealed.size() / 2] ^= 1;
  client->Hear(sealed);
  EXPECT_EQ(Read(*client), "");
  EXPECT_EQ(client->state(), State::kFailed);
  EXPECT_THAT(client->failure(), HasSubstr("broke the rules of TLS"));
}

TEST_F(TlsStreamTest, WhateverByteOfTheHandshakeIsChangedNothingIsAccepted) {
  const Identity identity = authority_.Issue();
  for (size_t at = 0; at < 600; at += 7) {
    const auto client = Connect(Options(), {"localhost"});
    TlsServerEnd server(identity);
    server.Hear(client->unsent());
    client->Sent(client->unsent().size());
    std::string sealed = server.TakeUnsent();
    sealed[at % sealed.size()] ^= 0x20;
    client->Hear(sealed);
    EXPECT_NE(client->state(), State::kEstablished) << at;
  }
}

}  // namespace
}  // namespace zkrecipes::zk::tls
