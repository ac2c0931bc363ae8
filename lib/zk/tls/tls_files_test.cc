// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/tls/tls.h"
#include "lib/zk/tls/tls_fixture.h"

namespace zkrecipes::zk::tls {
namespace {

using ::testing::HasSubstr;

class TlsFilesTest : public testing::Test {
 protected:
  TlsFilesTest() {
    options_.ca_file = files_.Write("ca", authority_.certificate());
    options_.certificate_file = files_.Write("certificate", own_.certificate);
    options_.key_file = files_.Write("key", own_.key);
    options_.crl_file = files_.Write("crl", authority_.ListOfRevoked({}));
  }

  // "tls: <option> "<path>": " in front of `what`.
  std::string Refusal(const std::string& option, const std::string& name,
                      const std::string& what) const {
    return absl::StrCat("tls: ", option, " \"", files_.path(name), "\": ", what);
  }
  std::string WhyNot() const {
    const absl::Status status = TlsContext::Open(options_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  const TlsFiles files_;
  TestAuthority authority_;
  const Identity own_ = authority_.Issue();
  TlsOptions options_;
};

TEST_F(TlsFilesTest, GoodOnesAreTaken) {
  EXPECT_EQ(TlsContext::Open(options_).status(), absl::OkStatus());
}

TEST_F(TlsFilesTest, AFileThatIsNotThereIsNamed) {
  options_.ca_file = files_.path("none");
  EXPECT_EQ(WhyNot(), Refusal("ca_file", "none", "No such file or directory"));
}

TEST_F(TlsFilesTest, ADirectoryAndAPipeAreNoFiles) {
  mkdir(files_.path("directory").c_str(), 0700);
  options_.ca_file = files_.path("directory");
  EXPECT_EQ(WhyNot(), Refusal("ca_file", "directory", "is not a regular file"));
  mkfifo(files_.path("pipe").c_str(), 0600);  // nothing waits for its other end
  options_.ca_file = files_.path("pipe");
  EXPECT_EQ(WhyNot(), Refusal("ca_file", "pipe", "is not a regular file"));
}

TEST_F(TlsFilesTest, EachFileHasToHoldWhatItIsFor) {
  files_.Write("ca", own_.key);
  EXPECT_EQ(WhyNot(), Refusal("ca_file", "ca", "has no certificate"));
  files_.Write("ca", authority_.certificate());
  files_.Write("certificate", "");
  EXPECT_EQ(WhyNot(), Refusal("certificate_file", "certificate", "has no certificate"));
  files_.Write("certificate", own_.certificate);
  files_.Write("key", own_.certificate);
  EXPECT_EQ(WhyNot(), Refusal("key_file", "key", "has no good private key"));
  files_.Write("key", own_.key);
  files_.Write("crl", own_.certificate);
  EXPECT_EQ(WhyNot(), Refusal("crl_file", "crl", "has no list of revoked certificates"));
}

TEST_F(TlsFilesTest, DamageIsSeen) {
  std::string damaged = authority_.certificate();
  damaged[damaged.size() / 2] = '!';
  files_.Write("ca", damaged);
  EXPECT_THAT(WhyNot(), HasSubstr(Refusal("ca_file", "ca", "has no good certificate: ")));
  files_.Write("ca", authority_.certificate() + damaged);
  EXPECT_THAT(WhyNot(), HasSubstr(Refusal("ca_file", "ca", "has no good certificate: ")));
}

TEST_F(TlsFilesTest, AKeyBelongsToItsCertificate) {
  files_.Write("key", authority_.Issue().key);
  EXPECT_EQ(WhyNot(),
            Refusal("key_file", "key", "does not belong to the certificate in certificate_file"));
}

TEST_F(TlsFilesTest, AnEncryptedKeyAsksForNoPassphrase) {
  files_.Write("key", Encrypted(own_.key));
  EXPECT_EQ(WhyNot(), Refusal("key_file", "key",
                              "is encrypted, and there is nobody to ask for a passphrase"));
}

// Also the lines of it.
TEST_F(TlsFilesTest, NoMessageHasAnythingOfAKey) {
  std::string damaged = own_.key;
  damaged[damaged.size() / 2] = '!';
  files_.Write("key", damaged);
  const std::string why = WhyNot();
  const size_t line = damaged.find('\n') + 1;
  EXPECT_THAT(why, Not(HasSubstr(damaged.substr(line, 10))));
  EXPECT_THAT(why, HasSubstr("key_file"));
}

// ---- changed files ----------------------------------------------------------------------------

TEST_F(TlsFilesTest, EachConnectionGoesByTheFilesOfItsTime) {
  auto context = TlsContext::Open(options_);
  ASSERT_TRUE(context.ok()) << context.status();
  const auto connect = [&] { return (*context)->Connect({"localhost"}).status(); };
  EXPECT_EQ(connect(), absl::OkStatus());
  const Identity next = authority_.Issue();
  files_.Write("certificate", next.certificate);
  // In between: the key is still the old one's.
  EXPECT_EQ(connect().message(),
            Refusal("key_file", "key", "does not belong to the certificate in certificate_file"));
  files_.Write("key", next.key);
  EXPECT_EQ(connect(), absl::OkStatus());
}

TEST_F(TlsFilesTest, AStreamOutlivesTheFilesThatItWasMadeFrom) {
  auto context = TlsContext::Open(options_);
  ASSERT_TRUE(context.ok()) << context.status();
  auto stream = (*context)->Connect({"localhost"});
  ASSERT_TRUE(stream.ok()) << stream.status();
  files_.Write("ca", "nothing");
  EXPECT_FALSE((*context)->Connect({"localhost"}).ok());
  TlsServerEnd server(authority_.Issue());
  while (!(*stream)->unsent().empty()) {
    server.Hear((*stream)->unsent());
    (*stream)->Sent((*stream)->unsent().size());
    (*stream)->Hear(server.TakeUnsent());
  }
  EXPECT_EQ((*stream)->state(), TlsStream::State::kEstablished) << (*stream)->failure();
}

}  // namespace
}  // namespace zkrecipes::zk::tls
