// SPDX-License-Identifier: Apache-2.0
//
// The quiet end of a Scene, and what must hold then.

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "lib/base/one_shot.h"
#include "verification/schedules/scene.h"

namespace zkrecipes::schedules {

using testing::memory::Host;

void Scene::EndQuietly() {
  MendEverything();
  LetEachHaveATurn();
  if (!broken_.has_value()) CheckNothingIsLeft();
  if (!broken_.has_value()) CloseEverything();
  if (!broken_.has_value()) CheckCallbacks();
}

void Scene::MendEverything() {
  model().set_loses_touches(false);
  model().SetPingGap(model().options().tick / 2, now());
  for (int i = 0; i < servers(); ++i) {
    model().Heal(i, now());
    model().Stall(i, false, false, now());
  }
  for (const Process& process : processes_) {
    process.host->set_paused(false);
    process.host->set_network(Host::Network::kUp);
    process.host->set_only_server(std::nullopt);
    process.host->set_clock_rate(1.0);
  }
}

void Scene::LetEachHaveATurn() {
  const size_t enough = 2 * slots_.size() + 6;
  for (size_t round = 0; round < enough && !broken_.has_value(); ++round) {
    RunUntil(now() + absl::Seconds(2));
    CheckWatches();
    if (round > 0) CheckNodesAreWanted();
    for (auto& attempt : slots_) {
      if (attempt == nullptr || !attempt->lease.has_value() || attempt->next != nullptr) continue;
      CheckWasTold(*attempt);
      attempt->Release();
      attempt = nullptr;
    }
    const auto idle = [](const auto& attempt) { return attempt == nullptr; };
    if (std::all_of(slots_.begin(), slots_.end(), idle)) return;
  }
  Break("never answered", Describe());
}

void Scene::CheckWasTold(const Attempt& attempt) {
  const Lease::State state = attempt.lease->state();
  const bool over = state == Lease::State::kLost || state == Lease::State::kReleased;
  const bool there = history_.nodes().count(attempt.node) > 0;
  if (!over && !there) Break("not told of a loss", "held without a node: " + attempt.lease->node());
  if (over && attempt.losses == 0) Break("not told of a loss", "lost: " + attempt.lease->node());
}

// Nobody watches but its own node or the one in front of it. A watch whose removal was lost with
// the connection may stay: so this holds only where each client still has its first one.
void Scene::CheckWatches() {
  if (troubled_ || model().connections_made() > processes_.size()) return;
  for (const auto& [session, path] : model().Watches()) {
    bool wanted = false;
    for (const auto& [czxid, node] : history_.nodes()) {
      wanted |=
          history_.OwnerOf(czxid) == session && (path == node || history_.MayWatch(czxid, path));
    }
    if (!wanted) Break("watch left behind", path);
  }
}

// Who has given up has no node any more.
void Scene::CheckNodesAreWanted() {
  for (const Process& process : processes_) {
    const auto its = [&](const auto& node) {
      return history_.OwnerOf(node.first) == process.core->session_id();
    };
    const auto wanted = [&](const auto& attempt) { return attempt->core == process.core; };
    const auto& nodes = history_.nodes();
    const auto live = Live();
    if (std::count_if(nodes.begin(), nodes.end(), its) >
        std::count_if(live.begin(), live.end(), wanted)) {
      Break("node left behind", Describe());
    }
  }
}

// Longer than a session can outlive its client.
void Scene::CheckNothingIsLeft() {
  RunUntil(now() + absl::Seconds(6));
  for (const auto& [czxid, path] : history_.nodes()) Break("node left behind", path);
  const size_t watches = model().watches();
  if (watches > 0) Break("watch left behind", absl::StrCat(watches, " watches"));
}

void Scene::CloseEverything() {
  std::vector<std::shared_ptr<base::OneShot<absl::Status>>> closed;
  for (const Process& process : processes_) {
    closed.push_back(std::make_shared<base::OneShot<absl::Status>>());
    process.core->Close(closed.back());
  }
  simulation_.RunUntil(now() + absl::Seconds(1));
  for (size_t i = 0; i < closed.size(); ++i) {
    if (!processes_[i].host->stopped()) Break("client not closed", absl::StrCat("process ", i));
  }
}

void Scene::CheckCallbacks() {
  for (const auto& attempt : attempts_) {
    if (attempt->answers != 1) Break("never answered", "an attempt of long ago");
    if (attempt->on_lost.has_value() && attempt->losses != 1) {
      Break("never answered", absl::StrCat("lost() was heard ", attempt->losses, " times"));
    }
  }
}

}  // namespace zkrecipes::schedules
