// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/crew.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/base/unique_fd.h"
#include "verification/checker/run_directory.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

}  // namespace

absl::StatusOr<std::unique_ptr<Crew>> Crew::Start(CrewOptions options) {
  options.programs = std::filesystem::absolute(options.programs);
  options.directory = std::filesystem::absolute(options.directory);
  std::unique_ptr<Crew> crew(new Crew(std::move(options)));
  crew->histories_.push_back(crew->options_.directory + "/crew.jsonl");
  auto recorder = Recorder::Open(crew->histories_.back(), "crew");
  if (!recorder.ok()) return recorder.status();
  crew->recorder_ = *std::move(recorder);
  for (int i = 0; i < static_cast<int>(crew->options_.hosts.size()); ++i) {
    crew->workers_.emplace_back();
    absl::Status status = crew->SetClock(i, absl::ZeroDuration());
    if (status.ok()) status = crew->Spawn(i);
    if (!status.ok()) return status;
  }
  return crew;
}

std::string Crew::File(int i, const std::string& suffix) const {
  return absl::StrCat(options_.directory, "/", name(i), suffix);
}

std::vector<std::string> Crew::Command(int i) const {
  const Member& worker = workers_[static_cast<size_t>(i)];
  const uint64_t seed = options_.seed * 10007 + static_cast<uint64_t>(i * 101 + worker.processes);
  std::vector<std::string> command = {
      "/usr/bin/env",
      "LD_PRELOAD=" + options_.programs + "/zkrecipes-wall-clock.so",
      "ZKRECIPES_WALL_CLOCK=" + File(i, ".clock"),
      options_.programs + "/zkrecipes-worker",
      "--servers=" + options_.servers,
      "--name=" + name(i),
      "--history=" + worker.history,
      absl::StrCat("--session-timeout=", absl::ToInt64Milliseconds(options_.session_timeout)),
      absl::StrCat("--seed=", seed)};
  std::ranges::copy(options_.arguments, std::back_inserter(command));
  if (const std::string path = host(i).network_namespace; !path.empty()) {
    command.insert(command.begin(), {"/usr/bin/nsenter", "--net=" + path});
  }
  return command;
}

absl::Status Crew::Spawn(int i) {
  Member& worker = this->worker(i);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  base::UniqueFd ours(ends[0]);
  const base::UniqueFd its(ends[1]);
  worker.history = File(i, absl::StrCat(".", worker.processes, ".jsonl"));
  const absl::StatusOr<pid_t> pid =
      testing::Spawn({.command = Command(i), .stdin_fd = its.get(), .log = File(i, ".log")});
  if (!pid.ok()) return pid.status();
  ++worker.processes;
  worker.process.Adopt(*pid);
  worker.alive = true;
  histories_.push_back(worker.history);
  resource_.Serve(std::move(ours));
  return absl::OkStatus();
}

void Crew::Record(int i, What what, const std::string& detail) {
  recorder_->Record({.who = name(i), .what = what, .detail = detail});
}

absl::Status Crew::Notice(int i) {
  Member& worker = this->worker(i);
  if (!worker.alive || worker.process.pid() != 0) return absl::OkStatus();
  worker.alive = false;
  Record(i, What::kKilled, "it ended by itself");
  return absl::InternalError(absl::StrCat(name(i), " ended by itself: see ", File(i, ".log")));
}

absl::Status Crew::Kill(int i) {
  absl::Status noticed = Notice(i);
  Member& worker = this->worker(i);
  if (!worker.alive) return noticed;
  worker.process.Kill();
  worker.alive = false;
  Record(i, What::kKilled);
  return absl::OkStatus();
}

absl::Status Crew::Start(int i) {
  absl::Status first = Notice(i);
  if (!worker(i).alive) first.Update(Spawn(i));
  return first;
}

absl::Status Crew::Pause(int i) {
  if (absl::Status noticed = Notice(i); !noticed.ok()) return noticed;
  Member& worker = this->worker(i);
  if (!worker.alive) return absl::FailedPreconditionError(name(i) + " is dead");
  if (worker.process.paused()) return absl::OkStatus();
  worker.process.Pause();
  Record(i, What::kPaused);
  return absl::OkStatus();
}

absl::Status Crew::Resume(int i) {
  if (absl::Status noticed = Notice(i); !noticed.ok()) return noticed;
  Member& worker = this->worker(i);
  if (!worker.alive || !worker.process.paused()) return absl::OkStatus();
  Record(i, What::kResumed);
  worker.process.Resume();
  return absl::OkStatus();
}

absl::Status Crew::SetClock(int i, absl::Duration offset) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(offset);
  const base::UniqueFd clock(open(File(i, ".clock").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const ssize_t written = write(clock.get(), &nanoseconds, sizeof(nanoseconds));
  if (written == sizeof(nanoseconds)) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot set a clock");
}

absl::Status Crew::Check() {
  absl::Status first;
  for (int i = 0; i < size(); ++i) first.Update(Notice(i));
  return first;
}

absl::Status Crew::StopAll() {
  absl::Status first;
  for (int i = 0; i < size(); ++i) {
    first.Update(Resume(i));
    if (const pid_t pid = this->pid(i); pid != 0) kill(pid, SIGTERM);
  }
  // A little more than a worker gives itself.
  const absl::Time until = absl::Now() + absl::Seconds(40) + 2 * options_.session_timeout;
  for (int i = 0; i < size(); ++i) first.Update(AwaitEnd(i, until));
  return first;
}

absl::Status Crew::AwaitEnd(int i, absl::Time until) {
  Member& worker = this->worker(i);
  if (!std::exchange(worker.alive, false)) return absl::OkStatus();
  const bool in_time = worker.process.Terminate(until - absl::Now());
  const absl::StatusOr<std::vector<Event>> history = ReadHistory(worker.history);
  if (!history.ok()) return history.status();
  if (!history->empty() && history->back().what == What::kEnd) return absl::OkStatus();
  Record(i, What::kKilled, "it did not end");
  return absl::DeadlineExceededError(absl::StrCat(
      name(i), in_time ? " ended without an end" : " did not end", ": see ", File(i, ".log")));
}

}  // namespace zkrecipes::history
