// SPDX-License-Identifier: Apache-2.0

#include "testing/local/state_file.h"

#include <fstream>

#include "gtest/gtest.h"

#include "testing/local/work_directory.h"

namespace zkrecipes::testing {
namespace {

class StateFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(directory_ + "/ensemble") << text; }
  absl::Status ReadError() { return ReadState(directory_).status(); }

  const WorkDirectory made_ = WorkDirectory::MakeTemporary(/*keep=*/false).value();
  const std::string directory_ = made_.path();
};

TEST_F(StateFileTest, ReadsWhatWasWritten) {
  const EnsembleState state{
      .directory_made = true,
      .servers = {{.spec = {.client_port = 1, .quorum_port = 2, .election_port = 3},
                   .pid = 4,
                   .start_time = 5},
                  {.spec = {.client_port = 6, .quorum_port = 7, .election_port = 8}}}};
  ASSERT_TRUE(WriteState(directory_, state).ok());
  const absl::StatusOr<EnsembleState> read = ReadState(directory_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->directory_made);
  ASSERT_EQ(read->servers.size(), 2u);
  EXPECT_EQ(read->servers[0].pid, 4);
  EXPECT_EQ(read->servers[0].start_time, 5u);
  EXPECT_EQ(read->servers[1].spec.id, 2);
  EXPECT_EQ(read->servers[1].spec.election_port, 8);
  EXPECT_EQ(read->servers[1].spec.directory, directory_ + "/server2");
}

TEST_F(StateFileTest, TellsNothingFromSomethingElse) {
  EXPECT_TRUE(absl::IsNotFound(ReadError()));
  for (const char* text : {"", "zkr-ensemble 2 made\n1 2 3 4 5\n", "zkr-ensemble 1 made\n",
                           "zkr-ensemble 1 made\n1 2 3\n", "zkr-ensemble 1 given\n1 2 3 -4 5\n"}) {
    Write(text);
    EXPECT_TRUE(absl::IsDataLoss(ReadError())) << text;
  }
  RemoveState(directory_);
  EXPECT_TRUE(absl::IsNotFound(ReadError()));
}

}  // namespace
}  // namespace zkrecipes::testing
