// SPDX-License-Identifier: Apache-2.0
//
// Refusals and failures of every command, as a user sees them.

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "integration/servers/local_servers.h"
#include "integration/zkr/zkr_fixture.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

class ZkrRefusalTest : public ZkrTest {
 protected:
  // zkr ends by itself with `status`, prints nothing, and says why in these `words`.
  void ExpectRefused(const Words& arguments, int status, const std::string& result,
                     const Words& words) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    auto zkr = Start(arguments);
    EXPECT_EQ(zkr->Wait(), status);
    EXPECT_THAT(zkr->Out(), IsEmpty());
    for (const std::string& word : words) EXPECT_THAT(zkr->Err(), HasSubstr(word));
    if (std::find(arguments.begin(), arguments.end(), "3") == arguments.end()) return;
    EXPECT_EQ(zkr->Result(), json({{"result", result}, {"status", status}, {"token", nullptr}}));
  }
  // The same for every command that needs the ensemble, with these flags.
  void ExpectAllRefused(const Words& flags, int status, const std::string& result,
                        const std::string& word) {
    const std::vector<Words> commands = {
        {"lock", node_path(), "--status-fd", "3", "--", "echo", "ran"},
        {"lock", node_path(), "--try", "--status-fd", "3", "--", "echo", "ran"},
        {"elect", node_path(), "--candidate", "a", "--status-fd", "3", "--", "echo", "ran"},
        {"observe", node_path()},
        {"ls", node_path()}};
    for (Words arguments : commands) {
      arguments.insert(arguments.begin() + 2, flags.begin(), flags.end());
      ExpectRefused(arguments, status, result, {word});
    }
  }
};

TEST_F(ZkrRefusalTest, SaysThatNoEnsembleAnswers) {
  ExpectAllRefused({"--servers", "127.0.0.1:1", "--session-timeout", "500ms"}, 69, "unavailable",
                   "127.0.0.1:1");
}

TEST_F(ZkrRefusalTest, SaysWhoseContendersDoNotSeeIt) {
  const Lease first = Acquired(other());  // makes the path
  const std::string writer =
      node_path() + "/_c_2f9c1d3e-5a77-4c0b-9d4e-0b6b7f0e9a11-__WRIT__0000000009";
  auto curator = Connect();
  ASSERT_EQ(curator->Do(zk::Create{writer, "", zk::CreateMode::kEphemeral}).code, zk::Code::kOk);
  ExpectRefused(
      {"lock", node_path(), "--status-fd", "3", "--", "echo", "ran"}, 64, "usage",
      {"-__WRIT__0000000009", "InterProcessReadWriteLock", "zkr lock --exclusive, or --shared",
       "or use --beside-blind (docs/interoperability.md)"});
  const Lease beside = Acquired(other(), node_path() + "-k");
  const std::string kazoo = node_path() + "-k/2b4e28ba2fa141d2883f0016d3cca427__lock__0000000009";
  ASSERT_EQ(curator->Do(zk::Create{kazoo, "", zk::CreateMode::kEphemeral}).code, zk::Code::kOk);
  ExpectRefused({"lock", node_path() + "-k", "--status-fd", "3", "--", "echo", "ran"}, 64, "usage",
                {"of kazoo's", ": use --dialect kazoo; or use --beside-blind"});
  ExpectRefused({"elect", node_path(), "--candidate", "a", "--status-fd", "3", "--", "echo", "ran"},
                64, "usage", {"-__WRIT__0000000009"});
  ExpectRefused({"lock", node_path(), "--try", "--beside-blind", "--status-fd", "3", "--", "echo"},
                75, "not_acquired", {"is locked"});
}

TEST_F(ZkrRefusalTest, SaysThatPermissionIsDenied) {
  // The parent of all tests' paths is everybody's, whichever test makes it.
  const Lease beside = Acquired(other(), node_path() + "-beside");
  auto owner = NewClient({.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()});
  const Lease held = Acquired(owner);
  ExpectAllRefused({}, 77, "denied", node_path());
  ExpectAllRefused({}, 77, "denied", "--digest-file FILE or ZKR_DIGEST_FILE");
}

