// SPDX-License-Identifier: Apache-2.0

#include "bench/peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <nlohmann/json.hpp>

extern char** environ;

namespace bench {

Peer::Peer(const std::string& command) : command_(command) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::perror("pipe"), std::exit(1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string exec = "exec " + command;
  std::string shell = "/bin/sh", flag = "-c";
  char* const arguments[] = {shell.data(), flag.data(), exec.data(), nullptr};
  const int error = posix_spawn(&pid_, "/bin/sh", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (error != 0) std::fprintf(stderr, "cannot start %s\n", command.c_str()), std::exit(1);
  to_ = fdopen(in[1], "w");
  from_ = fdopen(out[0], "r");
  servers_ = nlohmann::json::parse(Hear()).value("servers", "");
}

Peer::~Peer() {
  std::fclose(to_);
  std::fclose(from_);
  waitpid(pid_, nullptr, 0);
}

std::map<std::string, double> Peer::Ask(const std::string& task) {
  std::fprintf(to_, "%s\n", task.c_str());
  std::fflush(to_);
  return nlohmann::json::parse(Hear()).get<std::map<std::string, double>>();
}

void Peer::Kill() { kill(pid_, SIGKILL); }

std::string Peer::Hear() {
  std::string line;
  for (int c = std::getc(from_); c != '\n'; c = std::getc(from_)) {
    if (c == EOF) std::fprintf(stderr, "no answer from %s\n", command_.c_str()), std::exit(1);
    line += static_cast<char>(c);
  }
  return line;
}

}  // namespace bench
