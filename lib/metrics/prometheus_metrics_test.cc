// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/prometheus_metrics.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

#include "lib/queue/machine/admission.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Sequencer Of(const std::string& path, const std::string& number = "0000000007") {
  return {.token = FencingToken(12), .node = absl::StrCat(path, "/_c_x-lock-", number)};
}

class PrometheusMetricsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Lines() const {
    return absl::StrSplit(prometheus::TextSerializer().Serialize(registry_->Collect()), '\n');
  }
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  const std::shared_ptr<PrometheusMetrics> metrics_ =
      std::make_shared<PrometheusMetrics>(registry_);
};

TEST_F(PrometheusMetricsTest, CountsAcquiresByOutcomeAndGroup) {
  metrics_->OnQueued("/locks/a", 3, "x");
  EXPECT_THAT(Lines(), Contains("zkrecipes_queue_position{group=\"/locks\"} 3"));
  metrics_->OnGranted(Of("/locks/a"), 1, absl::Milliseconds(20));
  metrics_->OnNotGranted("/locks/b", absl::DeadlineExceededError(""), absl::Seconds(1));
  metrics_->OnNotGranted("/locks/b", absl::AlreadyExistsError(""), absl::Seconds(1));
  metrics_->OnNotGranted("/c", absl::InternalError(""), absl::Seconds(1));
  const auto lines = Lines();
  const auto acquires = [](const std::string& labels, int n) {
    return Contains(absl::StrCat("zkrecipes_acquires_total{", labels, "} ", n));
  };
  EXPECT_THAT(lines, acquires("group=\"/locks\",outcome=\"granted\"", 1));
  EXPECT_THAT(lines, acquires("group=\"/locks\",outcome=\"timeout\"", 1));
  EXPECT_THAT(lines, acquires("group=\"/locks\",outcome=\"busy\"", 1));
  EXPECT_THAT(lines, acquires("group=\"/\",outcome=\"failed\"", 1));
  EXPECT_THAT(lines, Contains("zkrecipes_queue_position{group=\"/locks\"} 0"));
  EXPECT_THAT(lines, Contains("zkrecipes_wait_seconds_count{group=\"/locks\"} 1"));
  EXPECT_THAT(lines, Contains("zkrecipes_sequence_headroom{group=\"/locks\"} 2146435064"));
}

class SequenceHeadroomTest : public PrometheusMetricsTest {
 protected:
  // After a grant of the node with this number.
  int64_t HeadroomAt(const std::string& number) {
    metrics_->OnGranted(Of("/locks/a", number), 1, absl::ZeroDuration());
    for (const auto& family : registry_->Collect()) {
      if (family.name != "zkrecipes_sequence_headroom") continue;
      return static_cast<int64_t>(family.metric.at(0).gauge.value);
    }
    return -1;
  }
};

TEST_F(SequenceHeadroomTest, EndsWhereContendersAreRefused) {
  const int64_t end = HeadroomAt("0000000000");
  EXPECT_TRUE(queue::machine::SequenceExhausted(end));
  EXPECT_FALSE(queue::machine::SequenceExhausted(end - 1));
  EXPECT_EQ(HeadroomAt("1234567890"), end - 1234567890);
  EXPECT_EQ(HeadroomAt("2147483647"), end - 2147483647);
  for (const char* wrong : {"-000000001", " 000000001", "11111x1111", "111111111\xb5"}) {
    EXPECT_EQ(HeadroomAt(wrong), end) << wrong;
  }
}

// A replica that waits for its turn would look as if its path had used up all numbers.
TEST_F(PrometheusMetricsTest, SaysNothingOfTheHeadroomBeforeTheFirstGrant) {
  metrics_->OnQueued("/locks/a", 1, "x");
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr("zkrecipes_sequence_headroom{"))));
  metrics_->OnGranted(Of("/locks/a"), 1, absl::Milliseconds(20));
  EXPECT_THAT(Lines(), Contains("zkrecipes_sequence_headroom{group=\"/locks\"} 2146435064"));
}

