// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/resolver.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/blocking_counter.h"
#include "gmock/gmock.h"

#include "lib/base/mutex.h"
#include "lib/base/quiet_fork_fixture.h"

namespace zkrecipes::zk::loop {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Listed = std::vector<ListedServer>;

// Blocks until all are answered; in the order of the answers. Names with an empty label: the
// system's resolver refuses them without asking the network.
Listed Resolve(const std::vector<ServerAddress>& servers) {
  struct Answers {
    base::Mutex mutex;
    Listed listed ABSL_GUARDED_BY(mutex);
  };
  const auto answers = std::make_shared<Answers>();
  const auto all = std::make_shared<absl::BlockingCounter>(static_cast<int>(servers.size()));
  SystemResolver()->Resolve(servers, [answers, all](ListedServer answer) {
    base::MutexLock lock(answers->mutex);
    answers->listed.push_back(std::move(answer));
    all->DecrementCount();
  });
  all->Wait();
  base::MutexLock lock(answers->mutex);
  return answers->listed;
}

TEST(SystemResolver, TakesNumericAddressesOfBothFamiliesAsTheyAreAndInline) {
  Listed listed;
  SystemResolver()->Resolve({{"127.0.0.1", 2181}, {"::1", 2182}},
                            [&listed](ListedServer one) { listed.push_back(std::move(one)); });
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].name, "127.0.0.1:2181");
  EXPECT_THAT(listed[0].addresses, ElementsAre("127.0.0.1:2181"));
  EXPECT_EQ(listed[1].name, "[::1]:2182");
  EXPECT_THAT(listed[1].addresses, ElementsAre("[::1]:2182"));
}

TEST(SystemResolver, FindsTheAddressesOfAName) {
  const Listed listed = Resolve({{"localhost", 2181}});
  EXPECT_EQ(listed[0].name, "localhost:2181");
  EXPECT_THAT(listed[0].addresses, Not(IsEmpty()));
  EXPECT_THAT(listed[0].addresses, Each(AnyOf("127.0.0.1:2181", "[::1]:2181")));
}

TEST(SystemResolver, SaysWhyANameHasNoAddress) {
  const Listed listed = Resolve({{"no..such..host", 2181}});
  EXPECT_THAT(listed[0].addresses, IsEmpty());
  EXPECT_NE(listed[0].error, "");
}

// A server is left once no name of the new list may still be resolved.
TEST(SystemResolver, DoesNotTakeANameThatItHadNoDescriptorToLookUpForOneThatDoesNotExist) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Listed listed = Resolve({{"no..such..host", 2181}});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(listed[0].addresses, IsEmpty());
  EXPECT_THAT(listed[0].error, HasSubstr("RLIMIT_NOFILE"));
  EXPECT_TRUE(listed[0].exists);
}

TEST(SystemResolver, AnswersEachOfManyQuestionsForOneNameAndForMany) {
  std::vector<ServerAddress> servers;
  for (uint16_t i = 0; i < 100; ++i) {
    servers.push_back({"localhost", static_cast<uint16_t>(1000 + i % 50)});
  }
  const Listed listed = Resolve(servers);
  EXPECT_EQ(std::ranges::count(listed, std::string("localhost:1007"), &ListedServer::name), 2);
}

// A child has none of the threads that its parent looks names up with.
TEST(SystemResolver, AForkedChildHasLookUpsOfItsOwn) {
  Resolve({{"localhost", 1}});
  const pid_t child = base::ForkWhileOthersSleep();
  if (child == 0) _exit(Resolve({{"localhost", 2}}).size() == 1 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace zkrecipes::zk::loop
