// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_SUPERVISOR_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_SUPERVISOR_FIXTURE_H_

#include <signal.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "integration/zkr/zkr_process.h"

namespace zkrecipes::testing {

// How zkr controls its command, tried with tools/zkr/supervisor/supervise_fixture.cc: no server
// takes part. Each test runs with both ways of keeping the tree together.
class Supervised : public ::testing::TestWithParam<std::string>, protected Scripts {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoGuard(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  std::vector<std::string> Driver(const std::string& grace, const std::string& remaining,
                                  const std::vector<std::string>& command) {
    return Joined(
        {{ZKRECIPES_BIN_DIR "/zkr-supervise", GetParam(), grace, remaining, lock_, "--"}, command});
  }
  std::vector<std::string> Shell(const std::string& script, const std::string& grace = "30s",
                                 const std::string& remaining = "1h") {
    return Driver(grace, remaining, {"sh", "-c", script});
  }

  // A script that holds the life line and goes on with `then`, started. Returns once it has said
  // `word`.
  std::unique_ptr<Program> StartHolding(const std::string& then, const std::string& grace = "30s",
                                        const std::string& remaining = "1h",
                                        const std::string& word = "ready") {
    auto program = std::make_unique<Program>(Shell(Holding(then), grace, remaining));
    EXPECT_TRUE(life_.WaitFor(word));
    return program;
  }
  // A command that has ended with 5, of which a grandchild is left that was asked to end, and does
  // not.
  std::unique_ptr<Program> StartLeavingOneBehind(const std::string& grace) {
    auto program = StartHolding(
        "(setsid sh -c 'trap \"echo termed >&9\" TERM; echo up >&9; while :; do sleep 0.01; done' "
        "&); " +
            UntilGo() + "exit 5",
        grace, "1h", "up");
    Go();
    EXPECT_TRUE(life_.WaitFor("termed"));
    return program;
  }

  // The script prints with zkr what it prints without: that is returned.
  std::string ExpectSameAsUnguarded(const std::string& script,
                                    const std::function<void()>& in_child) {
    Program direct({"sh", "-c", script}, {.in_child = in_child});
    EXPECT_EQ(direct.Wait(), 0);
    Program guarded(Shell(script), {.in_child = in_child});
    EXPECT_EQ(guarded.Wait(), 0);
    EXPECT_EQ(guarded.Out(), direct.Out());
    return guarded.Out();
  }

  void LoseTheLock() { std::ofstream(lock_ + ".loss") << "lost"; }
  void DoubtTheLock() { std::ofstream(lock_ + ".doubt") << "?"; }
  void ConfirmTheLock() { std::remove((lock_ + ".doubt").c_str()); }
  // As the test found it: held, and nothing on the life line.
  void Renew() {
    ConfirmTheLock();
    std::remove((lock_ + ".loss").c_str());
    std::remove(life_.path().c_str());
    life_ = LifeLine(life_.path());
  }

  // With a grandchild in a session of its own.
  static constexpr char kTree[] = "(setsid sleep 1000 &); echo ready >&9; sleep 1000";
  // Such a tree that says when it is asked to end, and does not end.
  static constexpr char kDeafTree[] =
      "trap 'echo asked >&9' TERM; (setsid sleep 1000 &); echo ready >&9; "
      "while :; do sleep 0.01; done";

  const std::string lock_ = dir_ / "lock";
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_SUPERVISOR_FIXTURE_H_
