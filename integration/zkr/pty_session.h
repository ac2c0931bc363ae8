// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_PTY_SESSION_H_
#define ZKRECIPES_INTEGRATION_ZKR_PTY_SESSION_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

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

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_INTEGRATION_ZKR_PTY_SESSION_H_
