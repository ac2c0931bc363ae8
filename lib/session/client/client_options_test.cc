// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/client_options.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::session::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ClientOptions Good() { return {.servers = "zk1:2181"}; }

// The message of the refusal, "" when the options are accepted.
std::string Refusal(const ClientOptions& options) {
  const auto servers = CheckClientOptions(options);
  if (servers.ok()) return "";
  EXPECT_EQ(servers.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(servers.status().message());
}

template <typename Value>
std::string RefusalOf(Value ClientOptions::*option, const Value& value) {
  ClientOptions options = Good();
  options.*option = value;
  return Refusal(options);
}

std::string RefusalOfTimeout(absl::Duration timeout) {
  return RefusalOf(&ClientOptions::session_timeout, Duration(timeout));
}
std::string RefusalOfCredentials(const std::string& credentials) {
  return RefusalOf(&ClientOptions::digest_credentials, {"bob:secret", credentials});
}
std::string RefusalOfAcl(const std::vector<Acl>& acl) {
  return RefusalOf(&ClientOptions::acl, acl);
}
std::string RefusalOfOwner(const std::string& id) {
  return RefusalOf(&ClientOptions::owner_id, id);
}

TEST(ClientOptions, ByDefaultNeedOnlyServers) {
  EXPECT_EQ(Refusal(Good()), "");
  EXPECT_EQ(Refusal({}), "server list \"\": must name at least one server, \"host:port\"");
}

TEST(ClientOptions, GiveTheServersAndTheNamespace) {
  const auto servers = CheckClientOptions({.servers = "a:1,b:2/team"});
  ASSERT_TRUE(servers.ok()) << servers.status();
  EXPECT_EQ(servers->servers.size(), 2u);
  EXPECT_EQ(servers->namespace_root, "/team");
}

TEST(ClientOptions, TakeASessionTimeoutThatTheCClientCanCarry) {
  EXPECT_EQ(RefusalOfTimeout(absl::Milliseconds(100)), "");
  EXPECT_EQ(RefusalOfTimeout(absl::Milliseconds(1073741824)), "");
  EXPECT_EQ(RefusalOfTimeout(absl::Milliseconds(99)),
            "session timeout \"99ms\": must be from 100ms to 1073741824ms");
  EXPECT_NE(RefusalOfTimeout(absl::Milliseconds(2147483648)), "");
  EXPECT_NE(RefusalOfTimeout(absl::ZeroDuration()), "");
  EXPECT_NE(RefusalOfTimeout(-absl::Seconds(1)), "");
  EXPECT_NE(RefusalOfTimeout(absl::InfiniteDuration()), "");
}

TEST(ClientOptions, TakeCredentialsWithAUserAndNeverShowThem) {
  EXPECT_EQ(RefusalOfCredentials("alice:secret"), "");
  EXPECT_EQ(RefusalOfCredentials("alice:se:cret"), "");
  EXPECT_EQ(RefusalOfCredentials("alice:"), "");
  for (const std::string bad : {"secret", ":secret"}) {
    EXPECT_THAT(RefusalOfCredentials(bad), HasSubstr("digest credentials: must be"));
    EXPECT_THAT(RefusalOfCredentials(bad), Not(HasSubstr("secret")));
  }
}

TEST(ClientOptions, TakeAnAclThatLetsSomebodyQueue) {
  EXPECT_EQ(RefusalOfAcl(OpenAcl()), "");
  EXPECT_EQ(RefusalOfAcl({Acl{13, "ip", "10.0.0.0/8"}}), "");
  EXPECT_EQ(RefusalOfAcl({Acl{1, "world", "anyone"}, Acl{12, "ip", "10.0.0.1"}}), "");
  EXPECT_EQ(RefusalOfAcl({}), "acl: must not be empty");
  EXPECT_THAT(RefusalOfAcl({Acl{0, "world", "anyone"}}), HasSubstr("\"world:anyone\""));
  EXPECT_THAT(RefusalOfAcl({Acl{32, "world", "anyone"}}), HasSubstr("permissions from 1 to 31"));
  EXPECT_THAT(RefusalOfAcl({Acl{31, "", "anyone"}}), HasSubstr("needs a scheme"));
  for (const int32_t too_little : {1, 2, 4, 8, 5, 9, 12, 18}) {
    EXPECT_THAT(RefusalOfAcl({Acl{too_little, "world", "anyone"}}), HasSubstr("must grant read"));
  }
}

TEST(ClientOptions, TakeAnAclOnlyIfItNamesTheSameOneOnTheServer) {
  const std::string other("CN=me\0,OU=guests", 16);
  EXPECT_EQ(RefusalOfAcl({Acl{31, "x509", other}}),
            "acl entry \"x509:CN=me\\x00,OU=guests\": must be UTF-8 without a NUL");
  EXPECT_THAT(RefusalOfAcl({Acl{31, std::string("world\0ly", 8), "anyone"}}), HasSubstr("NUL"));
  EXPECT_THAT(RefusalOfAcl({Acl{31, "x509", "CN=\xff"}}), HasSubstr("\"x509:CN=\\xff\""));
  EXPECT_EQ(RefusalOfAcl({Acl{31, "x509", "CN=J\xc3\xbcrgen"}}), "");
}

TEST(ClientOptions, TakeACreatorsAclOnlyWithCredentials) {
  EXPECT_THAT(RefusalOfAcl(CreatorOnlyAcl()), HasSubstr("needs digest credentials"));
  ClientOptions options = Good();
  options.acl = CreatorOnlyAcl();
  options.digest_credentials = {"alice:secret"};
  EXPECT_EQ(Refusal(options), "");
}

TEST(ClientOptions, TakeAnOwnerIdThatNodesCanCarry) {
  EXPECT_EQ(RefusalOfOwner("caf\xc3\xa9 7"), "");
  EXPECT_EQ(RefusalOfOwner(std::string(512, 'x')), "");
  EXPECT_EQ(RefusalOfOwner(std::string(513, 'x')), "owner id of 513 bytes: must be at most 512");
  EXPECT_EQ(RefusalOfOwner("a\xff"), "owner id \"a\\xff\": must be UTF-8");
}

TEST(ClientOptions, TakeTlsWithAnAuthorityAndAWholeIdentity) {
  ClientOptions options = Good();
  options.tls = {.ca_file = "ca.pem"};
  EXPECT_EQ(Refusal(options), "");
  options.tls = {.ca_file = "ca.pem", .certificate_file = "c.pem", .key_file = "k.pem"};
  EXPECT_EQ(Refusal(options), "");
  options.tls->key_file = "";
  EXPECT_EQ(Refusal(options), "tls: certificate_file and key_file go together");
  options.tls = {.certificate_file = "c.pem", .key_file = "k.pem"};
  EXPECT_EQ(Refusal(options), "tls: ca_file must name the authorities' certificates");
}

TEST(ClientOptions, TakeAServerNameThatIsAHosts) {
  ClientOptions options = Good();
  for (const char* good : {"zk.example", "10.0.0.1", "fd00::1"}) {
    options.tls = {.ca_file = "ca.pem", .server_name = good};
    EXPECT_EQ(Refusal(options), "");
  }
  for (const char* bad :
       {"zk1,zk2", "zk1/app", " zk1", "*.zk", "zk1:2281:", ".zk.example", ".", ".::1", "a:b"}) {
    options.tls->server_name = bad;
    EXPECT_THAT(Refusal(options), HasSubstr("tls: server_name \""));
  }
}

TEST(ClientOptions, TakeNoListThatHasNoSecurePortsWithTls) {
  ClientOptions options = Good();
  options.tls = {.ca_file = "ca.pem"};
  options.follow_config = true;
  EXPECT_THAT(Refusal(options), HasSubstr("follow_config: not with tls"));
}

TEST(WaitOptions, MustNotBeNegative) {
  EXPECT_TRUE(CheckWaitOptions({}).ok());
  EXPECT_TRUE(CheckWaitOptions({absl::ZeroDuration()}).ok());
  EXPECT_EQ(CheckWaitOptions({-absl::Nanoseconds(1)}),
            absl::InvalidArgumentError("timeout \"-1ns\": must not be negative"));
  EXPECT_FALSE(CheckWaitOptions({-absl::InfiniteDuration()}).ok());
}

std::string RefusalOfWriter(const std::string& writer, bool use_record = true) {
  return RefusalOf(&ClientOptions::epoch, {.writers = {writer}, .use_record = use_record});
}

TEST(ClientOptions, NameTheEpochsWritersAsAnAclShowsThemWhole) {
  for (const char* good : {"x509:CN=a", "ip:10.0.0.1", "digest:a:3rJv=", "sasl:a@B"}) {
    EXPECT_EQ(RefusalOfWriter(good), "") << good;
  }
  for (const char* bad : {"", ":", "x509", "x509:", ":a", "world:anyone", "auth:", "auth:a",
                          "digest:a", "digest:a:", "digest::", "digest:a:x"}) {
    EXPECT_THAT(RefusalOfWriter(bad), HasSubstr("must be one user as an ACL shows it")) << bad;
  }
  EXPECT_THAT(RefusalOfWriter("x509:CN=a", /*use_record=*/false), HasSubstr("is not read"));
}

}  // namespace
}  // namespace zkrecipes::session::client
