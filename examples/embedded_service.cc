// SPDX-License-Identifier: Apache-2.0
//
// Leader election inside an HTTP service: every instance answers
//   GET /health   200 while it has a session with the ensemble, otherwise 503
//   GET /leader   who leads, and where; 503 while that is not known
// The instance that leads also does a job. SIGTERM hands over and ends it.
//
//   embedded_service NAME PORT SERVERS      PORT 0: a free one; or ZKR_SERVERS

#include <httplib.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>

#include "zkrecipes/client.h"
#include "zkrecipes/leader_election.h"

namespace {

using zkrecipes::ClientState;
using zkrecipes::Leader;
using zkrecipes::Lease;

class Service {
 public:
  Service(std::shared_ptr<zkrecipes::Client> client, const std::string& name,
          const std::string& address)
      : client_(std::move(client)),
        election_(client_, "/examples/service", {.id = name, .value = address}) {
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
      text << "this one " << (Leads() ? "leads" : "follows") << "\n";
      response.status = leader_.has_value() ? 200 : 503;
      response.set_content(text.str(), "text/plain");
    });
  }

  absl::Status RunWhileLeading(const std::stop_token& stop) {
    return election_.RunWhileLeading(stop, [&](const Lease& lease, const std::stop_token& end) {
      SetLease(&lease);
      DoTheJob(end);
      SetLease(nullptr);
    });
  }

 private:
  bool Leads() const { return lease_ != nullptr && lease_->believed(); }
  void SetLease(const Lease* lease) {
    const std::lock_guard lock(mutex_);
    lease_ = lease;
  }

  // Only waits; a real job works in small steps, and checks the lease before each.
  static void DoTheJob(const std::stop_token& end) {
    std::binary_semaphore ended(0);
    const std::stop_callback on_end(end, [&] { ended.release(); });
    ended.acquire();
  }

  const std::shared_ptr<zkrecipes::Client> client_;
  zkrecipes::LeaderElection election_;
  std::atomic<ClientState> state_ = ClientState::kConnected;
  std::mutex mutex_;
  std::optional<Leader> leader_;
  const Lease* lease_ = nullptr;  // while this one leads
  // Last, so that they are destroyed first.
  zkrecipes::Subscription states_;
  zkrecipes::Subscription leaders_;
};

// The address that it listens on; empty on failure. Port 0: a free one.
std::string Bind(httplib::Server& server, int port) {
  const std::string host = "127.0.0.1";
  if (port == 0) {
    port = server.bind_to_any_port(host);
  } else if (!server.bind_to_port(host, port)) {
    port = -1;
  }
  return port < 0 ? "" : host + ":" + std::to_string(port);
}

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 3 ? argv[3] : std::getenv("ZKR_SERVERS");
  if (argc < 3 || servers == nullptr) {
    std::cerr << "usage: embedded_service NAME PORT SERVERS\n";
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
  const std::string address = Bind(server, std::atoi(argv[2]));
  if (address.empty()) return Fail(absl::UnavailableError("cannot listen"));
  Service service(*client, argv[1], address);
  service.Serve(server);
  auto http = std::async(std::launch::async, [&] { return server.listen_after_bind(); });
  std::cout << "listening on " << address << std::endl;
  const absl::Status ended = service.RunWhileLeading(stop.get_token());
  do {  // a server that has not started yet cannot be stopped
    server.stop();
  } while (http.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready);
  return ended.ok() ? 0 : Fail(ended);
}