TEST_F(ZkrRefusalTest, SaysOnceThatTheServersHaveLostTheirDataAndLeadsAgain) {
  servers::LocalServers one(*testing::LocalEnsemble::Start({.servers = 1}));
  auto leader =
      Client::Connect({.servers = one.list(), .session_timeout = absl::Seconds(10)}, {kSoon});
  ASSERT_TRUE(leader.ok()) << leader.status();
  // More than the emptied server will have seen while the test asks it.
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(Lock(*leader, "/seen").Acquire({kSoon}).ok());
  const auto term = LeaderElection(*leader, "/leads").Campaign({kSoon});
  ASSERT_TRUE(term.ok()) << term.status();
  auto zkr = Start({"elect", "/leads", "--servers", one.list(), "--session-timeout", "2s",
                    "--candidate", "a", "--", "sleep", "1000"});
  const auto queued = [&one](size_t size) {
    const auto client = Client::Connect({.servers = one.list()}, {absl::Seconds(5)});
    if (!client.ok()) return false;
    const auto queue = ListContenders(**client, "/leads", {absl::Seconds(5)});
    return queue.ok() && queue->size() == size;
  };
  ASSERT_TRUE(Eventually([&] { return queued(2); }));
  ASSERT_EQ(one.Wipe(0), absl::OkStatus());
  leader->reset();
  ASSERT_EQ(one.Start(0), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(zkr->Err(), "refuses this session"); }));
  EXPECT_TRUE(Eventually([&] { return queued(1); }));
  const std::string said = zkr->Err();
  const size_t at = said.find("refuses this session");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find("refuses this session", at + 1), std::string::npos) << said;
  EXPECT_THAT(said, HasSubstr("raise the epoch"));
  zkr->Signal(SIGTERM);
  zkr->Wait();
}

TEST_F(ZkrRefusalTest, SaysThatTheServersWantAnotherAuthentication) {
  const auto strict = testing::LocalEnsemble::Start(
      {.servers = 1,
       .extra_config = {{"enforce.auth.enabled", "true"}, {"enforce.auth.schemes", "digest"}}});
  ASSERT_TRUE(strict.ok()) << strict.status();
  ExpectAllRefused({"--servers", (*strict)->servers()}, 77, "denied",
                   "--digest-file FILE or ZKR_DIGEST_FILE");
}

TEST_F(ZkrRefusalTest, HasTheRightsOfTheUsersInItsDigestFile) {
  const Lease beside = Acquired(other(), node_path() + "-beside");
  auto owner = NewClient({.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()});
  const testing::TempDir dir;
  const std::string file = dir / "users";
  std::ofstream(file) << "bob:other\nalice:secret\n";
  Lease held = Acquired(owner);  // the parent is alice's: an empty one might be deleted meanwhile
  const Words lock = {"lock", node_path(), "--", "true"};
  EXPECT_EQ(Start(lock)->Wait(), 77);
  EXPECT_EQ(std::move(held).Release({kSoon}), absl::OkStatus());
  EXPECT_EQ(Start(testing::Joined({{"--digest-file", file}, lock}))->Wait(), 0);
  const std::string script = "ZKR_DIGEST_FILE=" + file + " exec " ZKRECIPES_BIN_DIR "/zkr ls ";
  EXPECT_EQ(Zkr(servers(), {"sh", "-c", script + node_path()}, "").Wait(), 0);
}

TEST_F(ZkrRefusalTest, TellsACommandThatIsNotFoundFromOneThatCannotRun) {
  for (const Words& start : {Words{"lock"}, Words{"elect", "--candidate", "a"}}) {
    for (const auto& [command, status] : std::vector<std::pair<std::string, int>>{
             {"no-such-command", 127}, {"/no/such/command", 127}, {"/etc/passwd", 126}}) {
      auto zkr = Start(testing::Joined({start, {node_path(), "--status-fd", "3", "--", command}}));
      EXPECT_EQ(zkr->Wait(), status);
      EXPECT_THAT(zkr->Err(), HasSubstr("cannot run " + command));
      EXPECT_EQ(zkr->Result()["result"], "usage");
      EXPECT_EQ(zkr->Result()["status"], status);
    }
  }
  EXPECT_THAT(Queue(), IsEmpty());
}

