// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_

#include <string>

#include "gtest/gtest.h"

#include "integration/zkr/pty_session.h"
#include "integration/zkr/zkr_process.h"

namespace zkrecipes::testing {

// The terminal under `zkr lock`, tried with tools/zkr/supervisor/supervise_driver.cc under an
// interactive bash: whatever is typed must do what it does without zkr. The parameter is the guard.
//
// What gets Ctrl-Z here is one process, never a shell with a child: the shell is reported stopped
// while its child may still read the next line, and dash cannot be stopped at all while its child,
// made by vfork, is stopped before the exec. Both are so without zkr.
class OnATerminal : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  std::string Supervise(const std::string& remaining = "1h") const;

  // Types a command line. What it echoes is passed over.
  void Enter(const std::string& line);
  // Likewise, of a command that says "ready", and waits for that.
  bool BecomesReady(const std::string& line);

  // Presses Ctrl-Z, and waits until the shell says that it stopped the job.
  bool IsStoppedByCtrlZ();

  // Types fg, and waits until the shell says which job it continues.
  void BringToForeground();
  // Where keys are typed next that act on the foreground: waits until `name` is there.
  void BringToForeground(const std::string& name);

  // How a script begins that says that it runs and waits for Go. It forks nothing meanwhile.
  std::string UntilGo() const { return "echo ready; read word <" + go_ + "; "; }
  void Go();

  // Presses Return until the shell reports that a job was stopped.
  bool HearsOfAStoppedJob();

  bool WaitUntilItEchoes(bool echoes);

  // The shell answers again, and the last command ended with `status`.
  bool Ended(int status);

  TempDir dir_;
  const std::string go_ = dir_ / "go";
  PtySession shell_ = InteractiveShell();
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_
