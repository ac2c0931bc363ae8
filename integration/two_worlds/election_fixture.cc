// SPDX-License-Identifier: Apache-2.0

#include "integration/two_worlds/election_fixture.h"

#include <chrono>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"

namespace zkrecipes::integration {

std::string TextOf(const absl::StatusOr<std::optional<Leader>>& news) {
  if (!news.ok()) return absl::StatusCodeToString(news.status().code());
  if (!news->has_value()) return "nobody";
  return absl::StrCat((*news)->owner.id, "=", (*news)->value);
}

WorkThread::WorkThread(LeaderElection election) : election_(std::move(election)) {
  thread_ = std::thread([this] {
    status_ =
        election_.RunWhileLeading(stop_.get_token(), [this](const Lease& lease) { Work(lease); });
    ended_ = true;
  });
}

void WorkThread::set_brief(bool brief) {
  brief_ = brief;
  changes_.release();
}

absl::Status WorkThread::Stop() {
  RequestStop();
  if (thread_.joinable()) thread_.join();
  return status_;
}

void WorkThread::Work(const Lease& lease) {
  EXPECT_GT(lease.token(), term_);
  term_ = lease.token();
  node_ = lease.node();
  working_ = true;
  ++terms_;
  {
    const std::stop_callback on_loss(lease.lost(), [this] { changes_.release(); });
    const std::stop_callback on_stop(stop_.get_token(), [this] { changes_.release(); });
    while (!brief_ && !lease.lost().stop_requested() && !stop_.stop_requested()) changes_.acquire();
  }
  working_ = false;
}

Pending ElectionTest::Campaigning(LeaderElection election, WaitOptions wait) {
  return Pending(
      [&](Pending::Done done) { election.CampaignAsync(std::move(wait), std::move(done)); });
}

Lease ElectionTest::Elected(LeaderElection election) {
  Pending pending = Campaigning(std::move(election));
  return Granted(pending);
}

bool ElectionTest::AwaitTold(const Told& told, const std::vector<std::string>& expected) {
  if (world().Await([&] { return told.Are(expected); })) return true;
  EXPECT_EQ(told.texts(), expected);
  return false;
}

bool ElectionTest::AwaitLeader(const std::shared_ptr<Client>& client, const std::string& id) {
  return world().Await([&] {
    // Without a connection it waits for one, and so for the world's time.
    auto asked = std::async(std::launch::async, [&] { return Election(client).CurrentLeader(); });
    EXPECT_TRUE(world().Await(
        [&] { return asked.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    const auto leader = asked.get();
    return leader.ok() && leader->has_value() && (*leader)->owner.id == id;
  });
}

void ElectionTest::ExpectStops(WorkThread& worker) {
  worker.RequestStop();
  EXPECT_TRUE(world().Await([&] { return worker.ended(); }));
  EXPECT_EQ(worker.Stop(), absl::OkStatus());
  EXPECT_FALSE(worker.working());
}

}  // namespace zkrecipes::integration