TEST_F(PrometheusMetricsTest, KnowsHowManyLeasesAreHeldAndWhyTheyWereLost) {
  for (int i = 0; i < 3; ++i) metrics_->OnGranted(Of("/locks/a"), 1, absl::ZeroDuration());
  metrics_->OnSuspect(Of("/locks/a"));
  metrics_->OnLost(Of("/locks/a"), LeaseEnd::kSessionExpired);
  metrics_->OnReleased(Of("/locks/a"), absl::Seconds(2));
  const auto lines = Lines();
  EXPECT_THAT(lines, Contains("zkrecipes_leases_held{group=\"/locks\"} 1"));
  EXPECT_THAT(lines, Contains("zkrecipes_leases_suspect_total{group=\"/locks\"} 1"));
  EXPECT_THAT(lines,
              Contains("zkrecipes_leases_lost_total{group=\"/locks\",reason=\"expired\"} 1"));
  EXPECT_THAT(lines, Contains("zkrecipes_hold_seconds_sum{group=\"/locks\"} 2"));
}

// A tenure is one acquire that asked servers, however many turns it has.
TEST_F(PrometheusMetricsTest, CountsTurnsThatAskedNoServerBesideAcquires) {
  metrics_->OnGranted(Of("/locks/a"), 1, absl::ZeroDuration());
  EXPECT_THAT(Lines(), Contains("zkrecipes_local_acquires_total{group=\"/locks\"} 0"));
  metrics_->OnTurns(Of("/locks/a"), 40);
  metrics_->OnTurns(Of("/locks/b"), 2);
  EXPECT_THAT(Lines(), Contains("zkrecipes_local_acquires_total{group=\"/locks\"} 42"));
  EXPECT_THAT(Lines(),
              Contains("zkrecipes_acquires_total{group=\"/locks\",outcome=\"granted\"} 1"));
}

TEST_F(PrometheusMetricsTest, AUsersFunctionGroupsPathsAndTheNumberOfGroupsIsBounded) {
  PrometheusMetrics metrics(registry_,
                            {.group = [](const std::string& path) { return path.substr(0, 2); },
                             .max_groups = 2,
                             .labels = {{"client", "ledger"}}});
  for (const char* path : {"/ab", "/ac", "/bc", "/cd", "/de"}) metrics.OnPlaceLost(path);
  const auto lines = Lines();
  const auto lost = [](const std::string& group, int n) {
    return Contains(
        absl::StrCat("zkrecipes_places_lost_total{client=\"ledger\",group=\"", group, "\"} ", n));
  };
  EXPECT_THAT(lines, lost("/a", 2));
  EXPECT_THAT(lines, lost("/b", 1));
  EXPECT_THAT(lines, lost("other", 2));
}

TEST_F(PrometheusMetricsTest, ANegativeBoundLeavesTheOneGroupOfAllOthers) {
  PrometheusMetrics metrics(registry_, {.max_groups = -1});
  for (const char* path : {"/a/x", "/b/x"}) metrics.OnPlaceLost(path);
  EXPECT_THAT(Lines(), Contains("zkrecipes_places_lost_total{group=\"other\"} 2"));
}

