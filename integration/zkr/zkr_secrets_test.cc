// SPDX-License-Identifier: Apache-2.0
//
// Neither other users of the machine nor the command that zkr runs can read a password.

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using Words = std::vector<std::string>;

// Differs from run to run: another may be going on beside this one.
const std::string kPassword = absl::StrCat("xyzzy-", getpid(), "-plugh");

// Which processes show `text` in their command lines or environments, as ps has these: no more of
// them than their beginnings.
std::vector<std::string> ShownByPs(const std::string& text) {
  std::vector<std::string> processes;
  const testing::Answer all = testing::RunToEnd({"ps", "axeww", "-o", "pid,args"});
  for (const absl::string_view line : absl::StrSplit(all.out, '\n')) {
    if (absl::StrContains(line, text)) processes.emplace_back(line.substr(0, 40));
  }
  return processes;
}

// The same of one process, from where ps has it.
bool Shows(pid_t pid, const std::string& text) {
  return absl::StrContains(testing::ReadFile(absl::StrCat("/proc/", pid, "/cmdline")), text) ||
         absl::StrContains(testing::ReadFile(absl::StrCat("/proc/", pid, "/environ")), text);
}

class ZkrSecretsTest : public ZkrTest {
 protected:
  // `start` execs zkr, with the words behind it as the rest of the command.
  void ExpectHidden(const std::string& start) {
    SCOPED_TRACE(start);
    testing::LifeLine life(dir_ / "shown");
    Zkr zkr(servers(),
            {"bash", "-c", start + " \"$@\"", "bash", "lock", node_path(), "--", "sh", "-c",
             Holding(kUntilAsked, life)},
            "");
    ASSERT_TRUE(life.WaitFor("up")) << zkr.Err();
    EXPECT_THAT(ShownByPs("lock " + node_path()), Not(IsEmpty()));
    EXPECT_THAT(ShownByPs(kPassword), IsEmpty());
    pid_t command = 0;  // sh says "up" before it becomes that
    ASSERT_TRUE(Eventually([&] {
      command = testing::DescendantOf(zkr.pid(), "sleep");
      return command != 0;
    }));
    for (const pid_t pid : {zkr.pid(), command}) {
      EXPECT_TRUE(Eventually([&] { return Shows(pid, "ZKR_SERVERS"); })) << pid;
      EXPECT_FALSE(Shows(pid, kPassword)) << testing::NameOf(pid);
    }
    zkr.Signal(SIGTERM);
    zkr.Wait();
    EXPECT_TRUE(life.WaitUntilCut());
    unlink(life.path().c_str());
  }
};

// The lock is one that only those get who know the password.
TEST_F(ZkrSecretsTest, NoPasswordIsShownByPsHoweverItIsGiven) {
  const Lease beside = Acquired(other(), node_path() + "-beside");  // makes everybody's parent
  auto owner = NewClient({.digest_credentials = {"alice:" + kPassword}, .acl = CreatorOnlyAcl()});
  const Lease held = Acquired(owner, node_path() + "/below");  // so the path stays
  const std::string file = dir_ / "users";
  std::ofstream(file) << "alice:" + kPassword + "\n";
  EXPECT_EQ(Start({"lock", node_path(), "--", "true"})->Wait(), 77);
  const std::string zkr = "exec " ZKRECIPES_BIN_DIR "/zkr";
  ExpectHidden(zkr + " --digest-file " + file);
  ExpectHidden(zkr + " --digest-file <(cat " + file + ")");
  ExpectHidden("ZKR_DIGEST_FILE=" + file + " " + zkr);
}

TEST_F(ZkrSecretsTest, PsIsSearchedForWhatItShows) {
  EXPECT_THAT(ShownByPs(kPassword), IsEmpty());
  for (const Words& revealing :
       {Words{"bash", "-c", "exec -a \"$0\" sleep 1000", kPassword},
        Words{"env", "-i", "PASSWORD=" + kPassword, "/usr/bin/sleep", "1000"}}) {
    const testing::Program program(revealing);
    EXPECT_TRUE(testing::Eventually([&] {
      return testing::NameOf(program.pid()) == "sleep" && ShownByPs(kPassword).size() == 1;
    })) << revealing[0];
    EXPECT_TRUE(Shows(program.pid(), kPassword)) << revealing[0];
  }
}

}  // namespace
}  // namespace zkrecipes::integration