struct BadArguments {
  Words arguments;  // "[3]" stands for: --status-fd 3
  Words words;
};
const std::string kBadPath = "/zkrecipes-test-bad";  // long ones are quoted in part
const std::vector<BadArguments> kBadArguments = {
    {{"lock", "relative", "[3]", "--", "true"}, {"\"relative\"", "absolute"}},
    {{"lock", kBadPath + "/", "[3]", "--", "true"}, {kBadPath + "/\"", "end with a slash"}},
    {{"lock", kBadPath + "//a", "[3]", "--", "true"}, {kBadPath + "//a\"", "double slash"}},
    {{"lock", kBadPath + "/..", "[3]", "--", "true"}, {kBadPath + "/..\"", "\"..\""}},
    {{"lock", "/zookeeper/x", "[3]", "--", "true"}, {"\"/zookeeper/x\"", "own"}},
    {{"lock", "", "[3]", "--", "true"}, {"path \"\""}},
    {{"lock", kBadPath, "[3]"}, {"CMD", "missing", "or --hold to run none"}},
    {{"lock", kBadPath, "[3]", "--"}, {"CMD", "missing"}},
    {{"lock", kBadPath, "[3]", "true"}, {"write -- before the command"}},
    {{"lock", kBadPath, "[3]", "-w", "x", "--", "true"}, {"-w", "\"x\""}},
    {{"lock", kBadPath, "[3]", "-w", "-1", "--", "true"}, {"-w", "\"-1\""}},
    {{"lock", kBadPath, "[3]", "-n", "-w", "1", "--", "true"}, {"-w"}},
    {{"lock", kBadPath, "[3]", "--hold", "--", "true"}, {"--hold", "runs no command"}},
    {{"lock", kBadPath, "[3]", "--guard", "perl", "--", "true"}, {"--guard", "perl"}},
    {{"lock", kBadPath, "[3]", "-q", "--verbose", "--", "true"}, {"--verbose"}},
    {{"lock", "[3]", "--", "true"}, {"PATH", "required"}},
    {{"lock", kBadPath, "[3]", "--digest-file", "/none", "--", "true"},
     {"--digest-file: /none: No such file"}},
    {{"epoch", "--raise", "--above", "-1"}, {"--above", "\"-1\" is not a number of 0 or more"}},
    {{"lock", kBadPath, "[3]", "--hold", "--at-least", "1h"}, {"--at-least", "--hold runs none"}},
    {{"lock", kBadPath, "[3]", "--at-least", "inf", "--", "true"}, {"--at-least", "finite"}},
    {{"lock", kBadPath, "[3]", "--probe", "", "--", "true"}, {"--probe", "is empty"}},
    {{"break", "/a", "--token", "0x33"}, {"--token", "\"0x33\" is not a decimal number"}},
    {{"break", "/a", "--token", "99999999999999999999"}, {"--token"}},
    {{"lock", kBadPath, "[3]", "--wait", "5", "--", "true"}, {"--wait", "\"5\""}},
    {{"lock", kBadPath, "[3]", "--wait", "-5s", "--", "true"}, {"\"-5s\"", "negative"}},
    {{"lock", kBadPath, "[3]", "--grace", "inf", "--", "true"}, {"--grace", "finite"}},
    {{"lock", kBadPath, "[3]", "--try", "--wait", "1s", "--", "true"}, {"--try", "--wait"}},
    {{"lock", kBadPath, "[3]", "--shared", "--exclusive", "--", "true"}, {"--shared"}},
    {{"lock", kBadPath, "[3]", "--permits", "0", "--", "true"},
     {"--permits", "\"0\" is not a number from 1 to 1000"}},
    {{"lock", kBadPath, "[3]", "--permits", "1001", "--", "true"},
     {"--permits", "\"1001\" is not a number from 1 to 1000"}},
    {{"lock", kBadPath, "[3]", "--permits", "three", "--", "true"}, {"--permits", "\"three\""}},
    {{"lock", kBadPath, "[3]", "--permits", "3", "--shared", "--", "true"},
     {"--permits", "excludes --shared and --exclusive"}},
    {{"lock", kBadPath, "[3]", "--exclusive", "--permits", "3", "--", "true"},
     {"--permits", "excludes --shared and --exclusive"}},
    {{"lock", kBadPath, "[3]", "--conflict-exit-code", "256", "--", "true"},
     {"--conflict-exit-code", "256"}},
    {{"lock", kBadPath, "[3]", "--dialect", "perl", "--", "true"}, {"\"perl\""}},
    {{"lock", kBadPath, "[3]", "--frob", "--", "true"}, {"--frob"}},
    {{"lock", kBadPath, "[3]", "--servers", "host:x", "--", "true"}, {"host:x", "port"}},
    {{"lock", kBadPath, "[3]", "--session-timeout", "1ms", "--", "true"},
     {"session timeout", "1ms"}},
    {{"lock", kBadPath, "--status-fd", "77", "--", "true"}, {"77 is not open"}},
    {{"elect", kBadPath, "--candidate", "two\nlines", "[3]", "--", "echo", "ran"}, {}},
    {{"elect", kBadPath, "[3]", "--", "true"}, {}},
    {{"elect", kBadPath, "--candidate", "a", "[3]"}, {}},
    {{"elect", "relative", "--candidate", "a", "[3]", "--", "true"}, {}},
    {{"elect", "--candidate", "a", "[3]", "--", "true"}, {}},
    {{"observe", "relative"}, {}},
    {{"observe"}, {}},
    {{"observe", kBadPath, "--", "true"}, {}},
    {{"ls", "relative"}, {"path \"relative\": must be absolute"}},
    {{"ls"}, {}},
    {{"ls", "/a", "/b"}, {}},
    {{"ls", "/a", "--", "true"}, {}},
    {{"ls", "/a", "--servers", ""}, {}},
};

