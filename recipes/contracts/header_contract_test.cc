// SPDX-License-Identifier: Apache-2.0

#include "gmock/gmock.h"

#include "recipes/contracts/header_contract_fixture.h"

namespace zkrecipes::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const char kHeader[] = R"(
#ifndef A
namespace [[gnu::visibility("default")]] zkrecipes {

namespace internal {
absl::Status Hidden();
}  // namespace internal

// A way.
// Errors of all forms:
//   Cancelled     by
//   Aborted       because
class [[nodiscard]] Way final : public Base {
 public:
  Way() = default;
  bool Has(const absl::Status& status) const { return status.ok(); }

  //   Unavailable   there
  absl::StatusOr<std::map<int, std::string>> Go(
      int a = 1, const WaitOptions& wait = {}) const;
  absl::Status Run();  // not NotFound
  // Does not block.
  void GoAsync(absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done);
  LeaseAwaitable CoGo() const;

  absl::Status Plain() { return {}; }

 private:
  absl::Status Own();
};

// Like a way. Errors of all forms: as Way::Plain, and
// some text
struct Other {
  // DataLoss. Errors: as Look, Way::Go
  absl::Status Do();
  // Errors: as Nothing
  absl::Status Look();

  using Callback = absl::AnyInvocable<void(absl::Status)>;
};

// NotFound if not; Internal, too.
inline absl::Status Free(int x) {
  return {};
}

}  // namespace zkrecipes
#endif
)";

class HeaderContractTest : public ::testing::Test {
 protected:
  HeaderContractTest() { contract_.Read(kHeader); }
  HeaderContract contract_;
};

TEST_F(HeaderContractTest, KnowsThePublicFunctionsThatGiveAStatus) {
  EXPECT_THAT(contract_.functions(),
              UnorderedElementsAre("Way::Go", "Way::Run", "Way::GoAsync", "Way::CoGo", "Way::Plain",
                                   "Other::Do", "Other::Look", "Free"));
}

TEST_F(HeaderContractTest, ListsWhatTheCommentAndTheClassName) {
  EXPECT_THAT(contract_.CodesOf("Free"),
              UnorderedElementsAre(StatusCode::kOk, StatusCode::kNotFound, StatusCode::kInternal));
  EXPECT_THAT(contract_.CodesOf("Way::Plain"),
              UnorderedElementsAre(StatusCode::kOk, StatusCode::kCancelled, StatusCode::kAborted));
  for (const char* name : {"Way::Go", "Way::Run", "Way::GoAsync", "Way::CoGo"}) {
    EXPECT_THAT(contract_.CodesOf(name),
                UnorderedElementsAre(StatusCode::kOk, StatusCode::kCancelled, StatusCode::kAborted,
                                     StatusCode::kUnavailable))
        << name;
  }
}

TEST_F(HeaderContractTest, FollowsReferences) {
  EXPECT_THAT(contract_.CodesOf("Other::Look"),
              UnorderedElementsAre(StatusCode::kOk, StatusCode::kCancelled, StatusCode::kAborted));
  EXPECT_THAT(contract_.CodesOf("Other::Do"),
              UnorderedElementsAre(StatusCode::kOk, StatusCode::kCancelled, StatusCode::kAborted,
                                   StatusCode::kUnavailable, StatusCode::kDataLoss));
  EXPECT_THAT(contract_.Dangling(), ElementsAre("Other::Look refers to Nothing"));
}

TEST_F(HeaderContractTest, KnowsNothingOfWhatIsNotThere) {
  EXPECT_THAT(contract_.CodesOf("Way::Own"), ElementsAre(StatusCode::kOk));
  EXPECT_THAT(HeaderContract().functions(), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::testing
