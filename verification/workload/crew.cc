// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/crew.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "verification/checker/run_directory.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

absl::Status Refused(const std::string& what) {
  return absl::InternalError(absl::StrCat(what, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Crew>> Crew::Start(CrewOptions options) {
  options.programs = std::filesystem::absolute(options.programs);
  options.directory = std::filesystem::absolute(options.directory);
  std::unique_ptr<Crew> crew(new Crew(std::move(options)));
  if (absl::Status status = crew->Open(); !status.ok()) return status;
  for (int i = 0; i < crew->size(); ++i) {
    if (absl::Status status = crew->Spawn(i); !status.ok()) return status;
  }
  return crew;
}

absl::Status Crew::Open() {
  histories_.push_back(options_.directory + "/crew.jsonl");
  auto recorder = Recorder::Open(histories_.back(), "crew");
  if (!recorder.ok()) return recorder.status();
  recorder_ = *std::move(recorder);
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    Member& worker = workers_.emplace_back();
    const std::string clock = File(static_cast<int>(i), ".clock");
    worker.clock = base::UniqueFd(open(clock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    const absl::Status set = SetClock(static_cast<int>(i), absl::ZeroDuration());
    if (!set.ok()) return set;
  }
  return absl::OkStatus();
}

std::string Crew::File(int i, const std::string& suffix) const {
  return absl::StrCat(options_.directory, "/", name(i), suffix);
}

std::vector<std::string> Crew::Command(int i) const {
  const Member& worker = workers_[static_cast<size_t>(i)];
  std::vector<std::string> command;
  if (const std::string path = host(i).network_namespace; !path.empty()) {
    command = {"/usr/bin/nsenter", "--net=" + path};
  }
  const uint64_t seed = options_.seed * 10007 + static_cast<uint64_t>(i * 101 + worker.processes);
  const std::vector<std::string> worker_command = {
      "/usr/bin/env",
      "LD_PRELOAD=" + options_.programs + "/zkrecipes-wall-clock.so",
      "ZKRECIPES_WALL_CLOCK=" + File(i, ".clock"),
      options_.programs + "/zkrecipes-worker",
      "--servers=" + options_.servers,
      "--name=" + name(i),
      "--history=" + worker.history,
      "--root=" + options_.root,
      absl::StrCat("--paths=", options_.paths),
      "--recipes=" + options_.recipes,
      absl::StrCat("--loops=", options_.loops),
      absl::StrCat("--session-timeout=", absl::ToInt64Milliseconds(options_.session_timeout)),
      absl::StrCat("--seed=", seed)};
  command.insert(command.end(), worker_command.begin(), worker_command.end());
  return command;
}

absl::Status Crew::Spawn(int i) {
  Member& worker = this->worker(i);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Refused("socketpair");
  base::UniqueFd ours(ends[0]);
  const base::UniqueFd its(ends[1]);
  worker.history = File(i, absl::StrCat(".", worker.processes, ".jsonl"));
  const absl::StatusOr<pid_t> pid = testing::Spawn({.command = Command(i),
                                                    .stdin_fd = its.get(),
                                                    .stdout_fd = its.get(),
                                                    .log = File(i, ".log")});
  if (!pid.ok()) return pid.status();
  ++worker.processes;
  worker.process.Adopt(*pid);
  worker.alive = true;
  histories_.push_back(worker.history);
  resource_.Add(std::move(ours));
  return absl::OkStatus();
}

void Crew::Record(int i, What what, int64_t at, const std::string& detail) {
  recorder_->Record({.at = at, .who = name(i), .what = what, .detail = detail});
}

absl::Status Crew::Notice(int i) {
  Member& worker = this->worker(i);
  if (!worker.alive || worker.process.pid() != 0) return absl::OkStatus();
  worker.alive = false;
  Record(i, What::kKilled, 0, "it ended by itself");
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
  const ssize_t n = pwrite(worker(i).clock.get(), &nanoseconds, sizeof(nanoseconds), 0);
  return n == sizeof(nanoseconds) ? absl::OkStatus() : Refused("cannot set a clock");
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
  const absl::StatusOr<History> history = ReadHistory(worker.history);
  if (!history.ok()) return history.status();
  if (!history->events.empty() && history->events.back().what == What::kEnd) {
    return absl::OkStatus();
  }
  Record(i, What::kKilled, 0, "it did not end");
  return absl::DeadlineExceededError(absl::StrCat(
      name(i), in_time ? " ended without an end" : " did not end", ": see ", File(i, ".log")));
}

}  // namespace zkrecipes::history