TEST_F(ZkrRefusalTest, RefusesBadArgumentsAndLeavesNothingInTheTree) {
  auto session = Connect();
  const std::vector<std::string> before = Tree(*session);
  for (BadArguments c : kBadArguments) {
    const auto fd = std::find(c.arguments.begin(), c.arguments.end(), "[3]");
    if (fd != c.arguments.end()) c.arguments.insert(c.arguments.erase(fd), {"--status-fd", "3"});
    ExpectRefused(c.arguments, 64, "usage", c.words);
  }
  // Containers of earlier tests may be reaped meanwhile.
  const std::vector<std::string> after = Tree(*session);
  EXPECT_TRUE(std::includes(before.begin(), before.end(), after.begin(), after.end()));
}

TEST_F(ZkrRefusalTest, RefusesASessionTimeoutBelowWhichNoLeaseIsProven) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto quick = testing::LocalEnsemble::Start({.servers = 1, .tick = absl::Milliseconds(100)});
  ASSERT_TRUE(quick.ok()) << quick.status();
  ExpectRefused({"lock", node_path(), "--servers", (*quick)->servers(), "--session-timeout",
                 "300ms", "--status-fd", "3", "--", "echo", "ran"},
                64, "usage",
                {"no lease can be proven with a session timeout of 300ms",
                 "ask for a longer --session-timeout"});
}

TEST_F(ZkrRefusalTest, EveryCommandHasHelpAndVersion) {
  for (const char* words : {"", "lock", "elect", "observe", "ls", "check", "break", "epoch",
                            "doctor", "ensemble", "ensemble start", "completion"}) {
    const Words command = absl::StrSplit(words, ' ', absl::SkipEmpty());
    for (const std::string flag : {"--help", "--version"}) {
      auto zkr = Start(testing::Joined({command, {flag}}));
      EXPECT_EQ(zkr->Wait(), 0);
      EXPECT_THAT(zkr->Out(), HasSubstr("zkr"));
      EXPECT_THAT(zkr->Err(), IsEmpty());
      for (const absl::string_view line : absl::StrSplit(zkr->Out(), '\n')) {
        EXPECT_LE(line.size(), 80u) << line;
      }
    }
  }
}

