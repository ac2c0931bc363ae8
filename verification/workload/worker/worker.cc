// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/worker/worker.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <list>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"
#include "verification/workload/worker/context.h"
#include "verification/workload/worker/loop.h"
#include "verification/workload/write_lines.h"

namespace zkrecipes::history {
namespace {

// SIGTERM and SIGINT, for this thread and those that it starts, are to be read from here.
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
  LineBuffer lines;
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd events[] = {{STDIN_FILENO, POLLIN, 0}, {end_signals, POLLIN, 0}};
    if (poll(events, 2, -1) < 0) continue;
    if (events[1].revents != 0) return;
    const ssize_t n = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n <= 0) return;
    for (const std::string& line : lines.Add(buffer.data(), static_cast<size_t>(n))) {
      resource.OnLine(line);
    }
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
  Context context{options, *client, recorder, resource, stop};
  {
    std::list<Loop> loops;
    std::list<std::jthread> threads;
    for (int i = 0; i < options.loops; ++i) {
      Loop& loop = loops.emplace_back(context, options.seed * 1000 + static_cast<uint64_t>(i));
      threads.emplace_back([&loop] { loop.Run(); });
    }
  }
  return (*client)->Close();
}

}  // namespace

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

}  // namespace zkrecipes::history
