// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_TWO_TURNS_FIXTURE_H_
#define ZKRECIPES_LIB_FENCING_TWO_TURNS_FIXTURE_H_

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace zkrecipes::fencing {

// Two actors, each on a thread, of which one runs at a time, in an order that choices say: at each
// step of either, who goes on. `NextOrder` goes through all orders.
class TwoTurns {
 public:
  // Called by an actor: before a step; and before one that only makes sense once the other has
  // `Freed` something or has ended.
  void Step(int actor) { Yield(actor, /*blocked=*/false); }
  void Block(int actor) { Yield(actor, /*blocked=*/true); }
  void Freed(int actor) { actors_[Other(actor)].blocked = false; }

  // Runs both to their ends, in the order of `choices_`; what was not chosen yet is the first
  // actor. False if both were blocked.
  bool Run(const std::array<std::function<void()>, 2>& actors) {
    for (Actor& actor : actors_) actor.blocked = actor.ended = false;
    at_ = 0;
    stuck_ = false;
    running_ = Next();
    std::array<std::thread, 2> threads;
    for (const int actor : {0, 1}) {
      threads[actor] = std::thread([this, actor, &actors] {
        AwaitItsTurn(actor);
        actors[actor]();
        End(actor);
      });
    }
    for (std::thread& thread : threads) thread.join();
    choices_.resize(at_);
    return !stuck_;
  }

  // False once there is no other.
  bool NextOrder() {
    while (!choices_.empty() && choices_.back() == 1) choices_.pop_back();
    if (choices_.empty()) return false;
    choices_.back() = 1;
    return true;
  }

 private:
  struct Actor {
    bool blocked = false, ended = false;
    std::condition_variable turn;
  };
  static int Other(int actor) { return 1 - actor; }
  bool CanGo(int actor) const { return !actors_[actor].ended && !actors_[actor].blocked; }

  // Who goes on.
  int Next() {
    if (CanGo(0) && CanGo(1)) {
      if (at_ == choices_.size()) choices_.push_back(0);
      return choices_[at_++];
    }
    stuck_ |= !CanGo(0) && !CanGo(1);
    return CanGo(0) || actors_[1].ended ? 0 : 1;
  }
  void Yield(int actor, bool blocked) {
    {
      const std::lock_guard lock(mutex_);
      actors_[actor].blocked = blocked && !actors_[Other(actor)].ended;
      running_ = Next();
      if (running_ == actor) return;
      actors_[running_].turn.notify_one();
    }
    AwaitItsTurn(actor);
  }
  void AwaitItsTurn(int actor) {
    std::unique_lock lock(mutex_);
    actors_[actor].turn.wait(lock, [&] { return running_ == actor; });
  }
  void End(int actor) {
    const std::lock_guard lock(mutex_);
    actors_[actor].ended = true;
    actors_[Other(actor)].blocked = false;
    running_ = Other(actor);
    actors_[running_].turn.notify_one();
  }

  std::mutex mutex_;
  std::array<Actor, 2> actors_;
  int running_ = 0;
  bool stuck_ = false;
  std::vector<int> choices_;
  size_t at_ = 0;  // of the next choice
};

}  // namespace zkrecipes::fencing

#endif  // ZKRECIPES_LIB_FENCING_TWO_TURNS_FIXTURE_H_
