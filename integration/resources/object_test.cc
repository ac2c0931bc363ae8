// SPDX-License-Identifier: Apache-2.0
//
// What only an object store does to a writer, over HTTP.

#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "integration/resources/object_store.h"

namespace resources {
namespace {

using zkrecipes::FencedObject;
using zkrecipes::FencingPass;
using zkrecipes::FencingToken;

constexpr char kPath[] = "/bucket/folder/object";

FencingPass PassOf(int64_t token) { return {.token = FencingToken(token)}; }

class ObjectStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(store_.Start(), absl::OkStatus()); }

  FencedObject Connect() { return FencedObject(TransportTo(store_.address(), kPath)); }
  // The status of a bare request.
  int Put(const httplib::Headers& headers, const std::string& body = "x") {
    return HttpClient(store_.address())->Put(kPath, headers, body, "text/plain")->status;
  }
  std::string Etag() { return HttpClient(store_.address())->Get(kPath)->get_header_value("ETag"); }

  ObjectStore store_;
};

TEST_F(ObjectStoreTest, AnswersConditionsAsAwsDocuments) {
  EXPECT_EQ(Put({{"If-Match", "\"any\""}}), 404);
  EXPECT_EQ(Put({{"If-None-Match", "\"any\""}}), 501);
  EXPECT_EQ(Put({{"If-None-Match", "*"}}), 200);
  EXPECT_EQ(Put({{"If-None-Match", "*"}}), 412);
  const std::string etag = Etag();
  EXPECT_EQ(Put({{"If-Match", etag}}, "y"), 200);
  EXPECT_EQ(Put({{"If-Match", etag}}, "z"), 412);
  EXPECT_EQ(Put({}), 200);
  EXPECT_EQ(Etag(), etag) << "the same body has the same etag";
  EXPECT_EQ(HttpClient(store_.address())->Delete(kPath)->status, 204);
  EXPECT_EQ(HttpClient(store_.address())->Get(kPath)->status, 404);
}

TEST_F(ObjectStoreTest, AWriterOvercomesConflictsAndLostAnswers) {
  FencedObject object = Connect();
  store_.faults() = {.conflicts = 1, .lost_answers = 1};
  EXPECT_EQ(object.Create(), absl::OkStatus());
  store_.faults() = {.conflicts = 2, .lost_answers = 1};
  EXPECT_EQ(object.Write(PassOf(7), "a"), absl::OkStatus());
  EXPECT_EQ(object.Read()->data, "a");
  EXPECT_TRUE(absl::IsFailedPrecondition(object.Write(PassOf(6), "stale")));
  store_.faults() = {.conflicts = 1000};
  EXPECT_TRUE(absl::IsUnavailable(object.Write(PassOf(7), "b")));
}

// As npm's s3rver and fauxqs are.
TEST_F(ObjectStoreTest, OneThatIgnoresConditionsIsFoundOut) {
  store_.faults().ignores_conditions = true;
  EXPECT_TRUE(absl::IsUnimplemented(Connect().Create()));
  EXPECT_TRUE(absl::IsDataLoss(Connect().Write(PassOf(1), "a")));
}

TEST_F(ObjectStoreTest, AnObjectThatALifecycleRuleDeletedStopsNobodyOnceItIsCreatedAnew) {
  FencedObject object = Connect();
  ASSERT_EQ(object.Create(), absl::OkStatus());
  ASSERT_EQ(object.Write(PassOf(9), "newest"), absl::OkStatus());
  ASSERT_EQ(HttpClient(store_.address())->Delete(kPath)->status, 204);
  EXPECT_TRUE(absl::IsNotFound(object.Write(PassOf(1), "stale")));
  ASSERT_EQ(object.Create(), absl::OkStatus());
  EXPECT_EQ(object.Write(PassOf(1), "stale"), absl::OkStatus())
      << "so never create it at each start";
}

TEST_F(ObjectStoreTest, AStoreThatCannotBeReachedIsUnavailable) {
  FencedObject object(TransportTo("127.0.0.1:1", kPath));
  EXPECT_TRUE(absl::IsUnavailable(object.Create()));
  EXPECT_TRUE(absl::IsUnavailable(object.Write(PassOf(1), "a")));
}

}  // namespace
}  // namespace resources