TEST_F(ZkrRefusalTest, HelpNeedsNoDigestFile) {
  const std::string zkr = "ZKR_DIGEST_FILE=/none exec " ZKRECIPES_BIN_DIR "/zkr ";
  EXPECT_EQ(testing::RunToEnd({"sh", "-c", zkr + "lock --help"}).status, 0);
  const testing::Answer refused = testing::RunToEnd({"sh", "-c", zkr + "ls /a"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, HasSubstr("--digest-file: /none: No such file"));
}

// Each word that is refused is one object, and nothing else comes.
TEST_F(ZkrRefusalTest, SaysAllOfItInTheFormatThatWasAsked) {
  auto zkr = Start({"--log-format", "json", "lock", "/a", "--frob", "--", "true"});
  EXPECT_EQ(zkr->Wait(), 64);
  EXPECT_THAT(json::parse(zkr->Err())["message"].get<std::string>(), HasSubstr("zkr lock --help"));
  // A guard that is killed, and a lock that is lost.
  auto killed = Start({"-q", "--log-format", "json", "lock", node_path(), "--", "sh", "-c",
                       Holding("echo up >&9; exec sleep 1000")});
  ASSERT_TRUE(life_.WaitFor("up"));
  testing::SignalDescendant(killed->pid(), "lock-guard", SIGKILL);
  killed->Wait();
  EXPECT_THAT(json::parse(killed->Err())["message"].get<std::string>(), HasSubstr("guard"));
}

TEST_F(ZkrRefusalTest, TheManualAndTheCompletionsKnowEveryCommandAndOption) {
  for (const Words& what :
       std::vector<Words>{{"man"}, {"completion", "bash"}, {"completion", "zsh"}}) {
    auto zkr = Start(what);
    EXPECT_EQ(zkr->Wait(), 0);
    for (const std::string word : {"lock", "break", "exclusive", "permits", "cgroup"}) {
      EXPECT_THAT(zkr->Out(), HasSubstr(word)) << what[0];
    }
    if (what[0] != "man") continue;
    for (const std::string section : {"\"EXIT STATUS\"", "ENVIRONMENT", "EXAMPLES"}) {
      EXPECT_THAT(zkr->Out(), HasSubstr("\n.SH " + section + "\n.PP\n"));
    }
    // All is filled to the width of the page.
    EXPECT_THAT(zkr->Out(), ::testing::Not(HasSubstr("\n.nf")));
  }
  EXPECT_EQ(Start({"completion", "fish"})->Wait(), 64);
}

TEST_F(ZkrRefusalTest, BashCompletesWhatIsTyped) {
  const std::string script =
      "eval \"$(" ZKRECIPES_BIN_DIR
      "/zkr completion bash)\"; "
      "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _zkr; echo "
      "\"${COMPREPLY[*]}\"; }; "
      "try zkr l; try zkr lock /a --g; try zkr lock /a --guard ''; try zkr ensemble st; "
      "try zkr completion z; try zkr lock /a -- bas | head -c3; echo; try zkr --digest-file l; "
      "try zkr lock /a -- cat l";
  const testing::Answer answer = testing::RunToEnd({"bash", "-c", script});
  EXPECT_THAT(answer.out,
              ::testing::StartsWith(
                  "lock ls\n--grace --guard\nauto cgroup process\nstart stop status\nzsh\nbas"));
  // Of files, its own completion follows.
  EXPECT_THAT(answer.out, ::testing::EndsWith("bas\n\n\n"));
}

// In a terminal of its own: zsh completes only what is typed.
TEST_F(ZkrRefusalTest, ZshCompletesWhatIsTyped) {
  if (testing::RunToEnd({"zsh", "--version"}).status != 0) GTEST_SKIP() << "there is no zsh";
  std::ofstream(dir_ / "a file") << "";
  // No other command begins like it.
  const std::string program = dir_ / "zkr-only-here";
  std::ofstream(program) << "";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string script = R"(
    PATH=${2:h}:$PATH
    zmodload zsh/zpty && zpty shell 'TERM=dumb zsh -f -i'
    zpty -w shell "PS1=; autoload -Uz compinit; compinit -D -u; eval \"\$($1 completion zsh)\"
      show() { print -r -- \"<\$BUFFER>\"; BUFFER= }; zle -N show; bindkey '^X' show; echo rea''dy"
    zpty -r shell out '*ready*'
    for line in "${@:3}"; do
      zpty -w -n shell "$line"$'\t\x18' && zpty -r shell out '*<*>*' &&
        print -r -- "${${out##*<}%%>*}"
    done)";
  const testing::Answer answer =
      testing::RunToEnd({"timeout", "60", "zsh", "-f", "-c", script, "zsh",
                         ZKRECIPES_BIN_DIR "/zkr", program, "zkr ele", "zkr lock /a --guard cg",
                         "zkr --digest-file " + (dir_ / "a"), "zkr lock /a -- zkr-onl"});
  EXPECT_EQ(answer.out, "zkr elect \nzkr lock /a --guard cgroup \nzkr --digest-file " +
                            (dir_ / "a\\ file") + " \nzkr lock /a -- zkr-only-here \n")
      << answer.err;
}

}  // namespace
}  // namespace zkrecipes::integration
