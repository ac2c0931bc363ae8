// SPDX-License-Identifier: Apache-2.0

#include "lib/base/secret.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

TEST(Secret, IsOneCopyForAllThatHaveIt) {
  const Secret a("user:password");
  const Secret b = a;
  EXPECT_EQ(a.text().data(), b.text().data());
  EXPECT_EQ(b.text(), "user:password");
  EXPECT_TRUE(a == Secret("user:password"));
  EXPECT_FALSE(a == Secret("user:passwore"));
}

// That it is overwritten when it goes, SecretsTest.NoneIsLeftInMemoryOrInAMessage shows: here the
// memory may be another's by then.
TEST(Secret, WhatIsTakenIsWipedWhereItCameFrom) {
  std::vector<std::string> texts = {"a:1", std::string(100, 'x') + ":long"};
  const char* const short_one = texts[0].data();
  texts[0].reserve(3);
  const Secrets secrets = TakeSecrets(texts);
  EXPECT_TRUE(texts.empty());
  ASSERT_EQ(secrets.size(), 2u);
  EXPECT_EQ(secrets[0].text(), "a:1");
  EXPECT_EQ(secrets[1].text().size(), 105u);
  EXPECT_NE(secrets[0].text().data(), short_one);
}

TEST(Secret, AStringIsWipedWithAllThatItHasRoomFor) {
  std::string text = "user:password";
  text.reserve(64);
  const char* const bytes = text.data();
  text.resize(4);  // "word" stays behind the end
  Wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string(bytes, 13), std::string(13, '\0'));
}

}  // namespace
}  // namespace zkrecipes::base
