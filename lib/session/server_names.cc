// SPDX-License-Identifier: Apache-2.0

#include "lib/session/server_names.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "lib/base/mutex.h"

namespace zkrecipes::session {
namespace {

// Answers come on any thread. Those that come together are one task.
class Answers {
 public:
  // True: it is the first, so a task is to take it.
  bool Add(zk::ListedServer answer) {
    base::MutexLock lock(mutex_);
    list_.push_back(std::move(answer));
    return list_.size() == 1;
  }
  std::vector<zk::ListedServer> Take() {
    base::MutexLock lock(mutex_);
    return std::exchange(list_, {});
  }

 private:
  base::Mutex mutex_;
  std::vector<zk::ListedServer> list_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

ServerNames::ServerNames(std::shared_ptr<zk::Reactor> reactor, Owner* owner,
                         std::shared_ptr<zk::loop::Resolver> resolver)
    : reactor_(std::move(reactor)), owner_(owner), resolver_(std::move(resolver)) {}

void ServerNames::LookUp(const std::vector<zk::ServerAddress>& servers,
                         absl::Duration session_timeout) {
  latest_ = session::LookUp(servers);
  patience_ = std::min(session_timeout / 10, absl::Seconds(1));
  // An answer may come after this object is destroyed: hence the task.
  resolver_->Resolve(
      servers, [this, number = ++number_, reactor = reactor_, alive = std::weak_ptr<char>(alive_),
                answers = std::make_shared<Answers>()](zk::ListedServer answer) {
        if (!answers->Add(std::move(answer))) return;
        reactor->Post([this, number, alive, answers] {
          const std::vector<zk::ListedServer> all = answers->Take();
          if (!alive.expired() && number == number_) OnAnswers(all);
        });
      });
  // Without a handle, no session can begin before an answer, unless addresses are known.
  if (owner_->NeedsAddresses() && !known_.addresses.empty()) Expect();
}

// A name server may be mute: the names that are known are used without the others.
void ServerNames::Expect() {
  reactor_->CallAt(reactor_->Now() + patience_,
                   [this, number = number_, alive = std::weak_ptr<char>(alive_)] {
                     if (!alive.expired() && number == number_ && !latest_.complete()) Take();
                   });
}

void ServerNames::OnAnswers(const std::vector<zk::ListedServer>& answers) {
  for (const zk::ListedServer& answer : answers) latest_.Add(answer);
  latest_.complete() ? Take() : Expect();
}

void ServerNames::Take() {
  zk::Resolution known = KeepingKnown(known_, latest_.listed(), resolver_->Order());
  const bool complete = latest_.complete();
  const bool helps = owner_->NeedsAddresses() ? !known.addresses.empty() : latest_.useful();
  if (helps) {
    known_ = std::move(known);
    return owner_->OnNamesKnown(complete, complete && latest_.unsure());
  }
  if (complete) owner_->OnNamesFailed(latest_.Failure());
}

}  // namespace zkrecipes::session
