// SPDX-License-Identifier: Apache-2.0
//
// The programs of examples/, run as a reader runs them.

#include <httplib.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include <gmock/gmock.h>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/zkr/zkr_process.h"
#include "zkrecipes/client.h"
#include "zkrecipes/fenced_file.h"
#include "zkrecipes/fenced_http.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Program;

class ExamplesTest : public EnsembleTest {
 protected:
  // In a ZooKeeper namespace of the test's own.
  std::unique_ptr<Program> Start(const std::string& name,
                                 const std::vector<std::string>& arguments = {}) {
    return std::make_unique<Program>(
        testing::Joined({{std::string(ZKRECIPES_BIN_DIR) + "/examples/" + name}, arguments}),
        testing::ProgramOptions{.environment = {{"ZKR_SERVERS", servers() + node_path()}}});
  }

  static bool Says(const Program& program, const std::string& text) {
    return Eventually([&] { return program.Out().find(text) != std::string::npos; });
  }

  // The number after the last `text` in the output; 0 if there is none.
  static int64_t NumberBehind(const Program& program, const std::string& text) {
    const std::string out = program.Out();
    const size_t at = out.rfind(text);
    return at == std::string::npos ? 0 : std::atoll(out.c_str() + at + text.size());
  }
};

TEST_F(ExamplesTest, TheLockWorksWithItsTokenAndReleases) {
  auto first = Start("lock");
  EXPECT_EQ(first->Wait(), 0);
  EXPECT_THAT(first->Out(), MatchesRegex("step 1 with token [0-9]+\nstep 2 with token [0-9]+\n"
                                         "step 3 with token [0-9]+\nreleased\n"));
  auto second = Start("lock");
  EXPECT_EQ(second->Wait(), 0);
  EXPECT_GT(NumberBehind(*second, "token "), NumberBehind(*first, "token "));
}

TEST_F(ExamplesTest, ReadersSeeWhatAWriterChanged) {
  auto program = Start("read_write_lock");
  EXPECT_EQ(program->Wait(), 0);
  EXPECT_THAT(program->Out(), ContainsRegex("^changed with token [0-9]+\n"));
  for (const char* reader : {"reader 1", "reader 2", "reader 3"}) {
    EXPECT_THAT(program->Out(), HasSubstr(std::string(reader) + " sees version 1\n"));
  }
  EXPECT_THAT(program->Out(), HasSubstr("still version 2, and others read, too\n"));
}

TEST_F(ExamplesTest, AHundredCoroutinesHaveTheirTurns) {
  auto program = Start("coroutine");
  EXPECT_EQ(program->Wait(), 0);
  EXPECT_EQ(program->Out(), "100 entries, each with a larger token than the one before\n");
}

