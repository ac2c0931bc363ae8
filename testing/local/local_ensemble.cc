// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/testing/local_ensemble.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "lib/base/mutex.h"
#include "lib/base/process.h"
#include "testing/local/quorum.h"
#include "testing/local/server_files.h"
#include "testing/local/server_process.h"
#include "testing/local/server_start.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::testing {
using base::MutexLock;

// One server of a LocalEnsemble: its files and its process. Thread-safe; calls wait for each other.
// The methods and their errors are those of LocalEnsemble.
class Member {
 public:
  using State = LocalEnsemble::MemberState;

  // `options` must outlive the member. The process joins `group`.
  Member(const LocalEnsembleOptions& options, ServerSpec spec, pid_t group)
      : options_(options), spec_(std::move(spec)), group_(group) {}

  const ServerSpec& spec() const { return spec_; }

  // Calls one of the methods below.
  template <typename Result>
  Result Do(Result (Member::*what)()) {
    MutexLock lock(mutex_);
    return (this->*what)();
  }

  State state() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (process_.pid() == 0) return State::kDown;
    return process_.paused() ? State::kPaused : State::kRunning;
  }
  pid_t pid() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return process_.pid(); }

  // Starts the process and does not wait. REQUIRES: kDown.
  absl::Status Launch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Unavailable, with the last lines of its log, if the process has ended.
  absl::Status CheckAlive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return process_.pid() != 0 ? absl::OkStatus() : CannotServe(spec_, "ended by itself");
  }

  absl::Status Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Kill() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    process_.Kill();
    return absl::OkStatus();
  }
  absl::Status Pause() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IfUp(&ServerProcess::Pause); }
  absl::Status Resume() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IfUp(&ServerProcess::Resume);
  }
  absl::Status Restart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

 private:
  absl::Status IfUp(void (ServerProcess::*act)()) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WaitForAnswer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LocalEnsembleOptions& options_;
  const ServerSpec spec_;
  const pid_t group_;

  base::Mutex mutex_;
  ServerProcess process_ ABSL_GUARDED_BY(mutex_);
};

absl::Status Member::IfUp(void (ServerProcess::*act)()) {
  if (process_.pid() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server at ", spec_.Address(), " is down"));
  }
  (process_.*act)();
  return absl::OkStatus();
}

absl::Status Member::Restart() {
  static_cast<void>(Stop());  // it is down then, if only since it was killed
  const absl::Status status = Launch();
  return status.ok() ? WaitForAnswer() : status;
}

absl::Status Member::Launch() {
  const absl::StatusOr<pid_t> pid = LaunchServer(options_, spec_, group_);
  if (pid.ok()) process_.Adopt(*pid);
  return pid.status();
}

absl::Status Member::Stop() {
  constexpr absl::Duration kPatience = absl::Seconds(10);
  if (process_.Terminate(kPatience)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrFormat("the server at %s did not end within %s of SIGTERM and was killed",
                      spec_.Address(), absl::FormatDuration(kPatience)));
}

absl::Status Member::WaitForAnswer() {
  const absl::Time deadline = absl::Now() + options_.start_timeout;
  while (!FourLetterWord(spec_.Address(), "ruok", absl::Milliseconds(500)).ok()) {
    if (absl::Status status = CheckAlive(); !status.ok()) return status;
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrFormat("the server at %s does not answer %s after its start.%s", spec_.Address(),
                          absl::FormatDuration(options_.start_timeout), LogForMessage(spec_)));
    }
    absl::SleepFor(absl::Milliseconds(25));
  }
  return absl::OkStatus();
}

class LocalEnsemble::Impl : private ServerProcesses {
 public:
  Impl(const LocalEnsembleOptions& options, WorkDirectory directory, std::unique_ptr<Guard> guard)
      : options_(options), directory_(std::move(directory)), guard_(std::move(guard)) {}

  // New ports, files and processes; waits until all serve.
  absl::Status Start();

  absl::StatusOr<Member*> Find(int i) const;
  absl::Status Do(int i, absl::Status (Member::*what)()) const;
  QuorumView Look() { return testing::Look(specs_, *this); }
  absl::Status WaitFor(absl::Duration timeout, bool (QuorumView::*holds)() const) {
    return WaitForServers(
        specs_, [this] { return Look(); }, holds, timeout);
  }

  const std::string& directory() const { return directory_.path(); }
  const std::vector<ServerSpec>& specs() const { return specs_; }
  bool IsThisProcess() const { return home_.IsThisProcess(); }

 private:
  absl::Status Launch(const std::vector<ServerSpec>& specs) override;
  absl::Status Check(const ServerSpec& spec) override;
  bool CanAnswer(const ServerSpec& spec) override;
  void EndAll() override { members_.clear(); }
  Member& MemberOf(const ServerSpec& spec) { return *members_[static_cast<size_t>(spec.id - 1)]; }

  const LocalEnsembleOptions options_;
  const base::HomeProcess home_;
  const WorkDirectory directory_;  // goes last: the servers write there
  const std::unique_ptr<Guard> guard_;
  std::vector<ServerSpec> specs_;
  std::vector<std::unique_ptr<Member>> members_;
};

