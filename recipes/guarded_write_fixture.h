// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_GUARDED_WRITE_FIXTURE_H_
#define ZKRECIPES_RECIPES_GUARDED_WRITE_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/every_step_fixture.h"
#include "zkrecipes/guarded_write.h"

namespace zkrecipes::testing::memory {

inline constexpr char kRegister[] = "/register";

// Guarded writes to a register, on the ensemble in memory.
class GuardedWriteTest : public EveryStepTest {
 protected:
  using Result = std::shared_ptr<std::optional<absl::Status>>;

  GuardedWriteTest() {
    EXPECT_TRUE(model().OperatorCreates(kRegister, {}, simulation_.now()));
    simulation_.RunUntilIdle();
  }

  // Does not run anything.
  static Result Write(const Lease& lease, std::vector<WriteOp> ops, WaitOptions wait = {}) {
    auto result = std::make_shared<std::optional<absl::Status>>();
    GuardedWriteAsync(lease, std::move(ops), std::move(wait),
                      [result](absl::Status status) { *result = std::move(status); });
    return result;
  }
  static Result Set(const Lease& lease, const std::string& data, WaitOptions wait = {}) {
    return Write(lease, {WriteOp::Set(kRegister, data)}, std::move(wait));
  }
  // What comes of it without a fault.
  absl::Status Do(const Lease& lease, std::vector<WriteOp> ops) {
    const Result result = Write(lease, std::move(ops));
    simulation_.RunUntilIdle();
    return result->value_or(absl::UnknownError("not answered"));
  }
  void AwaitAnswer(const Result& result) {
    Settle();
    for (int i = 0; i < 60 && !result->has_value(); ++i) {
      PassTime(absl::Seconds(1));
      Settle();
    }
    ASSERT_TRUE(result->has_value());
  }

  const Node* Find(const std::string& path) { return model().committed().Find(path); }
  std::string DataOf(const std::string& path) {
    const Node* node = Find(path);
    return node == nullptr ? "(none)" : node->data;
  }
  int32_t Writes() { return Find(kRegister)->version; }
  // What the caller was told of one write is what has become of it.
  void ExpectTruth(const absl::Status& told, int32_t writes) {
    const int32_t written = Writes() - writes;
    if (told.ok()) {
      EXPECT_EQ(written, 1);
    } else if (MayBeWritten(told)) {
      EXPECT_LE(written, 1);
      EXPECT_THAT(std::string(told.message()), ::testing::HasSubstr("not known whether"));
    } else {
      EXPECT_EQ(written, 0) << told;
    }
  }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_GUARDED_WRITE_FIXTURE_H_
