// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/partitions.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/process.h"
#include "lib/queue/call/ask.h"
#include "lib/queue/call/call.h"
#include "recipes/partitions/runner.h"
#include "recipes/partitions/workers.h"

namespace zkrecipes {

using internal::PartitionRunner;
using internal::PartitionsCore;
using internal::PartitionState;
using queue::call::Done;

namespace {

queue::call::Start<absl::Status> Over(const std::shared_ptr<PartitionRunner>& runner) {
  return {
      runner->core().shared_from_this(),
      [runner](const WaitOptions& wait, Done<absl::Status>& done) -> queue::call::Begun {
        auto call = queue::call::NewCall<absl::Status>(
            runner->core().shared_from_this(), wait, std::move(done), [](bool cancelled) {
              return absl::Status(
                  cancelled ? absl::StatusCode::kCancelled : absl::StatusCode::kDeadlineExceeded,
                  "leave: work has not ended, or a deletion was not confirmed; it goes on in "
                  "the background");
            });
        runner->WhenOver([call](absl::Status status) { call->Settle(std::move(status)); });
        call->HeedCancel(wait.cancel);
        return call;
      }};
}

}  // namespace

// ---- OwnedPartition -----------------------------------------------------------------------------

namespace {

void Drop(std::shared_ptr<PartitionState> state) {
  if (state == nullptr) return;
  if (!state->runner->core().InHomeProcess()) return base::Leak(std::move(state));
  PartitionRunner& runner = *state->runner;
  runner.Return(std::move(state));
}

}  // namespace

OwnedPartition::OwnedPartition(std::shared_ptr<PartitionState> state) : state_(std::move(state)) {}

OwnedPartition& OwnedPartition::operator=(OwnedPartition&& other) noexcept {
  if (this != &other) Drop(std::exchange(state_, std::move(other.state_)));
  return *this;
}

OwnedPartition::~OwnedPartition() { Drop(std::move(state_)); }

const std::string& OwnedPartition::name() const { return state_->name; }
const Lease& OwnedPartition::lease() const { return state_->lease; }
std::stop_token OwnedPartition::end() const { return state_->end(); }
std::optional<PartitionEnd> OwnedPartition::end_reason() const { return state_->reason(); }

std::ostream& operator<<(std::ostream& out, PartitionEnd end) {
  switch (end) {
    case PartitionEnd::kAskedBack:
      return out << "asked back";
    case PartitionEnd::kStopping:
      return out << "stopping";
    case PartitionEnd::kLost:
      return out << "lost";
  }
  return out;
}

// ---- Partitions ---------------------------------------------------------------------------------

Partitions::Partitions(std::shared_ptr<Client> client, std::string path,
                       std::vector<std::string> names, PartitionsOptions options)
    : core_(std::make_shared<const PartitionsCore>(std::move(client), std::move(path),
                                                   std::move(names), std::move(options))) {}

namespace {

std::vector<std::string> Numbered(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat(i));
  return names;
}

// The client is open, and there is a thread for what is told.
absl::Status MayStart(const PartitionsCore& of) {
  const auto& core = internal::ClientAccess::Core(*of.client);
  if (!core->InHomeProcess()) return core->CheckMayBlock();
  if (!of.rule.ok()) return of.rule;
  if (of.client->state() == ClientState::kClosed) {
    return absl::FailedPreconditionError("partitions: the client is closed");
  }
  for (const auto what :
       {internal::ClientCore::ThreadFor::kNotices, internal::ClientCore::ThreadFor::kAnswers}) {
    if (absl::Status ready = core->PrepareThread(what); !ready.ok()) return ready;
  }
  return absl::OkStatus();
}

}  // namespace

Partitions::Partitions(std::shared_ptr<Client> client, std::string path, int count,
                       PartitionsOptions options)
    : Partitions(std::move(client), std::move(path), Numbered(count), std::move(options)) {}

absl::Status Partitions::Run(std::stop_token stop, const PartitionWork& work) const {
  const auto core = internal::ClientAccess::Core(*core_->client);
  if (work == nullptr) return absl::InvalidArgumentError("run: there is no work");
  if (absl::Status may = MayStart(*core_); !may.ok()) return may;
  if (absl::Status may = core->CheckMayBlock(); !may.ok()) return may;
  const auto over = std::make_shared<base::OneShot<absl::Status>>();
  internal::Workers workers(work);
  const auto runner =
      PartitionRunner::Begin(core_, {.on_gained = [&](OwnedPartition owned) {
                               const auto its = internal::PartitionMaker::RunnerOf(owned);
                               const absl::Status started = workers.Start(std::move(owned));
                               if (!started.ok()) its->End(started);
                             }});
  runner->WhenOver([over](absl::Status status) { over->Set(std::move(status)); });
  const auto never = base::BootTime::InfiniteFuture();
  std::optional<absl::Status> status = core->Await(*over, never, stop);
  absl::Status left;
  if (!status.has_value()) {
    runner->Drain();
    left = runner->LeaveGroup({.timeout = core->session_timeout()});
    status = core->Await(*over, never);
  }
  runner->Mute();
  return status->ok() ? left : *status;
}

