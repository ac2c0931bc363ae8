// SPDX-License-Identifier: Apache-2.0

#include <httplib.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/resources/http_server.h"
#include "integration/resources/kinds.h"
#include "integration/resources/private_server.h"
#include "zkrecipes/fencing/fenced_http.h"
#include "zkrecipes/fencing/floor_database.h"

namespace resources {
namespace {

using httplib::Request;
using httplib::Response;
namespace zk = zkrecipes;

// PUT /register is fenced, PUT /unfenced is not. The value outlives a restart as in a database that
// the service writes to; the floor is in a
// database.
class HttpService final : public Server {
 public:
  explicit HttpService(std::unique_ptr<PrivateServer> folder) : folder_(std::move(folder)) {}
  absl::Status Start() {
    auto store = zk::OpenFloorDatabase(folder_->directory() + "/floors");
    if (!store.ok()) return store.status();
    auto gate = zk::FencingGate::Open({.store = *std::move(store)});
    if (!gate.ok()) return gate.status();
    gate_ = *std::move(gate);
    const bool listens = server_.Start([this](httplib::Server& server) { Route(server); });
    return listens ? absl::OkStatus() : absl::UnavailableError("it cannot listen");
  }
  std::string address() const override { return server_.address(); }
  absl::Status Restart() override {
    server_.Stop();
    gate_.reset();
    return Start();
  }

 private:
  void Route(httplib::Server& server) {
    server.Put("/register", [this](const Request& request, Response& response) {
      const std::lock_guard lock(mutex_);
      const auto refusal = zk::AdmitRequest(*gate_, "register", TokensOf(request));
      if (!refusal) {
        value_ = request.body;
        return;
      }
      response.status = refusal->status;
      for (const auto& [name, value] : refusal->headers) response.set_header(name.c_str(), value);
      response.set_content(refusal->body, "text/plain");
    });
    server.Put("/unfenced", [this](const Request& request, Response&) {
      const std::lock_guard lock(mutex_);
      value_ = request.body;
    });
    server.Get("/register", [this](const Request&, Response& response) {
      const std::lock_guard lock(mutex_);
      response.set_content(value_, "text/plain");
    });
  }
  static std::vector<std::string> TokensOf(const Request& request) {
    std::vector<std::string> tokens;
    const auto [begin, end] = request.headers.equal_range(zk::kFencingTokenHeader);
    for (auto header = begin; header != end; ++header) tokens.push_back(header->second);
    return tokens;
  }

  const std::unique_ptr<PrivateServer> folder_;  // that has no process
  std::mutex mutex_;                             // makes judging and writing one step
  std::unique_ptr<zk::FencingGate> gate_;
  std::string value_;
  HttpServer server_;  // last: it serves no more when the rest goes
};

class HttpRegister final : public Register {
 public:
  explicit HttpRegister(const std::string& address) : client_(HttpClient(address)) {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    return StatusOf(client_->Put("/register",
                                 {{zk::kFencingTokenHeader, zk::ToHttpHeader(holder.pass)}}, value,
                                 "text/plain"));
  }
  absl::Status WriteUnchecked(const std::string& value) override {
    return StatusOf(client_->Put("/unfenced", value, "text/plain"));
  }
  absl::StatusOr<std::string> Read() override {
    const auto answer = client_->Get("/register");
    if (absl::Status status = StatusOf(answer); !status.ok()) return status;
    return answer->body;
  }

 private:
  static absl::Status StatusOf(const httplib::Result& answer) {
    if (!answer) return absl::UnavailableError(httplib::to_string(answer.error()));
    if (answer->status == 200) return absl::OkStatus();
    const std::string floor = answer->get_header_value(zk::kFencingFloorHeader);
    if (absl::Status stale = zk::CheckHttpAnswer(answer->status, floor); !stale.ok()) return stale;
    const std::string message = absl::StrCat(answer->status, ": ", answer->body);
    return answer->status < 500 ? absl::InvalidArgumentError(message)
                                : absl::UnavailableError(message);
  }

  const std::unique_ptr<httplib::Client> client_;
};

absl::StatusOr<std::unique_ptr<Server>> StartHttp() {
  auto folder = PrivateServer::Make();
  if (!folder.ok()) return folder.status();
  const absl::Status created = zk::CreateFloorDatabase((*folder)->directory() + "/floors");
  if (!created.ok()) return created;
  auto service = std::make_unique<HttpService>(*std::move(folder));
  if (absl::Status status = service->Start(); !status.ok()) return status;
  return service;
}

}  // namespace

Kind Http() {
  return {"http", &StartHttp,
          [](const std::string& address) -> absl::StatusOr<std::unique_ptr<Register>> {
            return std::make_unique<HttpRegister>(address);
          }};
}

}  // namespace resources
