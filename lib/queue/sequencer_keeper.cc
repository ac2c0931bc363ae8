// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/sequencer_keeper.h"

#include <iterator>
#include <string>

namespace zkrecipes::internal {
namespace {

void TellAll(std::vector<SequencerKeeper::Done> all,
             const absl::StatusOr<SequencerKeeper::Held>& answer) {
  for (SequencerKeeper::Done& done : all) std::move(done)(answer);
}

zk::Watch WatchOf(const Sequencer& sequencer) {
  return {sequencer.name_space + sequencer.node, zk::WatchKind::kNode};
}

}  // namespace

std::shared_ptr<SequencerKeeper> SequencerKeeper::Start(std::shared_ptr<ClientCore> core,
                                                        absl::Duration max_age,
                                                        size_t max_entries) {
  std::shared_ptr<SequencerKeeper> keeper(
      new SequencerKeeper(std::move(core), max_age, max_entries));
  if (!keeper->core_->InHomeProcess()) return keeper;
  keeper->core_->Post([keeper](session::Session* session) { keeper->Begin(session); });
  return keeper;
}

SequencerKeeper::SequencerKeeper(std::shared_ptr<ClientCore> core, absl::Duration max_age,
                                 size_t max_entries)
    : core_(std::move(core)), table_(max_age, max_entries) {}

void SequencerKeeper::Begin(session::Session* session) {
  if (session == nullptr) return OnClosing();
  session_ = session;
  self_ = shared_from_this();
  session_->Join(this);
}

void SequencerKeeper::Stop() {
  core_->Post([self = shared_from_this()](session::Session*) {
    self->End(absl::CancelledError("check: its cache is destroyed"));
  });
}

std::optional<bool> SequencerKeeper::Find(const Sequencer& sequencer) {
  const SequencerTable::Found found = table_.Find(sequencer, core_->Now());
  if (found.renew) {
    core_->Post([self = shared_from_this()](session::Session*) { self->Renew(); });
  }
  return found.holds;
}

// ---- questions -----------------------------------------------------------------------------------

void SequencerKeeper::Ask(const Sequencer& sequencer, Done done) {
  if (!ended_.ok()) return std::move(done)(ended_);
  if (const auto known = table_.Get(sequencer)) {
    if (!known->holds) return std::move(done)(std::nullopt);
    if (IsYoung(known->confirmed)) return std::move(done)(known->confirmed);
    if (known->watched) {
      await_renewal_.emplace_back(sequencer, std::move(done));
      return Renew();
    }
  }
  if (const auto under_way = questions_.find(sequencer); under_way != questions_.end()) {
    return under_way->second->joined.push_back(std::move(done));
  }
  std::vector<Done> asked;
  asked.push_back(std::move(done));
  Send(sequencer, std::move(asked));
}

void SequencerKeeper::Send(const Sequencer& sequencer, std::vector<Done> asked) {
  const auto question = std::make_shared<Question>();
  question->asked = std::move(asked);
  question->sent = core_->reactor()->Now();
  questions_[sequencer] = question;
  queue::AskStanding(
      *session_, sequencer,
      [self = shared_from_this(), sequencer](absl::StatusOr<queue::Standing> standing) {
        self->OnStanding(sequencer, std::move(standing));
      },
      [&] { Watch(sequencer, *question); });
}

// Without room for another watch the answer is remembered just for as long as it is young.
void SequencerKeeper::Watch(const Sequencer& sequencer, Question& question) {
  const zk::Watch watch = WatchOf(sequencer);
  const auto watching = std::make_shared<Watching>();
  watching->bytes =
      session_->watch_budget().Reserve(watch.path.size() + session::PathBudget::kPerWatch);
  if (!watching->bytes) return;
  question.watching = watching;
  watching->id = session_->Watch(
      watch, [watching](const zk::Reply& reply) { watching->armed = reply.code == zk::Code::kOk; },
      [weak = weak_from_this(), sequencer, watching](const std::string&, zk::WatchEvent event) {
        if (const auto self = weak.lock()) self->OnFired(sequencer, watching, event);
      });
}

void SequencerKeeper::OnFired(const Sequencer& sequencer, const std::shared_ptr<Watching>& watching,
                              zk::WatchEvent event) {
  watching->armed = false;
  watching->gone = event == zk::WatchEvent::kDeleted;
  const auto kept = watches_.find(sequencer);
  if (kept == watches_.end() || kept->second != watching) return;  // a question is under way
  watches_.erase(kept);
  if (!watching->gone) return table_.Unwatch(sequencer);
  Unwatch(table_.PutGone(sequencer));
}

void SequencerKeeper::OnStanding(const Sequencer& sequencer,
                                 absl::StatusOr<queue::Standing> standing) {
  if (!ended_.ok()) return;
  const std::shared_ptr<Question> question = std::move(questions_.extract(sequencer).mapped());
  const auto for_all = Settle(sequencer, *question, standing);
  if (for_all.has_value()) {
    TellAll(std::move(question->asked), *for_all);
    return TellAll(std::move(question->joined), *for_all);
  }
  if (!question->joined.empty()) Send(sequencer, std::move(question->joined));
  absl::StatusOr<Held> waits = Held();
  TellAll(std::move(question->asked), standing.ok() ? waits : standing.status());
}

std::optional<absl::StatusOr<SequencerKeeper::Held>> SequencerKeeper::Settle(
    const Sequencer& sequencer, Question& question,
    const absl::StatusOr<queue::Standing>& standing) {
  const std::shared_ptr<Watching> watching = std::move(question.watching);
  const bool gone = watching != nullptr && watching->gone;
  const bool holds = standing.ok() && *standing == queue::Standing::kHolds && !gone;
  const bool watched = holds && watching != nullptr && watching->armed;
  if (watched) {
    watches_[sequencer] = watching;
  } else if (watching != nullptr) {
    session_->Unwatch(WatchOf(sequencer), watching->id);
  }
  if (holds) {
    Unwatch(table_.PutHolding(sequencer, question.sent, watched));
    return Held(question.sent);
  }
  if (gone || (standing.ok() && *standing == queue::Standing::kGone)) {
    Unwatch(table_.PutGone(sequencer));
    return Held();
  }
  if (absl::IsUnavailable(standing.status())) return standing.status();
  return std::nullopt;
}

void SequencerKeeper::Unwatch(const std::optional<Sequencer>& evicted) {
  if (!evicted.has_value()) return;
  const auto kept = watches_.find(*evicted);
  if (kept == watches_.end()) return;
  session_->Unwatch(WatchOf(*evicted), kept->second->id);
  watches_.erase(kept);
}

// ---- renewal -------------------------------------------------------------------------------------

void SequencerKeeper::Renew() {
  if (!ended_.ok() || renewing_) return;
  renewing_ = true;
  session_->Send(session_->CommittedBarrier(),
                 [self = shared_from_this(), sent = core_->reactor()->Now()](const zk::Reply& r) {
                   self->OnRenewal(sent, r.code == zk::Code::kNoNode);
                 });
}

void SequencerKeeper::OnRenewal(base::BootTime sent, bool committed) {
  renewing_ = false;
  if (!ended_.ok()) return;
  committed ? table_.Renewed(sent) : table_.NotRenewed(core_->reactor()->Now());
  for (auto& [sequencer, done] : std::exchange(await_renewal_, {})) {
    const auto known = table_.Get(sequencer);
    if (!committed) {
      std::move(done)(absl::UnavailableError("the quorum has confirmed nothing"));
    } else if (known.has_value() && known->watched) {
      std::move(done)(known->confirmed);
    } else {
      Ask(sequencer, std::move(done));
    }
  }
}

// ---- the end -------------------------------------------------------------------------------------

void SequencerKeeper::OnExpired() {
  watches_.clear();
  table_.UnwatchAll();
}

void SequencerKeeper::OnClosing() { End(absl::FailedPreconditionError("the client is closed")); }

void SequencerKeeper::End(absl::Status why) {
  if (!ended_.ok()) return;
  const std::shared_ptr<SequencerKeeper> alive = std::move(self_);
  ended_ = std::move(why);
  table_.Clear();
  for (auto& [sequencer, question] : std::exchange(questions_, {})) {
    if (question->watching != nullptr)
      session_->Unwatch(WatchOf(sequencer), question->watching->id);
    TellAll(std::move(question->asked), ended_);
    TellAll(std::move(question->joined), ended_);
  }
  for (auto& [sequencer, done] : std::exchange(await_renewal_, {})) std::move(done)(ended_);
  for (auto& [sequencer, watching] : std::exchange(watches_, {})) {
    session_->Unwatch(WatchOf(sequencer), watching->id);
  }
  if (session_ != nullptr) std::exchange(session_, nullptr)->Part(this);
}

}  // namespace zkrecipes::internal