absl::StatusOr<Partitions::Running> Partitions::Start(PartitionEvents events) const {
  if (events.on_gained == nullptr) {
    return absl::InvalidArgumentError("start: there is no receiver of what is gained");
  }
  if (absl::Status may = MayStart(*core_); !may.ok()) return may;
  return Running(PartitionRunner::Begin(core_, std::move(events)));
}

absl::StatusOr<std::vector<Partitions::Assigned>> Partitions::Assignment(
    const WaitOptions& wait) const {
  const auto& core = internal::ClientAccess::Core(*core_->client);
  if (core->InHomeProcess() && !core_->rule.ok()) return core_->rule;
  const base::BootTime deadline =
      core->InHomeProcess() ? core->Now() + wait.timeout : base::BootTime();
  const auto view = core_->group().Members(wait);
  if (!view.ok()) return view.status();
  const std::string homes = core->name_space().ToServer(core_->homes());
  const auto away = queue::call::AskUntilAnswered<zk::Names>(
      *core, "list " + core_->homes(), queue::call::Rest(*core, deadline, wait.cancel),
      [homes](session::Session& session, Done<absl::StatusOr<zk::Names>> done) {
        session.Send(zk::GetChildren{homes},
                     [homes, done = std::move(done)](const zk::Reply& reply) mutable {
                       const bool known =
                           reply.code == zk::Code::kOk || reply.code == zk::Code::kNoNode;
                       if (known) return std::move(done)(reply.children);
                       std::move(done)(queue::call::AskedStatus(reply.code, "list", homes));
                     });
      });
  if (!away.ok()) return away.status();
  const recipes::machine::PartitionPlan plan = core_->Plan(PartitionsCore::PresentIn(*view), *away);
  // Otherwise a wrong count would look like a service without members.
  if (plan.members == 0 && plan.other_lists > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("assignment of ", core_->path,
                     ": its members have another list of names than these ", core_->names.size()));
  }
  std::vector<Assigned> all;
  for (size_t i = 0; i < core_->names.size(); ++i) {
    const size_t owner = plan.assigned[i];
    const bool nobody = owner == recipes::machine::kNobody;
    all.push_back({core_->names[i], nobody ? "" : plan.sharers[owner].id});
  }
  return all;
}

// ---- Running ------------------------------------------------------------------------------------

namespace {

void Abandon(const std::shared_ptr<PartitionRunner>& runner) {
  if (runner == nullptr) return;
  if (!runner->core().InHomeProcess()) return base::Leak(runner);
  runner->End(absl::OkStatus());
  runner->Mute();
}

}  // namespace

Partitions::Running::Running(std::shared_ptr<PartitionRunner> runner)
    : runner_(std::move(runner)) {}

Partitions::Running& Partitions::Running::operator=(Running&& other) noexcept {
  if (this != &other) Abandon(std::exchange(runner_, std::move(other.runner_)));
  return *this;
}

Partitions::Running::~Running() { Abandon(runner_); }

absl::Status Partitions::Running::status() const {
  if (runner_ == nullptr) return absl::OkStatus();
  internal::ClientCore& core = runner_->core();
  return core.InHomeProcess() ? runner_->status() : core.CheckMayBlock();
}

absl::Status Partitions::Running::Leave(const WaitOptions& wait) && {
  if (runner_ == nullptr) return absl::FailedPreconditionError("leave: it was moved from");
  internal::ClientCore& core = runner_->core();
  if (absl::Status may = queue::call::MayBegin(core, wait, /*blocks=*/true); !may.ok()) return may;
  const std::shared_ptr<PartitionRunner> runner = std::exchange(runner_, nullptr);
  const base::BootTime deadline = core.Now() + wait.timeout;
  runner->Drain();
  const absl::Status left = runner->LeaveGroup(wait);
  const absl::Status status =
      Blocking(Over(runner), queue::call::Rest(core, deadline, wait.cancel));
  Abandon(runner);
  return status.ok() ? left : status;
}

}  // namespace zkrecipes
