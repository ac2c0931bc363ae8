// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/testing/in_memory_ensemble.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/session/client/client_core.h"
#include "lib/session/client/client_options.h"
#include "testing/memory/driver.h"
#include "testing/memory/threads.h"

namespace zkrecipes::testing {
namespace {

using internal::ClientCore;
using memory::Host;
using memory::Simulation;
using Network = Host::Network;

constexpr auto kCallbackWait = std::chrono::seconds(1);

memory::ServerTraits TraitsOf(ServerVersion version) {
  switch (version) {
    case ServerVersion::kZooKeeper38:
      return {};
    case ServerVersion::kZooKeeper39:
      return memory::ServerTraits::ZooKeeper39();
    case ServerVersion::kZooKeeper310:
      return memory::ServerTraits::ZooKeeper310();
    case ServerVersion::kClickHouseKeeper:
      return memory::ServerTraits::ClickHouseKeeper();
  }
  return {};
}

memory::ModelOptions ModelOf(const InMemoryEnsembleOptions& options) {
  return {.servers = options.servers,
          .tick = options.tick,
          .min_session_timeout = options.min_session_timeout,
          .max_session_timeout = options.max_session_timeout,
          .container_check_interval = options.container_check_interval,
          .traits = TraitsOf(options.version)};
}

// No step of AdvanceUntil is longer than this part of its bound, lest that be reached while a
// thread is on its way to a wait of its own.
constexpr int kSteps = 64;
constexpr absl::Duration kLongestAdvance = absl::Hours(24 * 365);

}  // namespace

class InMemoryEnsemble::Impl {
 public:
  explicit Impl(const InMemoryEnsembleOptions& options)
      : manual_(options.manual), driver_(ModelOf(options), options.seed, !options.manual) {
    Do([this](Simulation& simulation) { begin_ = simulation.now(); });
  }

  ~Impl() { CloseAll(); }

  // Between two settled states.
  void Do(const memory::Driver::Work& work) {
    Settle();
    driver_.Do(work);
    Settle();
  }

  // Returns ask(simulation), called in a settled state.
  template <typename Ask>
  auto Get(Ask ask) {
    std::invoke_result_t<Ask, Simulation&> answer{};
    Do([&](Simulation& simulation) { answer = ask(simulation); });
    return answer;
  }

  void Set(const Client& client, Network network) {
    DoFor(client, [network](Simulation&, Host& host) { host.set_network(network); });
  }
  void SetPaused(const Client& client, bool paused) {
    DoFor(client, [paused](Simulation&, Host& host) { host.set_paused(paused); });
  }

  void DoFor(const Client& client, const std::function<void(Simulation&, Host&)>& work) {
    Do([&](Simulation& simulation) {
      for (const Known& known : clients_) {
        if (known.core.lock().get() != internal::ClientAccess::Core(client).get()) continue;
        work(simulation, *known.host);
      }
    });
  }

  // A client that has not begun to connect. An empty `options.servers` means all of them.
  absl::StatusOr<std::shared_ptr<ClientCore>> NewCore(ClientOptions options, Network network);
  absl::StatusOr<std::shared_ptr<Client>> Connect(const std::shared_ptr<ClientCore>& core,
                                                  const WaitOptions& wait);
  void Advance(absl::Duration by);
  bool AdvanceUntil(const std::function<bool()>& predicate, absl::Duration at_most);
  base::BootTime begin() const { return begin_; }

 private:
  struct Known {
    std::weak_ptr<ClientCore> core;
    std::shared_ptr<Host> host;
  };

  void Settle() {
    SettleCallbacks();
    if (blocked_->LetGo(kCallbackWait)) SettleCallbacks();
  }
  // Requests made in callbacks may call more of them.
  void SettleCallbacks() {
    driver_.Do([](Simulation&) {});
    while (!executor_->idle() && executor_->WaitUntilIdle(kCallbackWait)) {
      driver_.Do([](Simulation&) {});
    }
  }

  base::BootTime Now();
  bool Run(base::BootTime until, const std::function<bool()>& enough);
  void CloseAll();

