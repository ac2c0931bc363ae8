// SPDX-License-Identifier: Apache-2.0

#include <httplib.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "integration/resources/http_server.h"
#include "integration/resources/kinds.h"
#include "lib/fencing/fenced_body.h"
#include "zkrecipes/fencing/fenced_object.h"

namespace resources {
namespace {

using httplib::Request;
using httplib::Response;
using zkrecipes::PutResult;

constexpr char kObject[] = "/bucket/register";

// Speaks S3's protocol for one object, as AWS documents it: GET, and PUT with If-Match and
// If-None-Match. 412 PreconditionFailed if a condition does not hold; 404 NoSuchKey for an If-Match
// without an object; 409 ConditionalRequestConflict while another write is under way. An etag is
// made of what the object holds. Requests need no signature.
class ObjectStore final : public Server {
 public:
  absl::Status Start() {
    const bool listens = server_.Start([this](httplib::Server& server) {
      server.Get(kObject, [this](const Request&, Response& response) { Get(response); });
      server.Put(kObject, [this](const Request& q, Response& a) { a.status = Put(q); });
    });
    return listens ? absl::OkStatus() : absl::UnavailableError("it cannot listen");
  }
  std::string address() const override { return server_.address(); }

 private:
  std::string Etag() const {
    return absl::StrFormat("\"%016x\"", std::hash<std::string>()(*body_));
  }
  void Get(Response& response) {
    const std::lock_guard lock(mutex_);
    response.status = body_.has_value() ? 200 : 404;
    if (!body_.has_value()) return;
    response.set_header("ETag", Etag());
    response.set_content(*body_, "application/octet-stream");
  }
  // The answer's status.
  int Put(const Request& request) {
    const bool creates = request.has_header("If-None-Match");
    const bool replaces = request.has_header("If-Match");
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!creates && !replaces) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return 409;
    }
    if (creates && body_.has_value()) return 412;
    if (replaces && !body_.has_value()) return 404;
    if (replaces && Etag() != request.get_header_value("If-Match")) return 412;
    body_ = request.body;
    return 200;
  }

  std::mutex mutex_;
  std::optional<std::string> body_;
  HttpServer server_;  // last: it serves no more when the rest goes
};

// As any HTTP client would do it.
class Transport final : public zkrecipes::ObjectTransport {
 public:
  explicit Transport(const std::string& address) : client_(HttpClient(address)) {}

  absl::StatusOr<Object> Get() override {
    const auto answer = client_->Get(kObject);
    if (!answer) return absl::UnavailableError(httplib::to_string(answer.error()));
    if (answer->status == 404) return absl::NotFoundError("there is no such object");
    if (answer->status == 200) return Object{answer->body, answer->get_header_value("ETag")};
    return absl::UnavailableError(absl::StrCat("GET: ", answer->status));
  }
  absl::StatusOr<PutResult> PutIfMatch(const std::string& body, const std::string& etag) override {
    return Put(body, {{"If-Match", etag}});
  }
  absl::StatusOr<PutResult> PutIfAbsent(const std::string& body) override {
    return Put(body, {{"If-None-Match", "*"}});
  }

 private:
  absl::StatusOr<PutResult> Put(const std::string& body, const httplib::Headers& condition) {
    const auto answer = client_->Put(kObject, condition, body, "application/octet-stream");
    return zkrecipes::PutResultOf(answer ? answer->status : 0);
  }

  const std::unique_ptr<httplib::Client> client_;
};

class ObjectRegister final : public Register {
 public:
  explicit ObjectRegister(const std::string& address)
      : object_(std::make_unique<Transport>(address)), client_(HttpClient(address)) {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    return object_.Write(holder.pass, value);
  }
  // A put as everybody does it; it only looks like a fenced one.
  absl::Status WriteUnchecked(const std::string& value) override {
    const std::string body = zkrecipes::fencing::WriteFencedBody({.write = "-", .data = value});
    const auto answer = client_->Put(kObject, body, "application/octet-stream");
    return answer && answer->status == 200 ? absl::OkStatus() : absl::UnavailableError("PUT");
  }
  absl::StatusOr<std::string> Read() override {
    auto read = object_.Read();
    if (!read.ok()) return read.status();
    return std::move(read->data);
  }

 private:
  zkrecipes::FencedObject object_;
  const std::unique_ptr<httplib::Client> client_;
};

absl::StatusOr<std::unique_ptr<Server>> StartStore() {
  auto store = std::make_unique<ObjectStore>();
  if (absl::Status status = store->Start(); !status.ok()) return status;
  zkrecipes::FencedObject object(std::make_unique<Transport>(store->address()));
  if (absl::Status status = object.Create(); !status.ok()) return status;
  return store;
}

}  // namespace

Kind Object() {
  return {"object", &StartStore,
          [](const std::string& address) -> absl::StatusOr<std::unique_ptr<Register>> {
            return std::make_unique<ObjectRegister>(address);
          }};
}

}  // namespace resources
