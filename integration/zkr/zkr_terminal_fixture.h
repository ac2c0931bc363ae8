// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/zkr/zkr_process.h"

namespace zkrecipes::testing {

// Far more than anything on a screen takes, and so little that one failure leaves a test program
// the time for its other tests.
inline constexpr absl::Duration kScreenPatience = absl::Seconds(20);

// A program with a terminal of its own, and the keyboard and screen of it.
class PtySession {
 public:
  explicit PtySession(const std::vector<std::string>& argv);
  ~PtySession();  // hangs up, and kills the program
  PtySession(const PtySession&) = delete;
  PtySession& operator=(const PtySession&) = delete;

  void Type(const std::string& keys) const;

  // Waits until `text` is on the screen, after what the last call found. False: it does not come.
  bool WaitFor(const std::string& text);

  // Waits until a process of that name (/proc/<pid>/comm) is in the foreground. Before that Ctrl-C
  // and Ctrl-Z reach whoever was there before, such as the shell, which ignores them.
  bool WaitForForeground(const std::string& name);

  std::string Screen();  // all of it, since the start
  bool Echoes() const;   // the terminal's mode
  int Wait();            // as Program::Wait

 private:
  void Read();

  pid_t pid_ = 0;
  int master_ = -1;
  int status_ = -1;
  std::string screen_;
  std::size_t seen_ = 0;
};

// An interactive shell with job control. Its prompt is "$> ".
PtySession InteractiveShell();

inline constexpr char kCtrlC[] = "\x03";
inline constexpr char kCtrlD[] = "\x04";
inline constexpr char kCtrlZ[] = "\x1a";
inline constexpr char kCtrlBackslash[] = "\x1c";

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

  void KillZkr();

  TempDir dir_;
  LifeLine life_{dir_ / "life"};
  const std::string go_ = dir_ / "go";
  PtySession shell_ = InteractiveShell();
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_
