// SPDX-License-Identifier: Apache-2.0

#include "verification/partitions/story.h"

#include <array>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace zkrecipes::verification {
namespace {

using Happens = std::function<absl::Status()>;

template <typename Act>
Happens Does(Act act) {
  return [act] { return act(), absl::OkStatus(); };
}

Happens Starts(Service& service, std::vector<std::string> ids) {
  return [&service, ids = std::move(ids)] {
    absl::Status status;
    for (const std::string& id : ids) status.Update(service.Start(id));
    return status;
  };
}

Happens KillsTheLeader(testing::LocalEnsemble& servers) {
  return [&servers] {
    const auto leader = servers.Leader();
    return leader.ok() ? servers.Kill(*leader) : leader.status();
  };
}

absl::Status RestartWhatIsDown(testing::LocalEnsemble& servers) {
  for (int i = 0; i < servers.size(); ++i) {
    if (servers.state(i) != testing::LocalEnsemble::MemberState::kDown) continue;
    if (absl::Status status = servers.Restart(i); !status.ok()) return status;
  }
  return servers.WaitForAll(absl::Seconds(30));
}

constexpr std::array kIds = {"a", "b", "c", "d", "e"};
constexpr double kFirst = 8;   // the members have found their shares, and know each other's homes
constexpr double kQuiet = 20;  // at the end
constexpr unsigned kLongestPause = 12;
constexpr size_t kFewest = 2;  // that are never all in trouble

class Chance {
 public:
  Chance(Service& service, testing::LocalEnsemble& servers, uint64_t seed)
      : service_(service), servers_(servers), random_(seed) {}

  double Pause() { return 1 + static_cast<double>(random_() % kLongestPause); }
  // What is in trouble comes out of it when it is its turn, what is not gets into some.
  std::pair<std::string, Happens> Next() {
    const size_t who = random_() % (kIds.size() + 1);
    if (who == kIds.size()) return OfServers();
    const std::string id = kIds[who];
    if (trouble_.contains(id)) return Helps(id);
    return trouble_.size() + kFewest < kIds.size() ? Troubles(id) : Next();
  }
  Happens HelpsAll() {
    std::vector<Happens> all;
    while (!trouble_.empty()) all.push_back(Helps(trouble_.begin()->first).second);
    return [&servers = servers_, all] {
      absl::Status status = RestartWhatIsDown(servers);
      for (const Happens& helps : all) status.Update(helps());
      return status;
    };
  }

 private:
  std::pair<std::string, Happens> OfServers() {
    server_is_down_ = !server_is_down_;
    if (server_is_down_) return {"leader killed", KillsTheLeader(servers_)};
    return {"server back", [&servers = servers_] { return RestartWhatIsDown(servers); }};
  }
  std::pair<std::string, Happens> Troubles(const std::string& id) {
    const auto to = [&service = service_, id](auto act) {
      return [&service, id, act]() -> absl::Status {
        if (service.Of(id).pid() == 0) return absl::InternalError(id + " has ended by itself");
        return act(service), absl::OkStatus();
      };
    };
    const auto kind = random_() % 3;
    trouble_[id] = kind == 0;
    if (kind == 0) return {id + " paused", to([id](Service& its) { its.Of(id).Pause(); })};
    if (kind == 1) return {id + " killed", to([id](Service& its) { its.Of(id).Kill(); })};
    return {id + " stops", to([id](Service& its) { its.Stop(id); })};
  }
  std::pair<std::string, Happens> Helps(std::string id) {
    const bool paused = trouble_.extract(id).mapped();
    if (!paused) return {id + " starts", Starts(service_, {id})};
    return {id + " goes on", Does([&service = service_, id] { service.Of(id).Resume(); })};
  }

  Service& service_;
  testing::LocalEnsemble& servers_;
  std::mt19937_64 random_;
  std::map<std::string, bool> trouble_;  // whether it is paused, and not gone
  bool server_is_down_ = false;
};

}  // namespace

std::vector<Event> FixedStory(Service& service, testing::LocalEnsemble& servers) {
  return {
      {0, "a, b, c, d start", Starts(service, {"a", "b", "c", "d"})},
      {5, "b is killed", Does([&] { service.Of("b").Kill(); })},
      {14, "e joins", Starts(service, {"e"})},
      {18, "c is paused", Does([&] { service.Of("c").Pause(); })},
      {28, "c goes on", Does([&] { service.Of("c").Resume(); })},
      {34, "a stops", Does([&] { service.Stop("a"); })},
      {39, "the leading server is killed", KillsTheLeader(servers)},
      {48, "all stop", Does([&] { service.StopAll(); })},
  };
}

std::vector<Event> RandomStory(Service& service, testing::LocalEnsemble& servers, uint64_t seed,
                               double minutes) {
  Chance chance(service, servers, seed);
  std::vector<Event> story = {
      {0, "a, b, c, d, e start", Starts(service, {kIds.begin(), kIds.end()})}};
  const double end = minutes * 60;
  for (double at = kFirst; at < end - kQuiet; at += chance.Pause()) {
    auto [text, happens] = chance.Next();
    story.push_back({at, std::move(text), std::move(happens)});
  }
  story.push_back({end - kQuiet, "all are back", chance.HelpsAll()});
  story.push_back({end, "all stop", Does([&service] { service.StopAll(); })});
  return story;
}

}  // namespace zkrecipes::verification