  const bool manual_;
  const std::shared_ptr<memory::CountingExecutor> executor_ =
      std::make_shared<memory::CountingExecutor>();
  const std::shared_ptr<memory::BlockedThreads> blocked_ =
      std::make_shared<memory::BlockedThreads>();
  base::BootTime begin_;
  std::vector<Known> clients_;  // of the simulation's thread
  memory::Driver driver_;
};

absl::StatusOr<std::shared_ptr<ClientCore>> InMemoryEnsemble::Impl::NewCore(ClientOptions options,
                                                                            Network network) {
  if (!manual_ && options.executor == nullptr) options.executor = executor_;
  absl::StatusOr<std::shared_ptr<ClientCore>> core;
  driver_.Do([&](Simulation& simulation) {
    if (options.servers.empty()) options.servers = simulation.servers();
    const absl::Status bad = session::client::CheckClientOptions(options).status();
    if (!bad.ok()) {
      core = bad;
      return;
    }
    const std::shared_ptr<Host> host = simulation.AddHost();
    host->set_network(network);
    core = simulation.NewClient(host, options, blocked_);
    std::erase_if(clients_, [](const Known& known) { return known.core.expired(); });
    clients_.push_back({*core, host});
  });
  return core;
}

absl::StatusOr<std::shared_ptr<Client>> InMemoryEnsemble::Impl::Connect(
    const std::shared_ptr<ClientCore>& core, const WaitOptions& wait) {
  if (!manual_) return internal::ClientAccess::Connect(core, wait);
  auto client = internal::ClientAccess::Wrap(core);
  auto status = std::make_shared<absl::Status>(absl::UnavailableError(
      absl::StrCat("connect to ", core->options().servers, ": no session without time going on")));
  core->Start([status](const absl::Status& connected) { *status = connected; });
  driver_.Do([](Simulation&) {});
  if (!status->ok()) return *status;
  return client;
}

base::BootTime InMemoryEnsemble::Impl::Now() {
  base::BootTime now;
  driver_.Do([&](Simulation& simulation) { now = simulation.now(); });
  return now;
}

// Advances the clock from one moment at which something is due to the next, to `until` at the
// latest, as long as there is not `enough`. Returns whether it has come there.
bool InMemoryEnsemble::Impl::Run(base::BootTime until, const std::function<bool()>& enough) {
  bool there = false;
  driver_.Do([&](Simulation& simulation) {
    do {
      const base::BootTime now = simulation.now();
      const base::BootTime due = std::min(simulation.NextDeadline(), blocked_->NextAfter(now));
      const base::BootTime next = std::max(now, due);
      there = next > until;
      simulation.SetTime(std::min(next, until));
      simulation.RunUntilIdle();
    } while (!there && !enough());
  });
  Settle();
  return there;
}

void InMemoryEnsemble::Impl::Advance(absl::Duration by) {
  Settle();
  const base::BootTime until = Now() + std::clamp(by, absl::ZeroDuration(), kLongestAdvance);
  // Callbacks happen at their time, and so do the ends of waits: as soon as there is one it is seen
  // to.
  while (!Run(until, [this] { return !executor_->idle() || blocked_->AnyIsOver(); })) {
  }
}

bool InMemoryEnsemble::Impl::AdvanceUntil(const std::function<bool()>& predicate,
                                          absl::Duration at_most) {
  Settle();
  const absl::Duration bound = std::min(at_most, kLongestAdvance);
  const base::BootTime begin = Now();
  memory::Patience patience;
  bool seen = false;
  while (true) {
    const absl::Duration used = Now() - begin;
    seen = manual_ ? predicate() : patience.Sees(predicate, absl::FDivDuration(used, bound));
    if (seen || used >= bound) break;
    Run(begin + std::min(bound, used + bound / kSteps), [] { return true; });
  }
  return seen;
}

// Nothing may be left that waits for the ensemble.
void InMemoryEnsemble::Impl::CloseAll() {
  driver_.Do([this](Simulation& simulation) {
    for (int i = 0; i < simulation.ensemble().servers(); ++i)
      simulation.ensemble().Heal(i, simulation.now());
    for (const Known& known : clients_) {
      known.host->set_paused(false);
      known.host->set_network(Network::kUp);
      if (const auto core = known.core.lock()) {
        core->Close(std::make_shared<base::OneShot<absl::Status>>());
      }
    }
  });
  bool open = true;
  while (open) {
    driver_.Do([&](Simulation& simulation) {
      open = std::any_of(clients_.begin(), clients_.end(), [](const Known& known) {
        return !known.core.expired() && !known.host->stopped();
      });
      if (open) simulation.RunUntil(simulation.now() + absl::Seconds(1));
    });
  }
  Settle();
}

InMemoryEnsemble::InMemoryEnsemble(const InMemoryEnsembleOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

InMemoryEnsemble::~InMemoryEnsemble() = default;

std::string InMemoryEnsemble::servers() const {
  return impl_->Get([](Simulation& simulation) { return simulation.servers(); });
}

absl::StatusOr<std::shared_ptr<Client>> InMemoryEnsemble::Connect(ClientOptions options,
                                                                  const WaitOptions& wait) {
  if (absl::Status status = session::client::CheckWaitOptions(wait); !status.ok()) return status;
  const auto core = impl_->NewCore(std::move(options), Network::kUp);
  return core.ok() ? impl_->Connect(*core, wait) : core.status();
}

absl::StatusOr<std::shared_ptr<Client>> InMemoryEnsemble::CreateClient(ClientOptions options) {
  const auto core = impl_->NewCore(std::move(options), Network::kDown);
  if (!core.ok()) return core.status();
  (*core)->Start([](const absl::Status&) {});
  return internal::ClientAccess::Wrap(*core);
}

void InMemoryEnsemble::Advance(Duration by) { impl_->Advance(by); }

bool InMemoryEnsemble::AdvanceUntil(const std::function<bool()>& predicate, Duration at_most) {
  return impl_->AdvanceUntil(predicate, at_most);
}

absl::Duration InMemoryEnsemble::Elapsed() {
  return impl_->Get([this](Simulation& simulation) { return simulation.now() - impl_->begin(); });
}

void InMemoryEnsemble::RunUntilIdle() {
  impl_->Do([](Simulation&) {});
}

void InMemoryEnsemble::Disconnect(const Client& client) { impl_->Set(client, Network::kDown); }
void InMemoryEnsemble::Reconnect(const Client& client) { impl_->Set(client, Network::kUp); }
void InMemoryEnsemble::Silence(const Client& client) { impl_->Set(client, Network::kSilent); }
void InMemoryEnsemble::HoldReplies(const Client& client) { impl_->Set(client, Network::kDeaf); }
void InMemoryEnsemble::Pause(const Client& client) { impl_->SetPaused(client, true); }
void InMemoryEnsemble::Resume(const Client& client) { impl_->SetPaused(client, false); }

void InMemoryEnsemble::Expire(const Client& client) {
  impl_->DoFor(client, [&client](Simulation& simulation, Host&) {
    simulation.ensemble().Expire(client.session_id(), simulation.now());
  });
}

void InMemoryEnsemble::ChangeLeader() {
  impl_->Do([](Simulation& simulation) {
    memory::ModelEnsemble& ensemble = simulation.ensemble();
    ensemble.ElectLeader((ensemble.leader() + 1) % ensemble.servers(), ensemble.proposals(),
                         simulation.now());
  });
}

bool InMemoryEnsemble::Delete(const std::string& path) {
  return impl_->Get([&](Simulation& simulation) {
    return simulation.ensemble().OperatorDeletes(path, simulation.now());
  });
}

bool InMemoryEnsemble::Create(const std::string& path, const std::string& data) {
  return impl_->Get([&](Simulation& simulation) {
    return simulation.ensemble().OperatorCreates(path, {.data = data}, simulation.now());
  });
}

bool InMemoryEnsemble::UseUpNumbers(const std::string& path) {
  return impl_->Get([&](Simulation& simulation) {
    if (!simulation.ensemble().committed().nodes().contains(path)) return false;
    // Not the very last: a contender that is refused takes one, too.
    simulation.ensemble().SetNextSequence(path, std::numeric_limits<int32_t>::max() - 1024);
    return true;
  });
}

std::vector<std::string> InMemoryEnsemble::Paths() { return Paths("/"); }

std::vector<std::string> InMemoryEnsemble::Paths(const std::string& path) {
  const std::string prefix = absl::EndsWith(path, "/") ? path : path + "/";
  return impl_->Get([&prefix](Simulation& simulation) {
    std::vector<std::string> paths;
    for (const auto& [found, node] : simulation.ensemble().committed().nodes()) {
      if (found.size() > 1 && absl::StartsWith(found, prefix)) paths.push_back(found);
    }
    return paths;
  });
}

size_t InMemoryEnsemble::watches() {
  return impl_->Get([](Simulation& simulation) { return simulation.ensemble().watches(); });
}

}  // namespace zkrecipes::testing
