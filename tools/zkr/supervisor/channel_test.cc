// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/channel.h"

#include <string>

#include "gtest/gtest.h"

namespace zkrecipes::zkr::supervisor {
namespace {

TEST(Channel, DeliversWholeMessagesInOrder) {
  auto [here, there] = Channel::Pair();
  const std::string text = std::string("A=1") + '\0' + "B=2" + '\0';
  ASSERT_TRUE(here.Send({MessageKind::kStart, 1, text, {}, /*second=*/4194304}));
  ASSERT_TRUE(here.Send({MessageKind::kAlive, 1'234'567'890'123}));

  const auto start = there.Receive();
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->kind, MessageKind::kStart);
  EXPECT_EQ(start->value, 1);
  EXPECT_EQ(start->second, 4194304);
  EXPECT_EQ(start->text, text);
  const auto alive = there.Receive();
  ASSERT_TRUE(alive.has_value());
  EXPECT_EQ(alive->value, 1'234'567'890'123);
  EXPECT_TRUE(alive->text.empty());
}

TEST(Channel, PassesADescriptorOn) {
  auto [here, there] = Channel::Pair();
  auto [end, passed] = Channel::Pair();
  Message message{MessageKind::kStart};
  message.passed = passed.Take();
  ASSERT_TRUE(here.Send(message));
  message.passed.reset();
  auto received = there.Receive();
  ASSERT_TRUE(received.has_value());
  const Channel copy(std::move(received->passed));
  ASSERT_TRUE(copy.Send({MessageKind::kEnded, 7}));
  EXPECT_EQ(end.Receive()->value, 7);
}

TEST(Channel, SaysWhenAMessageWasSent) {
  auto [here, there] = Channel::Pair();
  const auto before = base::BootNow();
  ASSERT_TRUE(here.Send({MessageKind::kForked}));
  const auto message = there.Receive();
  ASSERT_TRUE(message.has_value());
  EXPECT_GE(message->sent, before);
  EXPECT_LE(message->sent, base::BootNow());
}

TEST(Channel, ShowsItsEndAfterTheLastMessage) {
  auto [here, there] = Channel::Pair();
  ASSERT_TRUE(here.Send({MessageKind::kEnded, 3}));
  here.Close();
  ASSERT_TRUE(there.Receive().has_value());
  EXPECT_FALSE(there.Receive().has_value());
  EXPECT_FALSE(there.Send({MessageKind::kKill}));
}

TEST(Channel, DeliversTheLastMessageOfASideThatLeftSomethingUnread) {
  auto [here, there] = Channel::Pair();
  ASSERT_TRUE(there.Send({MessageKind::kSignal, 15}));
  ASSERT_TRUE(here.Send({MessageKind::kEnded, 3}));
  here.Close();
  const auto message = there.Receive();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->kind, MessageKind::kEnded);
  EXPECT_FALSE(there.Receive().has_value());
}

TEST(Channel, NeverBlocksInTrySend) {
  auto [here, there] = Channel::Pair();
  int sent = 0;
  while (here.TrySend({MessageKind::kAlive, sent})) ++sent;
  EXPECT_GT(sent, 10);
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor
