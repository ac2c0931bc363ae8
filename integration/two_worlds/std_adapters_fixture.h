// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_STD_ADAPTERS_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_STD_ADAPTERS_FIXTURE_H_

#include <chrono>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/std_adapters.h"

namespace zkrecipes::integration {

class StdAdaptersInAWorld : public WorldTest {
 protected:
  // Runs `work` on a thread of its own, while the world's time goes on.
  template <typename Work>
  auto Elsewhere(Work work) {
    return std::async(std::launch::async, std::move(work));
  }
  template <typename T>
  T Result(std::future<T> future) {
    EXPECT_TRUE(world().Await([&] { return Ready(future); }));
    return future.get();
  }
  template <typename T>
  static bool Ready(const std::future<T>& future) {
    return future.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  }
  template <typename Work>
  auto ResultOf(Work work) {
    return Result(Elsewhere(std::move(work)));
  }
  template <typename Work, typename OtherWork>
  void RunBoth(Work work, OtherWork other_work) {
    auto first = Elsewhere(std::move(work));
    ResultOf(std::move(other_work));
    Result(std::move(first));
  }
  // What a call throws; success if it does not.
  template <typename Call>
  static std::errc Thrown(Call call) {
    try {
      call();
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code().category(), std::generic_category());
      return static_cast<std::errc>(e.code().value());
    }
    return std::errc();
  }

  std::shared_ptr<Client> other_ = NewClient();
  DistributedMutex mutex_{client_, path()};
  DistributedMutex same_{other_, path()};  // of another client
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_STD_ADAPTERS_FIXTURE_H_
