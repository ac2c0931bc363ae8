// SPDX-License-Identifier: Apache-2.0

#include "lib/session/server_report.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

using ::testing::ElementsAre;

zk::Resolution Listed(std::vector<zk::ListedServer> listed) {
  zk::Resolution resolution;
  resolution.listed = std::move(listed);
  return resolution;
}

ServerReport Three() {
  ServerReport report;
  report.SetServers(Listed({{"zk1:2181", {"10.0.0.1:2181", "[fe80::1]:2181"}, ""},
                            {"zk2:2181", {}, "Name or service not known"},
                            {"10.0.0.3:2181", {"10.0.0.3:2181"}, ""}}));
  return report;
}

TEST(ServerReport, SaysWhatEachServerDidInTheOrderOfTheList) {
  ServerReport report = Three();
  report.Note("10.0.0.3:2181", {NoConnection::kRefused, "refused the connection"});
  report.Note("10.0.0.1:2181", {NoConnection::kHungUp, "closed the connection"});
  report.Note("10.0.0.1:2181", {NoConnection::kSilent, "did not answer in time"});
  EXPECT_EQ(report.Text(),
            "zk1:2181 (10.0.0.1:2181) did not answer in time; "
            "zk1:2181 ([fe80::1]:2181) has not answered yet; "
            "zk2:2181 could not be resolved (Name or service not known); "
            "10.0.0.3:2181 refused the connection");
}

TEST(ServerReport, KnowsOfRefusalsAfterItHasForgottenWhatServersDid) {
  const zk::Resolution two = zk::NumericServers{"10.0.0.1:2181", "10.0.0.2:2181"};
  ServerReport report;
  report.SetServers(two);
  report.Refused("10.0.0.1:2181", zk::Code::kAuthFailed);
  report.Refused("10.0.0.1:2181", zk::Code::kAuthFailed);
  EXPECT_FALSE(report.AllRefuse(two)) << "one of two was asked twice";
  EXPECT_THAT(report.Text(), testing::HasSubstr("10.0.0.1:2181 refuses this client ("));
  report.Forget();
  report.Refused("10.0.0.2:2181", zk::Code::kAuthFailed);
  EXPECT_TRUE(report.AllRefuse(two));
  report.ForgetRefusals();
  EXPECT_FALSE(report.AllRefuse(two));
}

TEST(ServerReport, HasEachCauseOnceAndInOneOrder) {
  using enum NoConnection;
  ServerReport report = Three();
  EXPECT_THAT(report.Causes(), ElementsAre(kNameNotFound));
  report.Note("10.0.0.3:2181", {kSilent, "did not answer in time"});
  report.Note("10.0.0.1:2181", {kRefused, "refused the connection"});
  report.Note("[fe80::1]:2181", {kRefused, "refused the connection"});
  report.Note("10.0.0.9:2181", {kTls, "is not in the list"});
  EXPECT_THAT(report.Causes(), ElementsAre(kNameNotFound, kRefused, kSilent));
  report.Forget();
  report.SetServers(Listed({{"zk1:2181", {"10.0.0.1:2181"}, ""}}));
  EXPECT_THAT(report.Causes(), ElementsAre()) << "no server has done anything yet";
}

TEST(ServerReport, KnowsWhetherMostServersRefuseTheSession) {
  using enum NoConnection;
  ServerReport report;
  report.SetServers(zk::NumericServers{"10.0.0.1:2181", "10.0.0.2:2181", "10.0.0.3:2181"});
  EXPECT_FALSE(report.MostRefuseTheSession());
  // As in any outage: one that lags refuses it for a moment, the others have no quorum.
  report.Note("10.0.0.1:2181", {kRejected, "refuses this session", true});
  report.Note("10.0.0.2:2181", {kHungUp, "closed the connection"});
  report.Note("10.0.0.3:2181", {kHungUp, "closed the connection"});
  EXPECT_FALSE(report.MostRefuseTheSession());
  report.Note("10.0.0.2:2181", {kRejected, "is of another ensemble"});
  EXPECT_FALSE(report.MostRefuseTheSession()) << "it has lost nothing";
  report.Note("10.0.0.2:2181", {kRejected, "refuses this session", true});
  EXPECT_TRUE(report.MostRefuseTheSession());
  report.Refused("10.0.0.2:2181", zk::Code::kAuthFailed);
  EXPECT_FALSE(report.MostRefuseTheSession()) << "that one refuses the client";
  report.Note("10.0.0.3:2181", {kRejected, "refuses this session", true});
  EXPECT_TRUE(report.MostRefuseTheSession());
  report.Forget();
  EXPECT_FALSE(report.MostRefuseTheSession()) << "there was a connection";
}

TEST(ServerReport, SaysSoInAWordWhileThereIsNothingToSay) {
  EXPECT_EQ(ServerReport().Text(), "no server has answered yet");
  ServerReport report;
  report.SetServers(Listed({{"zk1:2181", {"10.0.0.1:2181"}, ""}}));
  report.Note("10.0.0.9:2181", {NoConnection::kRefused, "refused the connection"});
  EXPECT_EQ(report.Text(), "no server has answered yet") << "that one is not in the list";
}

TEST(ServerReport, NamesServersByTheirAddressesWhereNothingElseIsKnown) {
  ServerReport report;
  report.SetServers(zk::NumericServers{"10.0.0.1:2181", "10.0.0.2:2181"});
  report.Note("10.0.0.2:2181", {NoConnection::kRefused, "refused the connection"});
  EXPECT_EQ(report.Text(),
            "10.0.0.1:2181 has not answered yet; 10.0.0.2:2181 refused the connection");
}

TEST(ServerReport, ForgetsWhatTheyDidAndKeepsWhatTheirNamesAre) {
  ServerReport report;
  report.SetServers(
      Listed({{"zk1:2181", {"10.0.0.1:2181"}, ""}, {"zk2:2181", {"10.0.0.2:2181"}, ""}}));
  report.Note("10.0.0.1:2181", {NoConnection::kRefused, "refused the connection"});
  report.Forget();
  report.Note("10.0.0.2:2181", {NoConnection::kHungUp, "closed the connection"});
  EXPECT_EQ(report.Text(),
            "zk1:2181 (10.0.0.1:2181) has not answered yet; "
            "zk2:2181 (10.0.0.2:2181) closed the connection");
}

TEST(ServerReport, StaysReadableHoweverManyServersThereAreAndWhateverTheySay) {
  ServerReport report;
  std::vector<zk::ListedServer> listed;
  for (int i = 0; i < 255; ++i) {
    const std::string address = absl::StrCat("10.0.0.", i, ":2181");
    listed.push_back({address, {address}, ""});
    report.Note(address, {NoConnection::kSilent, std::string(100000, 'x')});
  }
  report.SetServers(Listed(std::move(listed)));
  EXPECT_LT(report.Text().size(), 2000u);
  EXPECT_THAT(report.Text(), ::testing::EndsWith("; and 247 more"));
}

}  // namespace
}  // namespace zkrecipes::session