TEST_F(PrometheusMetricsTest, AUsersLabelsReplaceNoneOfASeriesOwn) {
  PrometheusMetrics metrics(
      registry_,
      {.labels = {{"group", "mine"}, {"outcome", "mine"}, {"state", "mine"}, {"cause", "mine"}}});
  metrics.OnNotGranted("/locks/a", absl::AlreadyExistsError(""), absl::Seconds(1));
  metrics.OnNotGranted("/jobs/a", absl::CancelledError(""), absl::Seconds(1));
  metrics.OnPartitions("/jobs", {.owned = 3, .assigned = 4}, {});
  metrics.SessionReports()({.trouble = "none answers", .causes = {NoConnection::kSilent}});
  const auto lines = Lines();
  const auto has = [](const std::string& name, const std::string& labels, int value) {
    return Contains(absl::StrCat("zkrecipes_", name, "{", labels, "} ", value));
  };
  const std::string outcome = R"(cause="mine",group="/locks",outcome="busy",state="mine")";
  EXPECT_THAT(lines, has("acquires_total", outcome, 1));
  const std::string owned = R"(cause="mine",group="/jobs/partitions",outcome="mine",state="owned")";
  EXPECT_THAT(lines, has("partitions", owned, 3));
  const std::string silent = R"(cause="silent",group="mine",outcome="mine",state="mine")";
  EXPECT_THAT(lines, has("no_connection_total", silent, 1));
}

TEST_F(PrometheusMetricsTest, IsTheGroupsForAnAcquireAndCountsWhatIsPassedOnToItBeside) {
  EventListener* const locks = metrics_->AtOnce("/locks/a");
  EXPECT_EQ(metrics_->AtOnce("/locks/b"), locks);
  EXPECT_NE(metrics_->AtOnce("/jobs/a"), locks);
  locks->OnPlaceLost("/locks/a");
  metrics_->OnPlaceLost("/locks/a");
  EXPECT_THAT(Lines(), Contains("zkrecipes_places_lost_total{group=\"/locks\"} 2"));
}

// Beside the series of its locks, and not one for each partition.
TEST_F(PrometheusMetricsTest, HasWhatAMemberOfPartitionsKnowsInTheGroupOfItsLocks) {
  metrics_->OnGranted(Of("/services/ledger/partitions/0"), 1, absl::ZeroDuration());
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr("zkrecipes_partitions{"))));
  const PartitionsReport before = {.members = 3, .assigned = 6, .waited_for = 6};
  metrics_->OnPartitions("/services/ledger", before, {});
  metrics_->OnPartitions(
      "/services/ledger",
      {.members = 2, .other_lists = 1, .owned = 4, .assigned = 6, .waited_for = 2, .lost = 1},
      before);
  const auto lines = Lines();
  const std::string group = "group=\"/services/ledger/partitions\"";
  for (const auto& [state, n] :
       {std::pair("owned", 4), {"assigned", 6}, {"waited_for", 2}, {"lost", 1}}) {
    EXPECT_THAT(lines, Contains(absl::StrCat("zkrecipes_partitions{", group, ",state=\"", state,
                                             "\"} ", n)));
  }
  for (const auto& [list, n] : {std::pair("own", 2), {"other", 1}}) {
    EXPECT_THAT(lines, Contains(absl::StrCat("zkrecipes_partition_members{", group, ",list=\"",
                                             list, "\"} ", n)));
  }
  EXPECT_THAT(lines, Contains("zkrecipes_leases_held{" + group + "} 1"));
}

// One may still work for a while beside its successor.
TEST_F(PrometheusMetricsTest, AddsUpWhatMembersOfPartitionsOwnUntilEachIsOver) {
  const auto owned = [](int n) {
    return Contains(
        absl::StrCat("zkrecipes_partitions{group=\"/s/partitions\",state=\"owned\"} ", n));
  };
  const PartitionsReport former = {.members = 1, .owned = 3};
  metrics_->OnPartitions("/s", former, {});
  metrics_->OnPartitions("/s", {.members = 1, .owned = 4, .assigned = 4}, {});
  EXPECT_THAT(Lines(), owned(7));
  metrics_->OnPartitions("/s", {}, former);
  const auto lines = Lines();
  EXPECT_THAT(lines, owned(4));
  EXPECT_THAT(lines,
              Contains("zkrecipes_partition_members{group=\"/s/partitions\",list=\"own\"} 1"));
}

