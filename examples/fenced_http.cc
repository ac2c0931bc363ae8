// SPDX-License-Identifier: Apache-2.0
//
// The resource's side of fencing, in an HTTP service: it keeps values, each guarded by a lock of
// its own.
//   PUT /values/KEY   with `Fencing-Token: TOKEN` of the holder of that lock: replaces the value.
//                     412 if a newer holder has been here, with its token in Fencing-Floor; 428
//                     without a token
//   GET /values/KEY   the value
// The floors are in the database FILE, and so outlive the service (a real one keeps its values,
// too).
//
//   fenced_http create FILE    once, when the system is set up
//   fenced_http PORT FILE      PORT 0: a free one
//   curl -T - -H 'Fencing-Token: 7' http://127.0.0.1:PORT/values/a <<< hello

#include "zkrecipes/fencing/fenced_http.h"

#include <httplib.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "zkrecipes/fencing/floor_database.h"

namespace {

using httplib::Request;
using httplib::Response;

// Middleware: an operation on a key that only happens if its pass is admitted. Judging and acting
// are one step, under the key's mutex: a pass that was admitted before a newer one must not act
// after it.
class Fenced {
 public:
  explicit Fenced(std::unique_ptr<zkrecipes::FencingGate> gate) : gate_(std::move(gate)) {}

  // REQUIRES: the route's first group is the key.
  httplib::Server::Handler operator()(httplib::Server::Handler operation) {
    return [this, operation = std::move(operation)](const Request& request, Response& response) {
      const std::string key = request.matches[1];
      const std::lock_guard lock(MutexOf(key));
      const auto refusal = zkrecipes::AdmitRequest(*gate_, key, TokensOf(request));
      if (!refusal) return operation(request, response);
      response.status = refusal->status;
      for (const auto& [name, value] : refusal->headers) response.set_header(name.c_str(), value);
      response.set_content(refusal->body, "text/plain");
    };
  }

 private:
  static std::vector<std::string> TokensOf(const Request& request) {
    std::vector<std::string> tokens;
    const auto [begin, end] = request.headers.equal_range(zkrecipes::kFencingTokenHeader);
    for (auto header = begin; header != end; ++header) tokens.push_back(header->second);
    return tokens;
  }
  // Keys may share one: that only makes them wait for each other.
  std::mutex& MutexOf(const std::string& key) {
    return mutexes_[std::hash<std::string>()(key) % mutexes_.size()];
  }

  const std::unique_ptr<zkrecipes::FencingGate> gate_;
  std::array<std::mutex, 64> mutexes_;
};

class Values {
 public:
  void Put(const Request& request, Response&) {
    const std::lock_guard lock(mutex_);
    values_[request.matches[1]] = request.body;
  }
  void Get(const Request& request, Response& response) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(request.matches[1]);
    if (found != values_.end()) {
      response.set_content(found->second, "text/plain");
    } else {
      response.status = 404;
    }
  }

 private:
  std::mutex mutex_;  // of the map; what happens to one value in turn is the middleware's business
  std::map<std::string, std::string> values_;
};

absl::StatusOr<std::unique_ptr<zkrecipes::FencingGate>> OpenGate(const std::string& file) {
  auto store = zkrecipes::OpenFloorDatabase(file);
  if (!store.ok()) return store.status();
  return zkrecipes::FencingGate::Open({.store = *std::move(store)});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: fenced_http create|PORT FILE\n";
    return 2;
  }
  if (argv[1] == std::string("create")) {
    const absl::Status created = zkrecipes::CreateFloorDatabase(argv[2]);
    std::cerr << created << "\n";
    return created.ok() ? 0 : 1;
  }
  auto gate = OpenGate(argv[2]);
  if (!gate.ok()) {
    std::cerr << gate.status() << "\n";
    return 1;
  }
  Fenced fenced(*std::move(gate));
  Values values;
  httplib::Server server;
  const char kPath[] = "/values/([a-z0-9]{1,100})";
  server.Put(kPath, fenced([&](const Request& q, Response& a) { values.Put(q, a); }));
  server.Get(kPath, [&](const Request& q, Response& a) { values.Get(q, a); });
  const int asked = std::atoi(argv[1]);
  const int port = asked == 0                                ? server.bind_to_any_port("127.0.0.1")
                   : server.bind_to_port("127.0.0.1", asked) ? asked
                                                             : -1;
  if (port < 0) {
    std::cerr << "cannot listen\n";
    return 1;
  }
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  return server.listen_after_bind() ? 0 : 1;
}
