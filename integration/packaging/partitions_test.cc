// SPDX-License-Identifier: Apache-2.0
//
// The service of examples/ that shares sixteen shards among its instances.

#include <signal.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/packaging/examples_fixture.h"

namespace zkrecipes::integration {
namespace {

using testing::Program;

class PartitionsExampleTest : public ExamplesTest {
 protected:
  using Counts = std::array<int, 16>;

  void SetUp() override {
    ExamplesTest::SetUp();
    EXPECT_EQ(Start("partitions", {"--create", dir_.path()})->Wait(), 0);
  }
  std::unique_ptr<Program> Run(const std::string& id) {
    return Start("partitions", {id, dir_.path()});
  }
  Counts Read() const {
    Counts counts = {};
    for (size_t i = 0; i < counts.size(); ++i) {
      std::ifstream file(dir_ / absl::StrCat("shard-", i));
      std::string floor;
      std::getline(file, floor);
      file >> counts[i];
    }
    return counts;
  }
  // Each of them.
  bool CountOn() const {
    const Counts before = Read();
    return Eventually([&] {
      const Counts now = Read();
      bool all = true;
      for (size_t i = 0; i < now.size(); ++i) all = all && now[i] > before[i];
      return all;
    });
  }
  // Between two writes: in the middle of one it would keep the other from that file for as long as
  // it stands, as fenced_file.h says.
  static void Freeze(Program& instance) {
    do {
      instance.Signal(SIGCONT);
      instance.Signal(SIGSTOP);
    } while (LocksAFile(instance.pid()));
  }
  static bool LocksAFile(pid_t pid) {
    std::ifstream locks("/proc/locks");
    for (std::string lock; std::getline(locks, lock);) {
      if (absl::StrContains(lock, absl::StrCat(" WRITE ", pid, " "))) return true;
    }
    return false;
  }

  testing::TempDir dir_;
};

TEST_F(PartitionsExampleTest, CountsOnWhileInstancesComeAndDie) {
  auto a = Run("a");
  ASSERT_TRUE(CountOn());
  auto b = Run("b");
  auto c = Run("c");
  ASSERT_TRUE(CountOn());
  a->Signal(SIGKILL);
  ASSERT_TRUE(CountOn());
  b->Signal(SIGTERM);
  EXPECT_EQ(b->Wait(), 0) << b->Err();
  ASSERT_TRUE(CountOn());
  c->Signal(SIGTERM);
  EXPECT_EQ(c->Wait(), 0) << c->Err();
}

// Its shards are counted on by the other, and what it wrote without a look would be refused.
TEST_F(PartitionsExampleTest, CountsOnWhileAnInstanceIsFrozenAndBehindThat) {
  auto a = Run("a");
  auto b = Run("b");
  ASSERT_TRUE(CountOn());
  Freeze(*a);
  ASSERT_TRUE(CountOn());
  a->Signal(SIGCONT);
  ASSERT_TRUE(CountOn());
  b->Signal(SIGTERM);
  EXPECT_EQ(b->Wait(), 0) << b->Err();
  EXPECT_TRUE(CountOn());
}

}  // namespace
}  // namespace zkrecipes::integration