absl::Status LocalEnsemble::Impl::Start() {
  absl::StatusOr<std::vector<ServerSpec>> specs = StartNewServers(options_, directory(), *this);
  if (specs.ok()) specs_ = *std::move(specs);
  return specs.status();
}

absl::Status LocalEnsemble::Impl::Launch(const std::vector<ServerSpec>& specs) {
  absl::Status status = WriteServerFiles(options_, specs);
  for (size_t i = 0; i < specs.size() && status.ok(); ++i) {
    members_.push_back(std::make_unique<Member>(options_, specs[i], guard_->group()));
    status = members_.back()->Do(&Member::Launch);
  }
  return status;
}

// A leader whose quorum port is taken does not end; it looks for a leader for ever.
absl::Status LocalEnsemble::Impl::Check(const ServerSpec& spec) {
  absl::Status status = MemberOf(spec).Do(&Member::CheckAlive);
  if (!status.ok() || !LogSaysPortTaken(spec)) return status;
  return CannotServe(spec, "has lost a port to another process");
}

bool LocalEnsemble::Impl::CanAnswer(const ServerSpec& spec) {
  return MemberOf(spec).Do(&Member::state) == MemberState::kRunning;
}

absl::StatusOr<Member*> LocalEnsemble::Impl::Find(int i) const {
  if (i >= 0 && i < static_cast<int>(members_.size())) return members_[i].get();
  return absl::InvalidArgumentError(
      absl::StrFormat("no member %d: this ensemble has 0 to %d", i, members_.size() - 1));
}

absl::Status LocalEnsemble::Impl::Do(int i, absl::Status (Member::*what)()) const {
  const absl::StatusOr<Member*> member = Find(i);
  return member.ok() ? (*member)->Do(what) : member.status();
}

LocalEnsemble::LocalEnsemble(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LocalEnsemble::~LocalEnsemble() {
  // In a forked child the servers, and the directory, are still the parent's.
  if (!impl_->IsThisProcess()) static_cast<void>(impl_.release());
}

absl::StatusOr<std::unique_ptr<LocalEnsemble>> LocalEnsemble::Start(LocalEnsembleOptions options) {
  absl::Status status = CheckOptions(options);
  if (status.ok()) status = CheckInstalled(options);
  if (!status.ok()) return status;
  absl::StatusOr<WorkDirectory> directory =
      options.directory.empty() ? WorkDirectory::MakeTemporary(options.keep_directory)
                                : WorkDirectory::Use(options.directory);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<std::unique_ptr<Guard>> guard =
      Guard::Start(options.max_lifetime, directory->removed_at_end() ? directory->path() : "");
  if (!guard.ok()) return guard.status();
  auto impl = std::make_unique<Impl>(options, *std::move(directory), *std::move(guard));
  status = impl->Start();
  if (!status.ok()) return status;
  return std::unique_ptr<LocalEnsemble>(new LocalEnsemble(std::move(impl)));
}

int LocalEnsemble::size() const { return static_cast<int>(impl_->specs().size()); }
std::string LocalEnsemble::servers() const { return ServerList(impl_->specs()); }
std::string LocalEnsemble::server(int i) const { return impl_->specs()[i].Address(); }
std::string LocalEnsemble::directory() const { return impl_->directory(); }
LocalEnsemble::MemberState LocalEnsemble::state(int i) {
  return (*impl_->Find(i))->Do(&Member::state);
}
int LocalEnsemble::pid(int i) { return (*impl_->Find(i))->Do(&Member::pid); }

absl::Status LocalEnsemble::Stop(int i) { return impl_->Do(i, &Member::Stop); }
absl::Status LocalEnsemble::Kill(int i) { return impl_->Do(i, &Member::Kill); }
absl::Status LocalEnsemble::Pause(int i) { return impl_->Do(i, &Member::Pause); }
absl::Status LocalEnsemble::Resume(int i) { return impl_->Do(i, &Member::Resume); }
absl::Status LocalEnsemble::Restart(int i) { return impl_->Do(i, &Member::Restart); }

absl::StatusOr<int> LocalEnsemble::Leader() { return impl_->Look().Leader(); }

absl::Status LocalEnsemble::WaitForQuorum(Duration timeout) {
  return impl_->WaitFor(timeout, &QuorumView::HasQuorum);
}

absl::Status LocalEnsemble::WaitForAll(Duration timeout) {
  return impl_->WaitFor(timeout, &QuorumView::AllServe);
}

absl::StatusOr<std::string> LocalEnsemble::FourLetterWord(int i, const std::string& word) {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  if (!member.ok()) return member.status();
  return testing::FourLetterWord((*member)->spec().Address(), word, absl::Seconds(3));
}

std::string LocalEnsemble::LogTail(int i, int lines) const {
  const absl::StatusOr<Member*> member = impl_->Find(i);
  return member.ok() ? TailOf((*member)->spec().LogPath(), lines) : "";
}

}  // namespace zkrecipes::testing
