// SPDX-License-Identifier: Apache-2.0

#include "integration/zkr/zkr_fixture.h"

#include <fcntl.h>
#include <unistd.h>

namespace zkrecipes::integration {
namespace {

std::vector<std::string> CommandLine(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {ZKRECIPES_BIN_DIR "/zkr"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

Zkr::Zkr(const std::string& servers, const std::vector<std::string>& arguments)
    : program_(CommandLine(arguments),
               {.environment = {{"ZKR_SERVERS", servers}}, .in_child = [this] {
                  dup2(open((dir_ / "result").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666), 3);
                }}) {}

nlohmann::json Zkr::Result() const {
  const std::string text = testing::ReadFile(dir_ / "result");
  return text.empty() ? nlohmann::json() : nlohmann::json::parse(text);
}

std::unique_ptr<Zkr> ZkrTest::StartShell(std::vector<std::string> arguments,
                                         const std::vector<std::string>& flags,
                                         const std::string& script) {
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), {"--", "sh", "-c", script});
  return Start(arguments);
}

std::string ZkrTest::HoldingFast() const {
  return Holding(
      "(setsid sh -c 'trap \"\" TERM HUP INT; echo deep >&9; while :; do sleep 1; done' &); "
      "echo ready >&9; exec sleep 1000");
}

}  // namespace zkrecipes::integration
