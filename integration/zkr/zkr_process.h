// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_PROCESS_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_PROCESS_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "integration/fixtures/ensemble_fixture.h"
#include "lib/base/unique_fd.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::testing {

using integration::Eventually;

// One list of all of them.
std::vector<std::string> Joined(std::initializer_list<std::vector<std::string>> lists);

// True if this process may make namespaces. A test that needs one is skipped otherwise.
bool MayMakeNamespaces();
inline constexpr char kNoNamespaces[] =
    "only CAP_SYS_ADMIN can make the namespace that this is about: run as root";

// Why zkr can have no guard of that kind here; empty: it can.
std::string WhyNoGuard(const std::string& kind);

// A directory of the test's own, which every user may enter; removed with all that is in it.
class TempDir : public WorkDirectory {
 public:
  TempDir() : WorkDirectory(*MakeTemporary(/*keep=*/false)) { chmod(path().c_str(), 0755); }
  std::string operator/(const std::string& name) const { return path() + "/" + name; }
};

// A named pipe that processes under test open with `>`. It shows when the last of them is dead.
class LifeLine {
 public:
  explicit LifeLine(std::string path);
  const std::string& path() const { return path_; }

  // Waits until a holder has written `text`.
  bool WaitFor(const std::string& text);
  bool IsHeld();        // at this moment
  bool WaitUntilCut();  // no process holds it any more

 private:
  void Read();
  std::string path_;
  std::string received_;
  base::UniqueFd fd_;
  bool cut_ = false;
};

// What the scripts of a test hold and wait for.
class Scripts {
 protected:
  // A script that holds `line` as descriptor 9 and goes on with `then`.
  static std::string Holding(const std::string& then, const LifeLine& line) {
    return "exec 9>" + line.path() + "; " + then;
  }
  std::string Holding(const std::string& then) const { return Holding(then, life_); }

  // The part of a script that waits for Go.
  std::string UntilGo() const {
    return "while [ ! -e " + (dir_ / "go") + " ]; do sleep 0.01; done; ";
  }
  void Go() const { std::ofstream(dir_ / "go") << "go"; }

  TempDir dir_;
  LifeLine life_{dir_ / "life"};
};

// Without the lines in which zkr says that it is still connecting, or waiting for an answer: those
// that it writes once that takes a second, as in a stall of the machine.
std::string WithoutWaiting(const std::string& said);

struct ProgramOptions {
  std::map<std::string, std::string> environment = {};
  std::function<void()> in_child = nullptr;  // called before the exec
};

// A program under test: in a session of its own, without a terminal, its output in files. Killed at
// the end of the test if it still runs. Once the process that runs the tests has ended, also by
// SIGKILL, everything that its programs started and that still runs is killed, orphans included.
class Program {
 public:
  explicit Program(const std::vector<std::string>& argv, const ProgramOptions& options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;  // returns once a SIGSTOP has taken effect

  // The exit status, or 1000 + n if it was killed by signal n, or -1 if it does not end.
  int Wait();
  bool IsRunning();

  std::string Out() const { return ReadFile(dir_ / "out"); }
  std::string Err() const { return WithoutWaiting(ReadFile(dir_ / "err")); }

 private:
  bool Reap();

  TempDir dir_;
  pid_t pid_ = 0;
  int status_ = -1;
  bool ended_ = false;
};

// A part of a script: starts a grandchild in a session of its own that holds descriptor 9, ignores
// these signals and says "deep".
inline std::string Stubborn(const std::string& signals) {
  return "(setsid sh -c 'trap \"\" " + signals + "; echo deep >&9; while :; do sleep 1; done' &); ";
}

// Makes this process's stderr a pipe that is full, and that nothing ever reads. For in_child.
void BlockStderr();
// Its stdout is a pipe that nothing reads any more.
void GiveItAClosedPipe();

// The results of a program that has run to its end.
struct Answer {
  int status = -1;  // as Program::Wait
  std::string out;
  std::string err;
};
Answer RunToEnd(const std::vector<std::string>& argv);

std::string NameOf(pid_t pid);          // /proc/<pid>/comm
char StateOf(pid_t pid);                // 'T': stopped; 'X': there is no such process
void StopProcess(pid_t pid);            // SIGSTOP; returns once that has taken effect
bool IsPending(pid_t pid, int signal);  // sent to that process, and not taken yet
pid_t DescendantOf(pid_t root, const std::string& name);  // the first of that name; 0: none

// To the first descendant of `root` of that name; it fails the test if there is none.
void SignalDescendant(pid_t root, const std::string& name, int signal);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_PROCESS_H_
