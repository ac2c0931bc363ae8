// SPDX-License-Identifier: Apache-2.0

#include "integration/zkr/zkr_terminal_fixture.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace zkrecipes::testing {

void OnATerminal::SetUp() {
  if (GetParam() == "namespace" && !MayMakePidNamespace()) GTEST_SKIP() << kNoPidNamespace;
  ASSERT_EQ(mkfifo(go_.c_str(), 0600), 0);
  ASSERT_TRUE(shell_.WaitFor("$> "));
}

std::string OnATerminal::Supervise(const std::string& remaining) const {
  return absl::StrCat(ZKRECIPES_BIN_DIR "/zkr-supervise ", GetParam(), " 5s ", remaining, " -- ");
}

void OnATerminal::Enter(const std::string& line) {
  shell_.Type(line + "\n");
  ASSERT_TRUE(shell_.WaitFor("\n"));
}

bool OnATerminal::BecomesReady(const std::string& line) {
  Enter(line);
  return shell_.WaitFor("ready");
}

bool OnATerminal::IsStoppedByCtrlZ() {
  shell_.Type(kCtrlZ);
  return shell_.WaitFor("Stopped");
}

void OnATerminal::BringToForeground() {
  Enter("fg");
  ASSERT_TRUE(shell_.WaitFor("zkr-supervise"));
  ASSERT_TRUE(shell_.WaitFor("\n"));
}

void OnATerminal::BringToForeground(const std::string& name) {
  BringToForeground();
  ASSERT_TRUE(shell_.WaitForForeground(name));
}

void OnATerminal::Go() { EXPECT_EQ(Program({"sh", "-c", "echo >" + go_}).Wait(), 0); }

bool OnATerminal::HearsOfAStoppedJob() {
  const std::size_t before = shell_.Screen().size();
  const auto hears = [&] {
    shell_.Type("\n");
    return shell_.WaitFor("$> ") && shell_.Screen().find("Stopped", before) != std::string::npos;
  };
  return WaitUntil(hears, kScreenPatience);
}

bool OnATerminal::WaitUntilItEchoes(bool echoes) {
  return WaitUntil([&] { return shell_.Echoes() == echoes; }, kScreenPatience);
}

bool OnATerminal::Ended(int status) {
  if (!shell_.WaitFor("$> ")) return false;
  shell_.Type("echo status=$?\n");
  return shell_.WaitFor(absl::StrCat("\r\nstatus=", status, "\r\n"));
}

}  // namespace zkrecipes::testing
