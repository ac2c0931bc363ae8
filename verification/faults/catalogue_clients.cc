// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "absl/random/distributions.h"
#include "absl/time/clock.h"

#include "verification/faults/kinds.h"

namespace zkrecipes::faults {
namespace {

absl::StatusOr<Ongoing> KillClient(Scene& scene) {
  const int i = AnyClient(scene);
  return Begun(ClientName(i), scene.clients.Kill(i),
               [&clients = scene.clients, i] { return clients.Start(i); });
}

std::vector<int> AllClients(const Scene& scene) {
  std::vector<int> all;
  for (int i = 0; i < scene.clients.size(); ++i) all.push_back(i);
  return all;
}

absl::StatusOr<Ongoing> KillClients(Scene& scene) {
  const std::vector<int> all = AllClients(scene);
  return Begun("all clients", ForEach(all, [&](int i) { return scene.clients.Kill(i); }),
               [&clients = scene.clients, all] {
                 return ForEach(all, [&](int i) { return clients.Start(i); });
               });
}

absl::StatusOr<Ongoing> PauseClient(Scene& scene) {
  const int i = AnyClient(scene);
  return Begun(ClientName(i), scene.clients.Pause(i),
               [&clients = scene.clients, i] { return clients.Resume(i); });
}

absl::StatusOr<Ongoing> PauseClientLong(Scene& scene) {
  auto paused = PauseClient(scene);
  if (paused.ok()) absl::SleepFor(UntilExpired(scene));
  return paused;
}

// Up to a day, either way.
absl::StatusOr<Ongoing> ClockClient(Scene& scene) {
  const int i = AnyClient(scene);
  const absl::Duration hours = absl::Hours(absl::Uniform(scene.random, 1, 24));
  const bool back = absl::Bernoulli(scene.random, 0.5);
  return Begun(ClientName(i), scene.clients.SetClock(i, back ? -hours : hours),
               [&clients = scene.clients, i] { return clients.SetClock(i, absl::ZeroDuration()); });
}

}  // namespace

std::vector<Fault> ClientFaults() {
  using absl::Seconds;
  return {
      {"kill_client", "a client is killed, and another takes its place", true, Seconds(2),
       KillClient},
      {"kill_clients", "all clients are killed at once, and others take their places", true,
       Seconds(2), KillClients},
      {"pause_client", "a client stands still, not as long as its session lasts", true, Seconds(2),
       PauseClient},
      {"pause_client_long", "a client stands still until its session is over", true, Seconds(1),
       PauseClientLong},
      {"clock_client", "a client's wall clock jumps by hours", true, Seconds(4), ClockClient},
  };
}

}  // namespace zkrecipes::faults
