// SPDX-License-Identifier: Apache-2.0
//
// The short programs of examples/.

#include <httplib.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include <gmock/gmock.h>

#include "integration/packaging/examples_fixture.h"
#include "zkrecipes/client.h"
#include "zkrecipes/fencing/fenced_http.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Program;

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

// A service, as its users see it.
class Service {
 public:
  explicit Service(std::unique_ptr<Program> program) : program_(std::move(program)) {
    Eventually([&] { return program_->Out().find('\n') != std::string::npos; });
    const std::string out = program_->Out(), line = out.substr(0, out.find('\n'));
    EXPECT_THAT(line, MatchesRegex("listening on 127.0.0.1:[0-9]+"));
    address_ = line.substr(line.rfind(' ') + 1);
  }

  const std::string& address() const { return address_; }
  std::pair<int, std::string> Get(const char* path) const {
    const auto answer = httplib::Client("http://" + address_).Get(path);
    return answer ? std::pair(answer->status, answer->body) : std::pair(0, std::string());
  }

 private:
  const std::unique_ptr<Program> program_;
  std::string address_;
};

// A holder that writes to the fenced service: the status of the answer.
int Put(const Service& service, FencingToken token, const std::string& value) {
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
    Service service(Start("fenced_http", {"0", folder + "/floors"}));
    EXPECT_EQ(Put(service, older, "a"), 200);
    EXPECT_EQ(Put(service, newer, "b"), 200);
    EXPECT_EQ(Put(service, older, "stale"), 412);
    EXPECT_EQ(service.Get("/values/a").second, "b");
    const auto bare = httplib::Client("http://" + service.address()).Put("/values/a");
    ASSERT_TRUE(bare);
    EXPECT_EQ(bare->status, 428);
  }
  Service service(Start("fenced_http", {"0", folder + "/floors"}));
  EXPECT_EQ(Put(service, older, "stale"), 412);
  EXPECT_EQ(Put(service, newer, "c"), 200);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace zkrecipes::integration
