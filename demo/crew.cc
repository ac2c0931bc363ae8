// SPDX-License-Identifier: Apache-2.0

#include "demo/crew.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

extern char** environ;

namespace demo {

Crew::Crew(Ledger& ledger, std::string servers, std::string path)
    : ledger_(ledger),
      servers_(std::move(servers)),
      path_(std::move(path)),
      start_ms_(absl::ToUnixMillis(absl::Now())) {}

Crew::~Crew() {
  for (auto& worker : workers_) {
    close(worker->to);  // a worker that reads its end of the pipe ends
    kill(worker->pid, SIGKILL);
    waitpid(worker->pid, nullptr, 0);
    if (worker->reader.joinable()) worker->reader.join();
    close(worker->from);
  }
}

void Crew::Start(int workers) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->name = absl::StrFormat("worker %d", i + 1);
    Spawn(*workers_.back());
  }
  for (int i = 0; i < workers; ++i) {
    workers_[i]->reader = std::thread([this, i] { Read(i); });
  }
}

void Crew::Spawn(Worker& worker) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  std::string program = "/proc/self/exe";
  std::string mode = "--worker";
  std::string servers = servers_;
  std::string path = path_;
  char* argv[] = {program.data(), mode.data(), servers.data(), path.data(), nullptr};
  if (posix_spawn(&worker.pid, program.c_str(), &actions, nullptr, argv, environ) != 0) abort();
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  worker.to = in[1];
  worker.from = out[0];
}

void Crew::Read(int index) {
  std::string buffer;
  char chunk[256];
  for (ssize_t n; (n = read(workers_[index]->from, chunk, sizeof(chunk))) > 0;) {
    buffer.append(chunk, n);
    for (size_t end; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1)) {
      OnLine(index, buffer.substr(0, end));
    }
  }
}

void Crew::OnLine(int index, const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words.size() != 2) return;
  const int64_t token = std::strtoll(words[1].c_str(), nullptr, 10);
  const std::lock_guard<std::mutex> lock(mutex_);
  Worker& worker = *workers_[index];
  if (words[0] == "grant") {
    ++grants_;
    tokens_grew_ = tokens_grew_ && token > last_token_;
    last_token_ = token;
    holder_ = index;
    writes_in_turn_ = 0;
    absl::PrintF("%s %-9s holds the lock   token %d\n", Stamp(), worker.name, token);
  } else if (words[0] == "write") {
    const bool accepted = ledger_.Write(token, worker.name) == Ledger::Verdict::kAccepted;
    if (accepted) {
      ++writes_in_turn_;
    } else {
      ++worker.stale;
      absl::PrintF("%s %-9s WRITE REFUSED    token %d is stale: the ledger has seen a later one\n",
                   Stamp(), worker.name, token);
    }
    const char* verdict = accepted ? "accepted\n" : "stale\n";
    (void)!write(worker.to, verdict, strlen(verdict));
  } else if (words[0] == "lost") {
    absl::PrintF("%s %-9s learns that its lease is lost\n", Stamp(), worker.name);
  }
  std::fflush(stdout);
  happened_.notify_all();
}

int Crew::AwaitHolder(int seconds) {
  int holder = -1;
  const int64_t before = last_token();
  Await(
      [&] {
        holder = last_token_ > before && writes_in_turn_ > 0 ? holder_ : -1;
        return holder >= 0;
      },
      seconds);
  return holder;
}

bool Crew::Await(const std::function<bool()>& done, int seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return happened_.wait_for(lock, std::chrono::seconds(seconds), done);
}

void Crew::Kill(int worker) {
  Print(absl::StrFormat(">> SIGKILL to %s, which holds the lock", workers_[worker]->name));
  kill(workers_[worker]->pid, SIGKILL);
}

void Crew::Pause(int worker) {
  Print(absl::StrFormat(">> SIGSTOP to %s, which holds the lock, for longer than its session lives",
                        workers_[worker]->name));
  kill(workers_[worker]->pid, SIGSTOP);
}

void Crew::Resume(int worker) {
  Print(absl::StrFormat(">> SIGCONT to %s, which does not know yet what it missed",
                        workers_[worker]->name));
  kill(workers_[worker]->pid, SIGCONT);
}

int Crew::grants() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return grants_;
}
bool Crew::tokens_grew() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tokens_grew_;
}
int Crew::stale_writes_of(int worker) const { return workers_[worker]->stale; }
int64_t Crew::last_token() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_token_;
}

void Crew::Print(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::printf("%s %s\n", Stamp().c_str(), line.c_str());
  std::fflush(stdout);
}

std::string Crew::Stamp() const {
  return absl::StrFormat("%6.2fs", (absl::ToUnixMillis(absl::Now()) - start_ms_) / 1000.0);
}

}  // namespace demo
