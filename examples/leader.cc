// SPDX-License-Identifier: Apache-2.0
//
// An HTTP service of which one instance at a time does a job. The job's report is a file that
// refuses whoever led before. Every instance answers
//   GET /health   200 while it has a session with the ensemble, otherwise 503
//   GET /leader   who leads, and where; 503 while that is not known
// SIGTERM hands over: the job ends, then the next instance leads within two round trips.
//
//   leader --create FILE              once: the report
//   leader NAME PORT FILE [SERVERS]   PORT 0: a free one; or ZKR_SERVERS; "127.0.0.1:2181"

#include <httplib.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "zkrecipes/client.h"
#include "zkrecipes/fenced_file.h"
#include "zkrecipes/leader_election.h"

namespace {

using zkrecipes::ClientState;
using zkrecipes::Leader;
using zkrecipes::Lease;

class Service {
 public:
  Service(std::shared_ptr<zkrecipes::Client> client, const std::string& name,
          const std::string& address, zkrecipes::FencedFile report)
      : client_(std::move(client)),
        election_(client_, "/examples/service", {.id = name, .value = address}),
        report_(std::move(report)) {
    states_ = client_->OnStateChange([this](ClientState state) { state_ = state; });
    leaders_ = election_.Observe([this](absl::StatusOr<std::optional<Leader>> leader) {
      const std::lock_guard lock(mutex_);
      leader_ = leader.ok() ? *std::move(leader) : std::nullopt;
    });
  }

  void Serve(httplib::Server& server) {
    server.Get("/health", [this](const httplib::Request&, httplib::Response& response) {
      const bool healthy = state_ == ClientState::kConnected;
      response.status = healthy ? 200 : 503;
      response.set_content(healthy ? "ok\n" : "no connection to the ensemble\n", "text/plain");
    });
    server.Get("/leader", [this](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      std::ostringstream text;
      if (leader_.has_value()) {
        text << "leader " << leader_->owner.id << "\naddress " << leader_->value << "\nterm "
             << leader_->token << "\n";
      }
      // What others see of this instance may be stale; its own lease is not.
      const bool leads = lease_ != nullptr && lease_->believed();
      text << "this one " << (leads ? "leads" : "follows") << "\n";
      response.status = leader_.has_value() ? 200 : 503;
      response.set_content(text.str(), "text/plain");
    });
  }

  // Continues after lost sessions and connections.
  absl::Status RunWhileLeading(const std::stop_token& stop) {
    return election_.RunWhileLeading(stop, [&](const Lease& lease, const std::stop_token& end) {
      SetLease(&lease);
      Lead(lease, end);
      SetLease(nullptr);  // the lease is released when this returns
    });
  }

 private:
  void SetLease(const Lease* lease) {
    const std::lock_guard lock(mutex_);
    lease_ = lease;
  }

  // The leader's job: runs until it is asked to stop or no longer leads.
  void Lead(const Lease& lease, const std::stop_token& stop) {
    std::cout << "leading in term " << lease.token() << std::endl;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      if (!lease.believed()) {
        std::cout << "no longer leading" << std::endl;
        return;
      }
      // Between that check and this write the process may be frozen for an hour: then the file
      // refuses it.
      const absl::Status written =
          report_.Write(lease.pass(), "done in term " + lease.token().ToString() + "\n");
      if (!written.ok()) {
        std::cout << written << std::endl;
        return;
      }
      std::cout << "job in term " << lease.token() << std::endl;
      never.wait_for(lock, stop, std::chrono::milliseconds(100), [] { return false; });
    }
    std::cout << "handing over" << std::endl;
  }

  const std::shared_ptr<zkrecipes::Client> client_;
  zkrecipes::LeaderElection election_;
  zkrecipes::FencedFile report_;
  std::atomic<ClientState> state_ = ClientState::kConnected;
  std::mutex mutex_;
  std::optional<Leader> leader_;
  const Lease* lease_ = nullptr;  // while this one leads
  // Last, so that they are destroyed first.
  zkrecipes::Subscription states_;
  zkrecipes::Subscription leaders_;
};

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string("--create")) {
    const absl::Status created = zkrecipes::FencedFile(argv[2]).Create();
    return created.ok() ? 0 : Fail(created);
  }
  const char* servers = argc > 4 ? argv[4] : std::getenv("ZKR_SERVERS");
  if (argc < 4 || servers == nullptr) {
    std::cerr << "usage: leader --create FILE | leader NAME PORT FILE SERVERS\n";
    return 2;
  }
  // Blocked before there is a second thread, so that only sigwait takes the signals.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread([signals, stop]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    stop.request_stop();
  }).detach();

  auto client = zkrecipes::Client::Connect({.servers = servers, .lease = {.wait_for_proof = true}},
                                           {absl::Seconds(10)});
  if (!client.ok()) return Fail(client.status());
  httplib::Server server;
  const std::string host = "127.0.0.1";
  int port = std::atoi(argv[2]);
  const bool bound =
      port == 0 ? (port = server.bind_to_any_port(host)) > 0 : server.bind_to_port(host, port);
  if (!bound) return Fail(absl::UnavailableError("cannot listen"));
  const std::string address = host + ":" + std::to_string(port);
  Service service(*client, argv[1], address, zkrecipes::FencedFile(argv[3]));
  service.Serve(server);
  auto http = std::async(std::launch::async, [&] { return server.listen_after_bind(); });
  std::cout << "listening on " << address << std::endl;
  const absl::Status ended = service.RunWhileLeading(stop.get_token());
  do {  // a server that has not started yet cannot be stopped
    server.stop();
  } while (http.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready);
  return ended.ok() ? 0 : Fail(ended);
}
