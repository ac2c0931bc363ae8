// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-worker: a process that uses the library, and records what it sees of it. It asks the resource
// for leave to write on stdout, and is answered on stdin: see resource.h. Runs until SIGTERM, or the end
// of stdin; then it gives back what it holds, and closes its client. If that takes half a minute and two
// session timeouts it is killed by SIGALRM. Exits with 0, or with 1 and a message on stderr.

#include "verification/workload/worker/worker.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <list>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::history {
namespace {

// From here SIGTERM and SIGINT are read, for this thread and those that it starts.
base::UniqueFd EndSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return base::UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC));
}

// Hands over the resource's answers until it is time to end.
void Serve(ResourceClient& resource, int end_signals) {
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd events[] = {{STDIN_FILENO, POLLIN, 0}, {end_signals, POLLIN, 0}};
    if (poll(events, 2, -1) < 0) continue;
    if (events[1].revents != 0) return;
    const ssize_t n = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n <= 0) return;
    resource.OnAnswer(std::string(buffer.data(), static_cast<size_t>(n)));
  }
}

Subscription RecordStates(Client& client, Recorder& recorder) {
  return client.OnStateChange([&client, &recorder](ClientState state) {
    std::ostringstream text;
    text << state;
    recorder.Record(
        {.what = Event::What::kSession, .session = client.session_id(), .detail = text.str()});
  });
}

// From the first connection until `stop`: how the client was closed.
absl::Status Live(const WorkerOptions& options, Recorder& recorder, ResourceClient& resource,
                  const std::stop_token& stop) {
  ClientOptions client_options;
  client_options.servers = options.servers;
  client_options.session_timeout = options.session_timeout;
  client_options.owner_id = options.name;
  client_options.lease.wait_for_proof = options.seed % 4 == 0;
  auto client = Client::Connect(std::move(client_options), {.cancel = stop});
  if (!client.ok()) return client.status();
  const Subscription states = RecordStates(**client, recorder);
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
  const base::UniqueFd end_signals = EndSignals();
  auto recorder = Recorder::Open(options.history, options.name);
  if (!recorder.ok()) {
    std::cerr << recorder.status() << "\n";
    return 1;
  }
  (*recorder)->Record({.what = Event::What::kStart,
                       .detail = absl::StrCat("pid ", getpid(), ", seed ", options.seed)});
  ResourceClient resource(STDOUT_FILENO);
  std::stop_source stop;
  absl::Status lived;
  bool ended_by_itself = false;
  std::thread life([&] {
    lived = Live(options, **recorder, resource, stop.get_token());
    ended_by_itself = !stop.stop_requested();
    if (ended_by_itself) kill(getpid(), SIGTERM);
  });
  Serve(resource, end_signals.get());
  alarm(static_cast<unsigned>(30 + absl::ToInt64Seconds(2 * options.session_timeout)));
  stop.request_stop();
  resource.Close();
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
      ->check(CLI::IsMember(std::set<std::string>{"lock", "strict", "read_write", "election"}));
  app.add_option("--loops", options.loops, "threads that take turns")->check(CLI::PositiveNumber);
  app.add_option("--session-timeout", session_timeout_ms, "in milliseconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "what it chooses by");
  CLI11_PARSE(app, argc, argv);
  options.session_timeout = absl::Milliseconds(session_timeout_ms);
  return zkrecipes::history::RunWorker(options);
}
