// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/simulation.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/session/client/client_options.h"

namespace zkrecipes::testing::memory {

Simulation::Simulation(const ModelOptions& options, uint64_t seed, std::function<void()> wake)
    : ensemble_(std::make_shared<ModelEnsemble>(options)), wake_(std::move(wake)), seed_(seed) {}

Simulation::~Simulation() {
  LetThemClose();
  for (const auto& host : hosts_) host->Abandon();
}

// A client that is no longer held frees itself when its session is closed, which takes a session
// timeout at most. One that is still held has to be abandoned.
void Simulation::LetThemClose() {
  constexpr absl::Duration kLongestClose = absl::Minutes(1);  // the longest session timeout
  for (const auto& host : hosts_) {
    host->Mute();
    host->set_paused(false);
  }
  const base::BootTime until = now() + kLongestClose;
  const auto all_stopped = [this] {
    return std::all_of(hosts_.begin(), hosts_.end(),
                       [](const auto& host) { return host->stopped(); });
  };
  RunUntilIdle();
  while (!all_stopped() && NextDeadline() <= until) RunToNextDeadline();
}

std::shared_ptr<Host> Simulation::AddHost() {
  hosts_.push_back(std::make_shared<Host>(ensemble_, clock_, seed_, wake_));
  seed_ = hosts_.back()->Random();
  return hosts_.back();
}

std::shared_ptr<internal::ClientCore> Simulation::NewClient(
    const std::shared_ptr<Host>& host, ClientOptions options,
    const std::shared_ptr<base::WaitObserver>& waits) {
  if (options.servers.empty()) options.servers = servers();
  auto list = session::client::CheckClientOptions(options);
  assert(list.ok());
  internal::Environment environment;
  environment.reactor = host;
  environment.factory = host;
  environment.resolver = host;
  environment.stop = [host] { host->Stop(); };
  environment.waits = waits;
  environment.leaders_moment = waits == nullptr;
  environment.clock_check = absl::Milliseconds(1);
  environment.destructor_waits = absl::ZeroDuration();
  if (options.executor == nullptr) options.executor = host;
  return internal::ClientCore::CreateIn(std::move(environment), std::move(options),
                                        *std::move(list));
}

std::string Simulation::servers() const {
  std::string list;
  for (int i = 0; i < ensemble_->servers(); ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ",", "memory-", i, ":2181");
  }
  return list;
}

// ---- steps --------------------------------------------------------------------------------------

bool Simulation::IsSilent(ConnectionId connection) const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [connection](const auto& host) { return host->Silences(connection); });
}

void Simulation::ListSteps(std::vector<Step>& steps) {
  using enum Step::Kind;
  for (uint32_t i = 0; i < hosts_.size(); ++i) {
    Host& host = *hosts_[i];
    if (host.CanRunTask()) steps.push_back({kTask, i});
    if (host.CanDeliver()) steps.push_back({kDeliver, i});
    if (host.CanRunTimer()) steps.push_back({kTimer, i});
    const size_t callbacks = host.callbacks();
    for (uint32_t c = 0; c < callbacks; ++c) steps.push_back({kCallback, i, c});
  }
  ensemble_->ForEachConnection([&](ConnectionId id) {
    if (ensemble_->CanExecute(id) && !IsSilent(id)) steps.push_back({kExecute, id});
  });
  if (ensemble_->CanCommit()) steps.push_back({kCommit});
  for (int i = 0; i < ensemble_->servers(); ++i) {
    if (ensemble_->CanApply(i)) steps.push_back({kApply, static_cast<uint32_t>(i)});
  }
  if (NextDeadline() < base::BootTime::InfiniteFuture()) steps.push_back({kAdvance});
}

void Simulation::Run(const Step& step) {
  using enum Step::Kind;
  switch (step.kind) {
    case kTask:
      return hosts_[step.who]->RunTask();
    case kDeliver:
      return hosts_[step.who]->Deliver();
    case kTimer:
      return hosts_[step.who]->RunTimer();
    case kCallback:
      return hosts_[step.who]->RunCallback(step.which);
    case kExecute:
      return ensemble_->Execute(step.who, now());
    case kCommit:
      return ensemble_->Commit();
    case kApply:
      return ensemble_->Apply(static_cast<int>(step.who));
    case kAdvance:
      return SetTime(std::max(now(), NextDeadline()));
  }
}

base::BootTime Simulation::NextDeadline() {
  base::BootTime next = base::BootTime::InfiniteFuture();
  for (const auto& host : hosts_) {
    if (!host->paused()) next = std::min(next, host->NextTimer());
  }
  return ensemble_->NextDeadline(next);
}

void Simulation::SetTime(base::BootTime now) {
  clock_->Set(now);
  ensemble_->Tick(now);
}

// ---- running on ---------------------------------------------------------------------------------

bool Simulation::RunHosts() {
  bool any = false;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = *hosts_[i];
    for (; host.CanRunTask(); any = true) host.RunTask();
    for (; host.CanDeliver(); any = true) host.Deliver();
    for (; host.CanRunTimer(); any = true) host.RunTimer();
    for (; host.callbacks() > 0; any = true) host.RunCallback(0);
  }
  return any;
}

bool Simulation::RunEnsemble() {
  bool any = false;
  for (ConnectionId id = 0; (id = ensemble_->NextToExecute(id)) != 0;) {
    if (IsSilent(id)) continue;
    ensemble_->Execute(id, now());
    any = true;
  }
  for (; ensemble_->CanCloseDue(); any = true) ensemble_->CloseDue();
  for (; ensemble_->CanCommit(); any = true) ensemble_->Commit();
  for (int i = 0; i < ensemble_->servers(); ++i) {
    for (; ensemble_->CanApply(i); any = true) ensemble_->Apply(i);
  }
  return any;
}

void Simulation::RunUntilIdle() {
  for (bool hosts = true, ensemble = true; hosts || ensemble;) {
    hosts = RunHosts();
    // Once it had nothing to do, only what hosts do gives it more.
    if (hosts || ensemble) ensemble = RunEnsemble();
  }
  // Hosts that are closed and that nothing else refers to.
  std::erase_if(hosts_, [](const auto& host) { return host->stopped() && host.use_count() == 1; });
}

void Simulation::RunToNextDeadline() {
  SetTime(std::max(now(), NextDeadline()));
  RunUntilIdle();
}

void Simulation::RunUntil(base::BootTime when) {
  RunUntilIdle();
  while (NextDeadline() <= when) RunToNextDeadline();
  SetTime(when);
  RunUntilIdle();
}

}  // namespace zkrecipes::testing::memory
