// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/register.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/own_node/own_node_turns.h"
#include "zkrecipes/guarded_write.h"

namespace zkrecipes::schedules {

using testing::memory::Transaction;

namespace {

constexpr char kRegister[] = "/register";
constexpr char kWritten[] = "/written-";  // and the number

std::string NameOf(size_t number) { return absl::StrCat("write ", number); }

}  // namespace

void Register::Create(base::BootTime now) {
  (void)model_.OperatorCreates(kRegister, {}, now);
  model_.Spread();
}

void Register::Read(const Transaction& change) {
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
  writes_.push_back(write);
  write->turn =
      queue::own_node::Write(lease, job, {}, [weak = weak_from_this(), write](absl::Status status) {
        if (const auto self = weak.lock()) self->OnAnswer(write, status);
      });
}

std::shared_ptr<Register::Attempt> Register::LastOpen(int64_t czxid) const {
  const auto its = [&](const auto& write) {
    return write->lease->node_czxid() == czxid && !write->ended;
  };
  const auto it = std::find_if(writes_.rbegin(), writes_.rend(), its);
  return it == writes_.rend() ? nullptr : *it;
}

void Register::GiveUp(int64_t czxid) { LastOpen(czxid)->turn->TimeOut(); }

void Register::OnAnswer(const std::shared_ptr<Attempt>& write, const absl::Status& status) {
  if (write->ended) return;
  write->ended = true;
  if (!MayBeWritten(status)) write->told = status.ok();
  follow_();
  const bool given_up = absl::IsDeadlineExceeded(status);
  if (!status.ok() && !given_up) {
    CheckRefusal(write->core, *write->lease, status, NameOf(write->number));
  }
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

void Register::CheckWrites() const {
  for (const auto& write : writes_) {
    if (!write->ended && closed_.count(write->core) == 0) {
      break_("never answered", NameOf(write->number));
    }
    CheckTruth(*write);
  }
}

}  // namespace zkrecipes::schedules
