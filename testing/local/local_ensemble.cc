// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/testing/local_ensemble.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "lib/base/process.h"
#include "testing/local/four_letter_word.h"
#include "testing/local/guard.h"
#include "testing/local/member.h"
#include "testing/local/options.h"
#include "testing/local/quorum.h"
#include "testing/local/server_command.h"
#include "testing/local/server_files.h"
#include "testing/local/server_log.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::testing {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(25);
constexpr absl::Duration kModeTimeout = absl::Milliseconds(500);
constexpr absl::Duration kWordTimeout = absl::Seconds(3);

}  // namespace

class LocalEnsemble::Impl {
 public:
  Impl(const LocalEnsembleOptions& options, std::string directory, std::unique_ptr<Guard> guard)
      : options_(options), directory_(std::move(directory)), guard_(std::move(guard)) {}

  // New ports, new files, new processes; waits until all serve. At a failure nothing runs any more.
  absl::Status StartAll();
  bool PortTaken() const;

  absl::StatusOr<Member*> Find(int i) const;
  QuorumView Look() const;
  absl::Status WaitFor(absl::Duration timeout, bool (QuorumView::*holds)() const) const;

  const std::string& directory() const { return directory_; }
  const std::vector<ServerSpec>& specs() const { return specs_; }
  bool IsThisProcess() const { return home_.IsThisProcess(); }
  void TakeCharge(WorkDirectory directory) { owned_.emplace(std::move(directory)); }

 private:
  absl::Status LaunchAll();
  absl::Status WaitForStart() const;

  const LocalEnsembleOptions options_;
  const std::string directory_;
  const base::HomeProcess home_;
  std::optional<WorkDirectory> owned_;  // goes last: the servers write there
  const std::unique_ptr<Guard> guard_;
  std::vector<ServerSpec> specs_;
  std::vector<std::unique_ptr<Member>> members_;
};

absl::Status LocalEnsemble::Impl::StartAll() {
  absl::StatusOr<std::vector<ServerSpec>> specs = NewServerSpecs(options_, directory_);
  if (!specs.ok()) return specs.status();
  specs_ = *std::move(specs);
  std::error_code ignored;
  for (const ServerSpec& spec : specs_) std::filesystem::remove_all(spec.directory, ignored);
  absl::Status status = WriteServerFiles(options_, specs_);
  if (status.ok()) status = LaunchAll();
  if (status.ok()) status = WaitForStart();
  if (!status.ok()) members_.clear();
  return status;
}

