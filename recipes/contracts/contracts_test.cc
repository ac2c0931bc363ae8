// SPDX-License-Identifier: Apache-2.0
//
// Every function of the public API that gives a status, in every situation that the ensemble in
// memory can put it in, gives only the codes of its row in methods_fixture.cc, which are those that
// its header explains. Not tried: Unauthenticated, which the model of the ensemble never gives,
// what needs many contenders, functions that need processes of a server (LocalEnsemble, PostgreSQL,
// Redis), and the floor database, which has its own tests.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "lib/base/one_shot.h"
#include "lib/base/quiet_fork_fixture.h"
#include "recipes/contracts/scene_fixture.h"

namespace zkrecipes::testing {
namespace {

using StatusShot = base::OneShot<absl::Status>;

// ---- A call in a situation ------------------------------------------------------------

std::optional<absl::Status> CallOnAThread(Scene& scene, const Situation& situation,
                                          const Method& method) {
  const auto shot = std::make_shared<StatusShot>();
  const Done done = [shot](absl::Status status) { shot->Set(std::move(status)); };
  scene.answered = [shot] { return shot->is_set(); };
  std::jthread caller;
  if (situation.where == Situation::Where::kIoThread) {
    Lock(scene.client, "/io").AcquireAsync({}, [&](const auto&) { method.call(scene, done); });
  } else {
    caller = std::jthread([&] { method.call(scene, done); });
  }
  // Most calls need none of the ensemble's time: none passes before they have begun.
  std::promise<void> answered;
  shot->OnSet([&answered] { answered.set_value(); });
  if (!shot->is_set()) answered.get_future().wait_for(std::chrono::milliseconds(5));
  shot->OnSet(nullptr);
  situation.meanwhile(scene);
  // One that is to fail is not stopped before it has: its thread may not have begun yet.
  const bool is_to_fail =
      situation.example.method == method.name && situation.example.gives != absl::StatusCode::kOk;
  if (method.endless && !is_to_fail) {
    scene.ensemble.Advance(absl::Minutes(1));
    scene.stop.request_stop();
  }
  if (!scene.ensemble.AdvanceUntil(scene.answered)) scene.stop.request_stop();
  return shot->Take(base::BootNow() + absl::Seconds(10));
}

std::optional<absl::Status> CallInAForkedChild(Scene& scene, const Method& method) {
  constexpr int kNone = 99;
  const pid_t child = base::ForkWhileOthersSleep();
  if (child == 0) {
    alarm(20);
    method.call(scene, [](const absl::Status& status) { _exit(static_cast<int>(status.code())); });
    _exit(kNone);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "it hangs";
  if (!WIFEXITED(status) || WEXITSTATUS(status) == kNone) return std::nullopt;
  return absl::Status(static_cast<absl::StatusCode>(WEXITSTATUS(status)), "in a forked child");
}

// The status that it gives, if it can be called so.
std::optional<absl::Status> Call(const Situation& situation, const Method& method) {
  if (method.apart && situation.where != Situation::Where::kThread) return std::nullopt;
  Scene scene;
  situation.before_connecting(scene);
  scene.client = *scene.ensemble.Connect(scene.options);
  scene.recursive.emplace(scene.client, scene.path);
  method.prepare(scene);
  const bool needs_hold = scene.hold.has_value();
  situation.before(scene);
  if (needs_hold && !scene.hold.has_value()) return std::nullopt;
  if (situation.where == Situation::Where::kForkedChild) return CallInAForkedChild(scene, method);
  return CallOnAThread(scene, situation, method);
}

// ---- The tests ------------------------------------------------------------------------

class ContractsTest : public ::testing::TestWithParam<Situation> {};

TEST_P(ContractsTest, GiveOnlyTheCodesOfTheirRows) {
  const auto& [method_that_gives, gives] = GetParam().example;
  for (const Method& method : Methods()) {
    const std::optional<absl::Status> status = Call(GetParam(), method);
    if (!status.has_value()) continue;
    EXPECT_TRUE(status->ok() || method.gives.contains(status->code()))
        << method.name << " gives " << *status << ", which neither its row nor its header explains";
    if (method.name == method_that_gives) {
      EXPECT_EQ(status->code(), gives) << *status;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(If, ContractsTest, ::testing::ValuesIn(Situations()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace zkrecipes::testing