// Each line of standard output is a span.
TEST_F(ExamplesTest, AServicesLoggerHearsOfItsLockAndAWaitAndItsHoldAreSpansOfOneTrace) {
  auto program = Start("events");
  EXPECT_EQ(program->Wait(), 0);
  for (const char* event : {"session session=0x", "client reason=connected",
                            "granted /examples/traced token=", "released /examples/traced "}) {
    EXPECT_THAT(program->Err(), HasSubstr(std::string("service: info: ") + event));
  }
  std::map<std::string, nlohmann::json> spans;  // by name, "" where it was in vain
  std::istringstream lines(program->Out());
  for (std::string line; std::getline(lines, line);) {
    const auto span = nlohmann::json::parse(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    spans[span["status"]["code"] == 1 ? span["name"] : ""] = span;
    EXPECT_EQ(span["attributes"][0]["value"]["stringValue"], "/examples/traced");
    EXPECT_LE(std::stoll(std::string(span["startTimeUnixNano"])),
              std::stoll(std::string(span["endTimeUnixNano"])));
  }
  ASSERT_EQ(spans.size(), 3u) << program->Out();
  EXPECT_EQ(spans["wait"]["traceId"], spans["hold"]["traceId"]);
  EXPECT_EQ(spans["wait"]["spanId"], spans["hold"]["parentSpanId"]);
  EXPECT_EQ(spans["wait"]["attributes"][1], spans["hold"]["attributes"][1]);
  EXPECT_THAT(std::string(spans[""]["status"]["message"]), HasSubstr("DEADLINE_EXCEEDED"));
}

// An instance of the service, as its users see it.
class Instance {
 public:
  Instance(std::unique_ptr<Program> program) : program_(std::move(program)) {
    Eventually([&] { return program_->Out().find('\n') != std::string::npos; });
    const std::string out = program_->Out(), line = out.substr(0, out.find('\n'));
    EXPECT_THAT(line, MatchesRegex("listening on 127.0.0.1:[0-9]+"));
    address_ = line.substr(line.rfind(' ') + 1);
  }

  const std::string& address() const { return address_; }
  int Health() const { return Get("/health").first; }
  std::string Leader() const { return Get("/leader").second; }
  bool Tells(const std::string& text) const {
    return Eventually([&] { return Leader().find(text) != std::string::npos; });
  }
  bool BecomesHealthy(bool healthy) const {
    return Eventually([&] { return Health() == (healthy ? 200 : 503); });
  }
  std::pair<int, std::string> Get(const char* path) const {
    const auto answer = httplib::Client("http://" + address_).Get(path);
    return answer ? std::pair(answer->status, answer->body) : std::pair(0, std::string());
  }
  int Terminate() {
    program_->Signal(SIGTERM);
    return program_->Wait();
  }

 private:
  const std::unique_ptr<Program> program_;
  std::string address_;
};

// Instances of a service of which one writes the report.
class LeaderExampleTest : public ExamplesTest {
 protected:
  void SetUp() override {
    ExamplesTest::SetUp();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    EXPECT_EQ(Start("leader", {"--create", Report()})->Wait(), 0);
    EXPECT_EQ(Start("leader", {"--create", Report()})->Wait(), 1) << "there is one";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Report() const { return folder_ + "/report"; }
  std::unique_ptr<Program> Lead(const std::string& name) {
    return Start("leader", {name, "0", Report()});
  }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "zkr-leader-XXXXXX").string();
};

TEST_F(LeaderExampleTest, HandsOverWhenItIsTerminated) {
  auto first = Lead("a");
  ASSERT_TRUE(Says(*first, "job in term"));
  auto second = Lead("b");
  first->Signal(SIGTERM);
  EXPECT_EQ(first->Wait(), 0);
  EXPECT_THAT(first->Out(), ContainsRegex("handing over\n$"));
  ASSERT_TRUE(Says(*second, "job in term"));
  const auto term = NumberBehind(*second, "leading in term ");
  EXPECT_GT(term, NumberBehind(*first, "leading in term "));
  second->Signal(SIGINT);
  EXPECT_EQ(second->Wait(), 0);
  EXPECT_EQ(FencedFile(Report()).Read()->data, "done in term " + std::to_string(term) + "\n");
}

TEST_F(LeaderExampleTest, IsReplacedWhenItIsKilled) {
  auto first = Lead("a");
  ASSERT_TRUE(Says(*first, "job in term"));
  auto second = Lead("b");
  first->Signal(SIGKILL);
  EXPECT_TRUE(Says(*second, "leading in term"));
}

TEST_F(LeaderExampleTest, EveryInstanceOfAServiceKnowsItsLeader) {
  Instance first(Lead("a"));
  ASSERT_TRUE(first.Tells("this one leads"));
  Instance second(Lead("b"));
  EXPECT_EQ(first.Health(), 200);
  EXPECT_EQ(second.Health(), 200);
  ASSERT_TRUE(second.Tells("leader a\naddress " + first.address() + "\nterm "));
  EXPECT_THAT(second.Leader(), HasSubstr("this one follows"));
  EXPECT_EQ(first.Terminate(), 0);
  EXPECT_TRUE(second.Tells("leader b\naddress " + second.address() + "\nterm "));
  EXPECT_TRUE(second.Tells("this one leads"));
  EXPECT_EQ(second.Terminate(), 0);
}

TEST_F(LeaderExampleTest, AServiceWithoutAnEnsembleIsNotHealthyUntilItIsBack) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  Instance instance(Lead("a"));
  ASSERT_TRUE(instance.BecomesHealthy(true));
  for (int i = 0; i < members().size(); ++i) ASSERT_TRUE(members().Stop(i).ok());
  EXPECT_TRUE(instance.BecomesHealthy(false));
  ASSERT_TRUE(ensemble().Heal().ok());
  EXPECT_TRUE(instance.BecomesHealthy(true));
  EXPECT_TRUE(instance.Tells("this one leads"));
  EXPECT_EQ(instance.Terminate(), 0);
}

// A holder that writes to the fenced service: the status of the answer.
int Put(const Instance& service, FencingToken token, const std::string& value) {
  const auto answer =
      httplib::Client("http://" + service.address())
          .Put("/values/a", {{kFencingTokenHeader, ToHttpHeader(FencingPass{.token = token})}},
               value, "text/plain");
  if (!answer) return 0;
  const absl::Status refused =
      CheckHttpAnswer(answer->status, answer->get_header_value(kFencingFloorHeader));
  EXPECT_EQ(absl::IsFailedPrecondition(refused), answer->status == 412) << refused;
  return answer->status;
}

TEST_F(ExamplesTest, AFencedServiceRefusesTheHolderBeforeAlsoAfterItsRestart) {
  std::string folder = (std::filesystem::temp_directory_path() / "zkr-example-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  auto client = Client::Connect({.servers = servers()});
  ASSERT_TRUE(client.ok()) << client.status();
  Lock lock(*client, node_path());
  const FencingToken older = lock.Acquire()->token(), newer = lock.Acquire()->token();
  ASSERT_EQ(Start("fenced_http", {"create", folder + "/floors"})->Wait(), 0);
  {
    Instance service(Start("fenced_http", {"0", folder + "/floors"}));
    EXPECT_EQ(Put(service, older, "a"), 200);
    EXPECT_EQ(Put(service, newer, "b"), 200);
    EXPECT_EQ(Put(service, older, "stale"), 412);
    EXPECT_EQ(service.Get("/values/a").second, "b");
    const auto bare = httplib::Client("http://" + service.address()).Put("/values/a");
    ASSERT_TRUE(bare);
    EXPECT_EQ(bare->status, 428);
  }
  Instance service(Start("fenced_http", {"0", folder + "/floors"}));
  EXPECT_EQ(Put(service, older, "stale"), 412);
  EXPECT_EQ(Put(service, newer, "c"), 200);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace zkrecipes::integration