TEST_F(PrometheusMetricsTest, CountsSessionTimeoutsWithoutAConnectionByCause) {
  using enum NoConnection;
  const auto report = metrics_->SessionReports();
  report({.cut_off = absl::Seconds(10), .trouble = "no", .causes = {kNameNotFound, kRefused}});
  report({.cut_off = absl::Seconds(20), .trouble = "no", .causes = {kRefused, kThisProcess}});
  const auto lines = Lines();
  const auto counts = [](const std::string& cause, int n) {
    return Contains(absl::StrCat("zkrecipes_no_connection_total{cause=\"", cause, "\"} ", n));
  };
  EXPECT_THAT(lines, counts("name_not_found", 1));
  EXPECT_THAT(lines, counts("refused", 2));
  EXPECT_THAT(lines, counts("this_process", 1));
  for (const char* cause : {"unreachable", "silent", "hung_up", "not_zookeeper", "tls", "rejected"})
    EXPECT_THAT(lines, counts(cause, 0));
  EXPECT_THAT(lines, Contains("zkrecipes_session_round_trip_seconds_count 0"));
  EXPECT_THAT(lines, Contains("zkrecipes_sessions 0"));
}

TEST_F(PrometheusMetricsTest, RemembersTheLowestMarginOfADeadline) {
  const auto report = metrics_->SessionReports();
  SessionReport one{.timeout = absl::Seconds(10), .round_trip = absl::Milliseconds(3)};
  report(one);
  EXPECT_THAT(Lines(), Not(Contains(HasSubstr("lowest_seconds{")))) << "there was none yet";
  for (const int left : {5, 2, 4}) {
    one.least_left = absl::Seconds(left);
    report(one);
  }
  const auto lines = Lines();
  EXPECT_THAT(lines, Contains("zkrecipes_deadline_margin_lowest_seconds 2"));
  EXPECT_THAT(lines, Contains("zkrecipes_deadline_margin_ratio_count 3"));
  EXPECT_THAT(lines, Contains("zkrecipes_deadline_margin_ratio_bucket{le=\"0.2\"} 1"));
  EXPECT_THAT(lines, Contains("zkrecipes_session_round_trip_seconds_count 4"));
  EXPECT_THAT(lines, Contains("zkrecipes_sessions 1"));
}

TEST_F(PrometheusMetricsTest, HearsWhatAClientDoes) {
  zkrecipes::testing::InMemoryEnsemble ensemble({.manual = true});
  auto client =
      ensemble.Connect({.listener = metrics_, .on_session_report = metrics_->SessionReports()});
  ASSERT_TRUE(client.ok()) << client.status();
  const Subscription states = metrics_->Follow(**client);
  std::optional<absl::StatusOr<Lease>> lease;
  Lock(*client, "/locks/ledger").AcquireAsync({}, [&](absl::StatusOr<Lease> granted) {
    lease.emplace(std::move(granted));
  });
  ensemble.Advance(absl::Minutes(1));
  ASSERT_TRUE(lease && lease->ok());
  auto lines = Lines();
  EXPECT_THAT(lines, Contains("zkrecipes_client_state{state=\"connected\"} 1"));
  EXPECT_THAT(lines, Contains("zkrecipes_leases_held{group=\"/locks\"} 1"));
  EXPECT_THAT(lines, Contains(HasSubstr("zkrecipes_deadline_margin_lowest_seconds ")));
  EXPECT_THAT(lines, Not(Contains("zkrecipes_session_path_bytes{of=\"nodes\",session=\"0\"} 0")));
  ensemble.Disconnect(**client);
  ensemble.Advance(absl::Minutes(1));
  lines = Lines();
  EXPECT_THAT(lines, Contains("zkrecipes_client_state_changes_total{state=\"suspended\"} 1"));
  EXPECT_THAT(lines, Contains("zkrecipes_leases_held{group=\"/locks\"} 0"));
  EXPECT_THAT(lines,
              Contains("zkrecipes_leases_lost_total{group=\"/locks\",reason=\"deadline\"} 1"));
}

}  // namespace
}  // namespace zkrecipes
