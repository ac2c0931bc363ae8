// SPDX-License-Identifier: Apache-2.0

#include "demo/crew.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

extern char** environ;

namespace demo {
namespace {

// The program of a worker, with `channel` as its stdin and stdout.
pid_t Spawn(int channel, std::string servers, std::string path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1}) posix_spawn_file_actions_adddup2(&actions, channel, fd);
  std::string program = "/proc/self/exe";
  std::string mode = "--worker";
  char* argv[] = {program.data(), mode.data(), servers.data(), path.data(), nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environ) != 0) abort();
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

}  // namespace

struct Crew::Member {
  int index = 0;
  std::string name;
  int channel = -1;
  pid_t pid = 0;
  int stale_writes = 0;
  std::thread reader = {};
};

Crew::Crew(std::string servers, std::string path)
    : servers_(std::move(servers)),
      path_(std::move(path)),
      start_ms_(absl::ToUnixMillis(absl::Now())) {}

Crew::~Crew() {
  for (auto& member : members_) {
    kill(member->pid, SIGKILL);
    waitpid(member->pid, nullptr, 0);
    if (member->reader.joinable()) member->reader.join();
    close(member->channel);
  }
}

void Crew::Start(int workers) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < workers; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) abort();
    const pid_t pid = Spawn(ends[1], servers_, path_);
    close(ends[1]);
    members_.push_back(
        std::make_unique<Member>(Member{i, absl::StrFormat("worker %d", i + 1), ends[0], pid}));
    members_[i]->reader = std::thread([this, member = members_[i].get()] { Read(*member); });
  }
}

void Crew::Read(Member& member) {
  std::string buffer;
  char chunk[256];
  for (ssize_t n; (n = read(member.channel, chunk, sizeof(chunk))) > 0;) {
    buffer.append(chunk, n);
    for (size_t end; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1)) {
      OnLine(member, buffer.substr(0, end));
    }
  }
}

void Crew::OnLine(Member& member, const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words.size() != 2) return;
  const int64_t token = std::strtoll(words[1].c_str(), nullptr, 10);
  const std::lock_guard lock(mutex_);
  if (words[0] == "grant") {
    ++tally_.grants;
    tally_.tokens_grew = tally_.tokens_grew && token > tally_.last_token;
    tally_.last_token = token;
    holder_ = member.index;
    writes_in_turn_ = 0;
    Print(absl::StrFormat("%-9s holds the lock   token %d", member.name, token));
  } else if (words[0] == "write") {
    const bool accepted = tally_.ledger.Write({zkrecipes::FencingToken(token)}, member.name);
    ++(accepted ? writes_in_turn_ : member.stale_writes);
    if (!accepted) {
      Print(absl::StrFormat(
          "%-9s WRITE REFUSED    token %d is stale: the ledger has seen a later one", member.name,
          token));
    }
    (void)!(accepted ? write(member.channel, "accepted\n", 9)
                     : write(member.channel, "stale\n", 6));
  } else if (words[0] == "lost") {
    Print(absl::StrFormat("%-9s learns that its lease is lost", member.name));
  }
  happened_.notify_all();
}

bool Crew::Await(const std::function<bool()>& done, int seconds) {
  std::unique_lock lock(mutex_);
  return happened_.wait_for(lock, std::chrono::seconds(seconds), done);
}

int Crew::AwaitHolder(int seconds) {
  const int64_t before = tally().last_token;
  int holder = -1;
  Await(
      [&] {
        holder = tally_.last_token > before && writes_in_turn_ > 0 ? holder_ : -1;
        return holder >= 0;
      },
      seconds);
  return holder;
}

bool Crew::AwaitStaleWrite(int worker, int seconds) {
  return Await([&] { return members_[worker]->stale_writes > 0; }, seconds);
}

void Crew::Signal(int worker, int signal, const std::string& why) {
  Print(absl::StrFormat(">> SIG%s to %s, %s", sigabbrev_np(signal), members_[worker]->name, why));
  kill(members_[worker]->pid, signal);
}

Crew::Tally Crew::tally() const {
  const std::lock_guard lock(mutex_);
  return tally_;
}

void Crew::Print(const std::string& line) const {
  const double seconds = (absl::ToUnixMillis(absl::Now()) - start_ms_) / 1000.0;
  std::printf("%s\n", absl::StrFormat("%6.2fs %s", seconds, line).c_str());  // one call, one line
  std::fflush(stdout);
}

}  // namespace demo
