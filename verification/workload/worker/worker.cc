// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-worker: a process that uses the library, and records what it sees of it. Its stdin is
// the socket on which it asks the resource for leave to write: see resource.h. Runs until SIGTERM,
// or until the other end closes that; then it gives back what it holds, and closes its client. If
// that takes half a minute and two session timeouts it is killed by SIGALRM. Exits with 0, or with
// 1 and a message on stderr.

#include "verification/workload/worker/worker.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <list>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace zkrecipes::history {
namespace {

// Of the worker, by whichever thread: nothing is heard of the resource any more.
void End() { shutdown(STDIN_FILENO, SHUT_RDWR); }

void AwaitEnd() {
  pollfd socket{STDIN_FILENO, 0, 0};  // POLLHUP is reported unasked
  while (poll(&socket, 1, -1) < 0) continue;
}

void OnSignal(int) {
  const int interrupted = errno;
  End();
  errno = interrupted;
}

// From the first connection until `stop`: how the client was closed.
absl::Status Live(const WorkerOptions& options, Recorder& recorder, ResourceClient& resource,
                  const std::stop_token& stop) {
  ClientOptions client_options;
  client_options.servers = options.servers;
  client_options.session_timeout = options.session_timeout;
  client_options.owner_id = options.name;
  client_options.dialect = options.dialect;
  client_options.lease.wait_for_proof = options.seed % 2 == 0;
  auto client = Client::Connect(std::move(client_options), {.cancel = stop});
  if (!client.ok()) return client.status();
  const Subscription states = (*client)->OnStateChange([&](ClientState state) {
    recorder.Record({.what = Event::What::kSession,
                     .session = (*client)->session_id(),
                     .detail = absl::StrFormat("%s", absl::FormatStreamed(state))});
  });
  WorkerContext context{options, *client, recorder, resource, stop};
  {
    std::list<std::jthread> threads;
    for (int i = 0; i < options.loops; ++i) {
      const uint64_t seed = options.seed * 1000 + static_cast<uint64_t>(i);
      threads.emplace_back([&context, seed] { TakeTurns(context, seed); });
    }
  }
  return (*client)->Close();
}

int RunWorker(const WorkerOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  for (const int end : {SIGTERM, SIGINT}) signal(end, OnSignal);
  auto recorder = Recorder::Open(options.history, options.name);
  if (!recorder.ok()) {
    std::cerr << recorder.status() << "\n";
    return 1;
  }
  (*recorder)->Record({.what = Event::What::kStart,
                       .detail = absl::StrCat("pid ", getpid(), ", seed ", options.seed)});
  ResourceClient resource(STDIN_FILENO);
  absl::Status lived;
  bool ended_by_itself = false;
  std::jthread life([&](const std::stop_token& stop) {
    lived = Live(options, **recorder, resource, stop);
    ended_by_itself = !stop.stop_requested();
    End();
  });
  AwaitEnd();
  alarm(static_cast<unsigned>(30 + absl::ToInt64Seconds(2 * options.session_timeout)));
  life.request_stop();
  life.join();
  if (ended_by_itself) {
    std::cerr << lived << "\n";
    return 1;
  }
  (*recorder)->Record({.what = Event::What::kEnd, .detail = lived.ToString()});
  return 0;
}

}  // namespace
}  // namespace zkrecipes::history

int main(int argc, char** argv) {
  using zkrecipes::NameDialect;
  using zkrecipes::NodeMarker;
  zkrecipes::history::WorkerOptions options;
  int64_t session_timeout_ms = absl::ToInt64Milliseconds(options.session_timeout);
  CLI::App app("takes turns with zkrecipes, and records what it sees", "zkrecipes-worker");
  app.option_defaults()->always_capture_default();
  app.add_option("--servers", options.servers, "host:port,host:port/namespace")->required();
  app.add_option("--name", options.name, "who it is in its history")->required();
  app.add_option("--history", options.history, "the file to make")->required();
  app.add_option("--root", options.root, "the node that all paths are below");
  app.add_option("--paths", options.paths, "of each recipe")->check(CLI::PositiveNumber);
  app.add_option("--recipes", options.recipes, "which it mixes")
      ->delimiter(',')
      ->check(CLI::IsMember(std::set<std::string>{"lock", "lock_delay", "read_write", "election"}));
  const std::map<std::string, zkrecipes::NameDialect> dialects = {
      {"curator", zkrecipes::NameDialect::kCurator}, {"kazoo", zkrecipes::NameDialect::kKazoo}};
  app.add_option("--dialect", options.dialect, "of the names")
      ->transform(CLI::CheckedTransformer(dialects));
  const std::map<std::string, zkrecipes::NodeMarker> markers = {
      {"latch", zkrecipes::NodeMarker::kLatch},
      {"lock", zkrecipes::NodeMarker::kLock},
      {"writer", zkrecipes::NodeMarker::kWriter}};
  std::string marker;
  app.add_option("--marker", marker, "of locks and elections: latch, lock, writer")
      ->check(CLI::IsMember(markers));
  app.add_flag("--beside-blind", options.beside_blind, "AcquireOptions::beside_blind");
  app.add_option("--loops", options.loops, "threads that take turns")->check(CLI::PositiveNumber);
  app.add_option("--session-timeout", session_timeout_ms, "in milliseconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "what it chooses by");
  CLI11_PARSE(app, argc, argv);
  options.session_timeout = absl::Milliseconds(session_timeout_ms);
  if (!marker.empty()) options.marker = markers.at(marker);
  return zkrecipes::history::RunWorker(options);
}
