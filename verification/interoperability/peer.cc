// SPDX-License-Identifier: Apache-2.0

#include "verification/interoperability/peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "integration/fixtures/ensemble_fixture.h"
#include "verification/workload/recorder.h"

namespace zkrecipes::integration {

Peer::Peer(PeerKind kind, const std::string& servers, absl::Duration session_timeout) {
  signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe";
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<std::string> words = {kind == PeerKind::kCurator ? ZKRECIPES_PEERS_DIR "/curator-peer"
                                    : kind == PeerKind::kKazoo ? "/usr/bin/python3"
                                                               : ZKRECIPES_BIN_DIR
                                        "/zkrecipes-peer"};
  if (kind == PeerKind::kKazoo) words.emplace_back(ZKRECIPES_PEERS_SOURCE_DIR "/kazoo_peer.py");
  words.push_back(servers);
  words.push_back(absl::StrCat(absl::ToInt64Milliseconds(session_timeout)));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  EXPECT_EQ(error, 0) << words[0];
  if (error == 0) process_.Adopt(pid);
  reader_ = std::thread([this, from = out[0]] { Read(from); });
  EXPECT_TRUE(Hears("ready", kSoon));
}

Peer::~Peer() {
  if (to_ >= 0) close(to_);
  process_.Kill();
  if (reader_.joinable()) reader_.join();
}

void Peer::Read(int from) {
  std::string line;
  char buffer[4096];
  for (ssize_t n = read(from, buffer, sizeof buffer); n > 0;
       n = read(from, buffer, sizeof buffer)) {
    for (const char c : std::string(buffer, static_cast<size_t>(n))) {
      if (c != '\n') {
        line += c;
        continue;
      }
      base::MutexLock lock(mutex_);
      lines_.push_back(std::exchange(line, ""));
    }
  }
  close(from);
}

std::string Peer::Make(const std::string& recipe, const std::string& path) {
  const std::string id = absl::StrCat(++made_);
  Tell(absl::StrCat("make ", id, " ", recipe, " ", path));
  return id;
}

void Peer::Tell(const std::string& command) {
  const std::string line = command + "\n";
  EXPECT_EQ(write(to_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
}

bool Peer::HasSaid(const std::string& line) const {
  base::MutexLock lock(mutex_);
  return std::find(lines_.begin(), lines_.end(), line) != lines_.end();
}

bool Peer::Hears(const std::string& line, absl::Duration patience) {
  const bool heard = Eventually([&] { return HasSaid(line); }, patience);
  base::MutexLock lock(mutex_);
  if (heard) lines_.erase(std::find(lines_.begin(), lines_.end(), line));
  if (!heard) ADD_FAILURE() << "last said: " << (lines_.empty() ? "nothing" : lines_.back());
  return heard;
}

std::vector<std::string> Peer::lines() const {
  base::MutexLock lock(mutex_);
  return lines_;
}

int64_t BootLessMonotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return history::Now() - (now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

void ReadGrant(const std::vector<std::string>& words, history::Event& event) {
  event.what = history::Event::What::kGrant;
  event.node = words.at(2);
  EXPECT_TRUE(absl::SimpleAtoi(words.at(3), &event.token));
  EXPECT_TRUE(absl::SimpleAtoi(words.at(4), &event.session));
}

int64_t GrantsOf(const Peer& peer) {
  const std::vector<std::string> lines = peer.lines();
  return std::ranges::count_if(lines,
                               [](const std::string& line) { return line.starts_with("grant "); });
}

}  // namespace zkrecipes::integration
