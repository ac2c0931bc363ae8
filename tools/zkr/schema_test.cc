// SPDX-License-Identifier: Apache-2.0
//
// What zkr prints with --json is what zkr.schema.json says, and nothing else.

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/doctor/doctor.h"
#include "tools/zkr/doctor/facts_fixture.h"
#include "tools/zkr/output.h"
#include "tools/zkr/partitions_fixture.h"

namespace zkrecipes::zkr {
namespace {

using nlohmann::json;

// The part of JSON Schema that the file uses.
class Schema {
 public:
  // What does not fit, by where it stands; "" if all does.
  std::string Wrong(const std::string& definition, const std::string& line) {
    wrong_.clear();
    Check(all_["$defs"][definition], json::parse(line), "");
    return wrong_;
  }

 private:
  static bool Is(const std::string& type, const json& value) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == value.type_name();
  }

  void Expect(bool fits, const std::string& at, const std::string& what) {
    if (!fits) absl::StrAppend(&wrong_, at, ": ", what, "\n");
  }

  void Check(const json& schema, const json& value, const std::string& at) {
    for (const auto& [keyword, its] : schema.items()) {
      if (keyword == "$ref")
        Check(all_[json::json_pointer(its.get<std::string>().substr(1))], value, at);
      if (keyword == "enum") Expect(std::ranges::count(its, value) == 1, at, value.dump());
      if (keyword == "type") {
        const json types = its.is_array() ? its : json::array({its});
        Expect(std::ranges::any_of(types, [&](const json& type) { return Is(type, value); }), at,
               value.type_name());
      }
      if (keyword == "required" && value.is_object()) {
        for (const std::string name : its) Expect(value.contains(name), at, name + " is missing");
      }
      if (keyword == "items") {
        for (const json& item : value) Check(its, item, at + "/*");
      }
    }
    if (!value.is_object() || !schema.contains("properties")) return;
    for (const auto& [name, field] : value.items()) {
      Expect(schema["properties"].contains(name), at, name + " is not documented");
      Check(schema["properties"].value(name, json::object()), field, at + "/" + name);
    }
  }

  const json all_ = json::parse(std::ifstream(ZKR_SCHEMA));
  std::string wrong_;
};

ContenderInfo Known() {
  ContenderInfo known = doctor::Contending(0, doctor::kFirst, 7);
  known.owner = {"job", "db7", 4711};
  return known;
}

TEST(Schema, IsWhatCommandsPrint) {
  Schema schema;
  ContenderInfo permit = Known();
  permit.permits = 3;
  ContenderInfo kept = Known();
  kept.stays = true;
  const std::vector queue = {Known(), permit, kept, ContenderInfo{.node = "x"}};
  EXPECT_EQ(schema.Wrong("ls", QueueJson({"/q", queue, 3})), "");
  EXPECT_EQ(schema.Wrong("ls", QueueJson({"/q"})), "");
  PartitionsRead read = Shared();
  read.partitions.push_back({"of unknown owner"});
  EXPECT_EQ(schema.Wrong("ls", QueueJson({"/q", queue, {}, ViewPartitions(read)})), "");
  const Sequencer sequencer = Sequencer::Parse("zkr1:exclusive:7:/a/b").value();
  EXPECT_EQ(schema.Wrong("check", CheckedText(sequencer.ToString(), true,
                                              /*json=*/true)),
            "");
  EXPECT_EQ(schema.Wrong("hold", HeldText(sequencer, /*json=*/true)), "");
  EXPECT_EQ(schema.Wrong("lost", LostText(/*json=*/true)), "");
  EXPECT_EQ(schema.Wrong("epoch", EpochText(7, /*json=*/true)), "");
  Leader leader;
  leader.token = FencingToken(7);
  leader.node = "x";
  EXPECT_EQ(schema.Wrong("observe", LeaderJson(leader)), "");
  EXPECT_EQ(schema.Wrong("observe", LeaderJson(std::nullopt)), "");
  EXPECT_EQ(schema.Wrong("unknown", UnknownLeaderJson()), "");
  EXPECT_NE(schema.Wrong("observe", UnknownLeaderJson()), "") << "an outage is not 'nobody leads'";
  EXPECT_EQ(schema.Wrong("result", ResultJson("ran", 3, 0)), "");
  EXPECT_EQ(schema.Wrong("log", LogJson(absl::UnixEpoch(), "x", "")), "");
}

TEST(Schema, IsWhatEnsemblePrints) {
  Schema schema;
  const testing::DetachedStatus status = {
      "a:1,b:2", true, {{"a:1", 1, 7, "leader"}, {"b:2", 2, 0, "down"}}};
  EXPECT_EQ(schema.Wrong("ensemble_start", StartedJson("/d", "a:1")), "");
  EXPECT_EQ(schema.Wrong("ensemble_stop", StoppedJson("/d", 3)), "");
  EXPECT_EQ(schema.Wrong("ensemble_status", StatusJson("/d", status)), "");
}

TEST(Schema, IsWhatDoctorPrints) {
  Schema schema;
  const auto wrong = [&schema](const doctor::Facts& facts) {
    return schema.Wrong("doctor", doctor::ReportJson(facts, doctor::Diagnose(facts)));
  };
  EXPECT_EQ(wrong({}), "") << "nothing is known";
  EXPECT_EQ(wrong(doctor::Healthy()), "");
  doctor::Facts facts = doctor::Healthy();
  facts.contenders = {Known(), ContenderInfo{.holds = true, .node = "x"}};
  facts.machine = {"db7",
                   {{4711, 1, 4711, 'S', "zkr"},
                    {4712, 4711, 4711, 'S', "lock-guard"},
                    {4713, 4712, 4713, 'S', "lock-runner"},
                    {4714, 4713, 4714, 'T', "java"}}};
  facts.servers[0].connections = {{7, {"10.0.0.7:999", absl::Seconds(10), absl::Seconds(1)}}};
  facts.servers[2] = {.name = "zk3:2181", .trouble = "Connection refused"};
  facts.epoch = 0;
  facts.seen = FencingPass{.token = FencingToken(7), .epoch = 1};
  facts.partitions = ViewPartitions(Shared());
  EXPECT_EQ(wrong(facts), "");
  EXPECT_EQ(schema.Wrong("plan", doctor::PlanJson({})), "");
}

TEST(Schema, IsClosed) {
  Schema schema;
  EXPECT_EQ(schema.Wrong("check", R"({"sequencer": 7, "more": 1})"),
            ": holds is missing\n: more is not documented\n/sequencer: number\n");
}

}  // namespace
}  // namespace zkrecipes::zkr
