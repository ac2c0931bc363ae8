// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_DOCTOR_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_DOCTOR_FIXTURE_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/stall.h"
#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {

// The report of a `zkr doctor --json`.
struct Report {
  int status = -1;
  std::set<std::string> findings;  // their words
  nlohmann::json all;
};

// `zkr doctor`: a mess is planted, one thing at a time, and found.
class ZkrDoctorTest : public ZkrTest {
 protected:
  std::unique_ptr<Zkr> StartDoctor(const std::vector<std::string>& arguments) {
    return Start(testing::Joined({{"doctor", "--json"}, arguments}));
  }
  static Report ReportOf(std::unique_ptr<Zkr> zkr) {
    Report report;
    report.status = zkr->Wait();
    report.all = nlohmann::json::parse(zkr->Out(), nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(report.all.is_object()) << zkr->Out() << zkr->Err();
    if (!report.all.is_object()) return report;
    for (const nlohmann::json& f : report.all["findings"]) report.findings.insert(f["what"]);
    return report;
  }
  // Repeated after a stall of the machine, in which servers answer too late.
  Report Examine(const std::vector<std::string>& arguments) {
    return Undisturbed([&] { return ReportOf(StartDoctor(arguments)); });
  }
  Report ExamineQueue() { return Examine({node_path()}); }

  void Plant(const std::string& name, zk::CreateMode mode, const std::string& data = "") {
    ASSERT_EQ(session_->Do(zk::Create{Child(name), data, mode}).code, zk::Code::kOk);
  }
  void SetUp() override {
    ZkrTest::SetUp();
    session_ = Connect();
    CreateParent(*session_);
  }
  void TearDown() override {
    session_.reset();
    ZkrTest::TearDown();
  }

  std::unique_ptr<ZkSession> session_;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_DOCTOR_FIXTURE_H_
