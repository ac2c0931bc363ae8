// SPDX-License-Identifier: Apache-2.0

#include "lib/resources/fenced_body.h"

#include "gmock/gmock.h"

namespace zkrecipes::resources {
namespace {

FencedBody ABody(const std::string& data) {
  return {{3, FencingToken(4294967302), FencingToken(7)}, "a-guid", data};
}

TEST(FencedBodyTest, IsReadAsItWasWritten) {
  for (const std::string& data : {std::string(), std::string("x"), std::string("a\nb\0c", 5)}) {
    const auto read = ReadFencedBody(WriteFencedBody(ABody(data)));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, ABody(data));
  }
}

// Every later version must read the bodies that are on disks and in buckets today.
TEST(FencedBodyTest, IsThisText) {
  EXPECT_EQ(WriteFencedBody(ABody("data")),
            "zkrecipes fenced 1 3 4294967302 7 a-guid 68e63ed1\ndata");
}

TEST(FencedBodyTest, AnythingElseIsDataLossAndNeverAFloorOfZero) {
  const std::string whole = WriteFencedBody(ABody("data"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ReadFencedBody(whole.substr(0, size)).status())) << size;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string spoilt = whole;
      spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << bit));
      EXPECT_TRUE(absl::IsDataLoss(ReadFencedBody(spoilt).status())) << spoilt;
    }
  }
  for (const std::string& other : {whole + "x", "x" + whole, std::string(1000, '\0')}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadFencedBody(other).status())) << other;
  }
}

}  // namespace
}  // namespace zkrecipes::resources