absl::Status LocalEnsemble::Impl::LaunchAll() {
  for (const ServerSpec& spec : specs_) {
    members_.push_back(std::make_unique<Member>(options_, spec, guard_->group()));
    if (absl::Status status = members_.back()->Launch(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status LocalEnsemble::Impl::WaitForStart() const {
  const absl::Time deadline = absl::Now() + options_.start_timeout;
  for (QuorumView view = Look(); !view.AllServe(); view = Look()) {
    for (const auto& member : members_) {
      if (absl::Status status = member->CheckAlive(); !status.ok()) return status;
      if (!LogSaysPortTaken(member->spec())) continue;
      return absl::UnavailableError(absl::StrCat("another process took a port of the server at ",
                                                 member->spec().Address(), ".",
                                                 LogForMessage(member->spec())));
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "not all servers serve after %s (%s).%s", absl::FormatDuration(options_.start_timeout),
          view.Describe(), LogForMessage(specs_[view.FirstNotServing()])));
    }
    absl::SleepFor(kPollInterval);
  }
  return absl::OkStatus();
}

absl::Status LocalEnsemble::Impl::WaitFor(absl::Duration timeout,
                                          bool (QuorumView::*holds)() const) const {
  QuorumView view;
  const absl::Status status = WaitForView([&] { return view = Look(); }, holds, timeout);
  if (status.ok()) return status;
  const ServerSpec& missing = specs_[view.FirstNotServing()];
  return absl::Status(status.code(), absl::StrCat(status.message(), ".", LogForMessage(missing)));
}

bool LocalEnsemble::Impl::PortTaken() const {
  return std::any_of(specs_.begin(), specs_.end(), LogSaysPortTaken);
}

absl::StatusOr<Member*> LocalEnsemble::Impl::Find(int i) const {
  if (i >= 0 && i < static_cast<int>(members_.size())) return members_[i].get();
  return absl::InvalidArgumentError(
      absl::StrFormat("no member %d: this ensemble has 0 to %d", i, members_.size() - 1));
}

QuorumView LocalEnsemble::Impl::Look() const {
  QuorumView view;
  for (const auto& member : members_) {
    view.modes.push_back(member->state() == MemberState::kRunning
                             ? AskMode(member->spec().Address(), kModeTimeout)
                             : ServerMode::kNoAnswer);
  }
  return view;
}

LocalEnsemble::LocalEnsemble(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LocalEnsemble::~LocalEnsemble() {
  // In a forked child the servers, and the directory, are still the parent's.
  if (!impl_->IsThisProcess()) static_cast<void>(impl_.release());
}

absl::StatusOr<std::unique_ptr<LocalEnsemble>> LocalEnsemble::Start(LocalEnsembleOptions options) {
  absl::Status status = CheckOptions(options);
  if (status.ok()) status = ServerCommand(options, ServerSpec()).status();
  if (!status.ok()) return status;
  absl::StatusOr<WorkDirectory> directory =
      options.directory.empty() ? WorkDirectory::MakeTemporary(options.keep_directory)
                                : WorkDirectory::Use(options.directory);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<std::unique_ptr<Guard>> guard =
      Guard::Start(options.max_lifetime, directory->removed_at_end() ? directory->path() : "");
  if (!guard.ok()) return guard.status();

  auto impl = std::make_unique<Impl>(options, directory->path(), *std::move(guard));
  impl->TakeCharge(*std::move(directory));
  constexpr int kAttempts = 5;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    status = impl->StartAll();
    if (status.ok()) return std::unique_ptr<LocalEnsemble>(new LocalEnsemble(std::move(impl)));
    if (!impl->PortTaken()) break;
  }
  return status;
}

int LocalEnsemble::size() const { return static_cast<int>(impl_->specs().size()); }
std::string LocalEnsemble::servers() const { return ServerList(impl_->specs()); }
std::string LocalEnsemble::server(int i) const { return impl_->specs()[i].Address(); }
std::string LocalEnsemble::directory() const { return impl_->directory(); }
LocalEnsemble::MemberState LocalEnsemble::state(int i) { return (*impl_->Find(i))->state(); }
int LocalEnsemble::pid(int i) { return (*impl_->Find(i))->pid(); }

absl::Status LocalEnsemble::Stop(int i) {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  return member.ok() ? (*member)->Stop() : member.status();
}

absl::Status LocalEnsemble::Kill(int i) {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  if (member.ok()) (*member)->Kill();
  return member.status();
}

absl::Status LocalEnsemble::Pause(int i) {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  return member.ok() ? (*member)->Pause() : member.status();
}

absl::Status LocalEnsemble::Resume(int i) {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  return member.ok() ? (*member)->Resume() : member.status();
}

absl::Status LocalEnsemble::Restart(int i) {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  return member.ok() ? (*member)->Restart() : member.status();
}

absl::StatusOr<int> LocalEnsemble::Leader() {
  const QuorumView view = impl_->Look();
  if (view.LeaderIndex() >= 0) return view.LeaderIndex();
  return absl::NotFoundError(absl::StrFormat("no one leader: %s", view.Describe()));
}

absl::Status LocalEnsemble::WaitForQuorum(absl::Duration timeout) {
  return impl_->WaitFor(timeout, &QuorumView::HasQuorum);
}

absl::Status LocalEnsemble::WaitForAll(absl::Duration timeout) {
  return impl_->WaitFor(timeout, &QuorumView::AllServe);
}

absl::StatusOr<std::string> LocalEnsemble::FourLetterWord(int i, const std::string& word) {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  if (!member.ok()) return member.status();
  return testing::FourLetterWord((*member)->spec().Address(), word, kWordTimeout);
}

std::string LocalEnsemble::LogTail(int i, int lines) const {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  return member.ok() ? TailOf((*member)->spec().LogPath(), lines) : "";
}

}  // namespace zkrecipes::testing
