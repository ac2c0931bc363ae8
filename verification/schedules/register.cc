// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/register.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/own_node/own_node_writing.h"
#include "lib/queue/own_node/write_status.h"

namespace zkrecipes::schedules {

using testing::memory::Transaction;

namespace {

constexpr char kRegister[] = "/register";
constexpr char kWritten[] = "/written-";  // and the number

std::string NameOf(size_t number) { return absl::StrCat("write ", number); }

}  // namespace

void Register::Create(base::BootTime now) {
  (void)model_.OperatorCreates(kRegister, {}, now);
  model_.Commit();
  for (int i = 0; i < model_.servers(); ++i) {
    while (model_.CanApply(i)) model_.Apply(i);
  }
}

void Register::Follow() {
  const auto& history = model_.history();
  for (; read_ < history.size(); ++read_) {
    ForEachChange(history[read_], [this](const Transaction& change) { Read(change); });
  }
}

void Register::Read(const Transaction& change) {
  denied_ |= change.kind == Transaction::Kind::kSetAcl;
  const bool written =
      change.kind == Transaction::Kind::kSetData && change.path == kRegister && change.session != 0;
  size_t number = 0;
  if (!written || !absl::SimpleAtoi(change.node.data, &number)) return;
  Attempt& write = *writes_[number];
  if (++write.committed > 1) break_("written twice", NameOf(number));
  // The guard: from the end of its node on another may have been granted the lock.
  if (!queue_.WasThereAt(write.lease->node_czxid(), change.zxid)) {
    break_("written after its lease", NameOf(number));
  }
  CheckTruth(write);
}

void Register::Write(const Core& core, const std::shared_ptr<internal::LeaseState>& lease) {
  auto write =
      std::make_shared<Attempt>(Attempt{.core = core, .lease = lease, .number = writes_.size()});
  queue::own_node::WriteJob job{"write", lease->NewMark()};
  const std::string number = absl::StrCat(write->number);
  job.ops = {zk::SetData{kRegister, number, -1}, zk::Create{kWritten + number, ""}};
  write->turn =
      queue::own_node::NewTurn(lease, job, [weak = weak_from_this(), write](absl::Status status) {
        if (const auto self = weak.lock()) self->OnAnswer(write, status);
      });
  writes_.push_back(write);
  lease->turns().Add(write->turn);
}

std::shared_ptr<Register::Attempt> Register::LastOpen(int64_t czxid) const {
  const auto its = [&](const auto& write) {
    return write->lease->node_czxid() == czxid && !write->ended;
  };
  const auto it = std::find_if(writes_.rbegin(), writes_.rend(), its);
  return it == writes_.rend() ? nullptr : *it;
}

void Register::GiveUp(int64_t czxid) {
  const std::shared_ptr<Attempt> write = LastOpen(czxid);
  write->ended = true;
  if (!write->turn->Abandon()) write->told = false;
  follow_();
  CheckTruth(*write);
}

void Register::OnAnswer(const std::shared_ptr<Attempt>& write, const absl::Status& status) {
  if (write->ended) return;
  write->ended = true;
  if (!queue::own_node::IsUncertain(status)) write->told = status.ok();
  follow_();
  if (!status.ok()) CheckRefusal(*write, status);
  CheckTruth(*write);
  if (status.ok() && write->committed == 0) {
    break_("written though it is not", NameOf(write->number));
  }
}

void Register::CheckTruth(const Attempt& write) const {
  if (write.ended && write.told == false && write.committed > 0) {
    break_("not written though it is", NameOf(write.number));
  }
}

void Register::CheckRefusal(const Attempt& write, const absl::Status& status) const {
  bool holds = model_.SessionLives(write.core->session_id()) && write.lease->CheckAlive("").ok();
  const std::string path = write.core->name_space().ToServer(write.lease->sequencer().node);
  for (int i = 0; i < model_.servers(); ++i) {
    const auto* node = model_.tree(i).Find(path);
    holds &= node != nullptr && node->czxid == write.lease->node_czxid() &&
             node->owner == write.core->session_id();
  }
  const bool explained = (absl::IsAborted(status) && !holds) || absl::IsUnavailable(status) ||
                         (closed_.count(write.core) > 0 && absl::IsFailedPrecondition(status)) ||
                         (denied_ && absl::IsPermissionDenied(status)) ||
                         (model_.refused_some() && absl::IsResourceExhausted(status));
  if (!explained) {
    break_("unexpected answer", absl::StrCat(NameOf(write.number), ": ", status.ToString()));
  }
}

void Register::CheckWrites() const {
  for (const auto& write : writes_) {
    if (!write->ended && closed_.count(write->core) == 0) {
      break_("never answered", NameOf(write->number));
    }
    CheckTruth(*write);
  }
}

}  // namespace zkrecipes::schedules
