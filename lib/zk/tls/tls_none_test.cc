// SPDX-License-Identifier: Apache-2.0
//
// The library as it is without OpenSSL: this program brings tls_none.cc, so that it links nothing
// else for TLS.

#include <gtest/gtest.h>

#include "zkrecipes/client.h"

namespace zkrecipes {
namespace {

TEST(WithoutTls, AClientThatAsksForItIsRefused) {
  const absl::Status refused =
      Client::Create({.servers = "127.0.0.1:1", .tls = TlsOptions{.ca_file = "/none"}}).status();
  EXPECT_EQ(
      refused,
      absl::FailedPreconditionError(
          "ClientOptions::tls: this zkrecipes was built without TLS (CMake's ZKRECIPES_WITH_TLS)"));
}

TEST(WithoutTls, TheOptionsAreCheckedAllTheSame) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      Client::Create({.servers = "127.0.0.1:1", .tls = TlsOptions{}}).status()));
}

TEST(WithoutTls, AClientThatDoesNotIsServed) {
  EXPECT_TRUE(Client::Create({.servers = "127.0.0.1:1"}).ok());
}

}  // namespace
}  // namespace zkrecipes
