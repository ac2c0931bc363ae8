// SPDX-License-Identifier: Apache-2.0

#include "integration/four_letter_answers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zkrecipes::integration {
namespace {

TEST(FourLetterAnswers, ConnectionsTellSessionsFromTheWordItself) {
  const std::vector<ConnectionStats> all = ParseConnections(
      " /127.0.0.1:42074[1](queued=0,recved=12,sent=11,sid=0x2000011a5c80001,lop=GETD,"
      "est=1700000000000,to=30000,lcxid=0x1f,lzxid=0x100000005,lresp=1,llat=0)\n"
      " /127.0.0.1:42080[0](queued=0,recved=1,sent=0)\n\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].session, 0x2000011a5c80001u);
  EXPECT_EQ(all[0].received, 12);
  EXPECT_EQ(all[0].sent, 11);
  EXPECT_EQ(all[0].last_cxid, 0x1f);
  EXPECT_EQ(all[0].last_operation, "GETD");
  EXPECT_EQ(all[1].session, 0u);
  EXPECT_EQ(all[1].received, 1);
}

TEST(FourLetterAnswers, MonitorIsAMapOfTexts) {
  EXPECT_THAT(ParseMonitor("zk_version\t3.8.0-x, built\nzk_packets_received\t17\n"),
              ::testing::ElementsAre(::testing::Pair("zk_packets_received", "17"),
                                     ::testing::Pair("zk_version", "3.8.0-x, built")));
}

}  // namespace
}  // namespace zkrecipes::integration
