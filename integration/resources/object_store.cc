// SPDX-License-Identifier: Apache-2.0

#include "integration/resources/object_store.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace resources {
namespace {

using httplib::Request;
using httplib::Response;
using zkrecipes::PutResult;

std::string EtagOf(const std::string& body) {
  return absl::StrFormat("\"%016x\"", std::hash<std::string>()(body));
}

void Refuse(Response& response, int status) {
  static const std::map<int, const char*> kCodes = {{404, "NoSuchKey"},
                                                    {409, "ConditionalRequestConflict"},
                                                    {412, "PreconditionFailed"},
                                                    {500, "InternalError"},
                                                    {501, "NotImplemented"}};
  response.status = status;
  response.set_content(absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>",
                                    kCodes.at(status), "</Code></Error>\n"),
                       "application/xml");
}

bool IsConditional(const Request& request) {
  return request.has_header("If-Match") || request.has_header("If-None-Match");
}

class Transport final : public zkrecipes::ObjectTransport {
 public:
  Transport(const std::string& address, std::string path)
      : client_(HttpClient(address)), path_(std::move(path)) {}

  absl::StatusOr<Object> Get() override {
    const auto answer = client_->Get(path_.c_str());
    if (!answer) return absl::UnavailableError(httplib::to_string(answer.error()));
    if (answer->status == 404) return absl::NotFoundError(path_ + ": there is no such object");
    if (answer->status == 200) return Object{answer->body, answer->get_header_value("ETag")};
    return absl::UnavailableError(absl::StrCat("GET ", path_, ": ", answer->status));
  }
  absl::StatusOr<PutResult> PutIfMatch(const std::string& body, const std::string& etag) override {
    return Put(body, {{"If-Match", etag}});
  }
  absl::StatusOr<PutResult> PutIfAbsent(const std::string& body) override {
    return Put(body, {{"If-None-Match", "*"}});
  }

 private:
  absl::StatusOr<PutResult> Put(const std::string& body, const httplib::Headers& condition) {
    const auto answer = client_->Put(path_.c_str(), condition, body, "application/octet-stream");
    return zkrecipes::PutResultOf(answer ? answer->status : 0);
  }

  const std::unique_ptr<httplib::Client> client_;
  const std::string path_;
};

}  // namespace

absl::Status ObjectStore::Start() {
  const bool listens = server_.Start([this](httplib::Server& server) {
    const char kPath[] = "/[^/]+/.+";
    server.Get(kPath, [this](const Request& q, Response& a) { Get(q, a); });
    server.Put(kPath, [this](const Request& q, Response& a) { Put(q, a); });
    server.Delete(kPath, [this](const Request& q, Response& a) {
      const std::lock_guard lock(mutex_);
      objects_.erase(q.path);
      a.status = 204;
    });
  });
  return listens ? absl::OkStatus() : absl::UnavailableError("it cannot listen");
}

void ObjectStore::Get(const Request& request, Response& response) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(request.path);
  if (found == objects_.end()) return Refuse(response, 404);
  response.set_header("ETag", EtagOf(found->second));
  response.set_content(found->second, "application/octet-stream");
}

int ObjectStore::Judge(const Request& request) const {
  const auto found = objects_.find(request.path);
  if (request.has_header("If-None-Match")) {
    if (request.get_header_value("If-None-Match") != "*") return 501;
    if (found != objects_.end()) return 412;
  }
  if (request.has_header("If-Match")) {
    if (found == objects_.end()) return 404;
    if (EtagOf(found->second) != request.get_header_value("If-Match")) return 412;
  }
  return 200;
}

void ObjectStore::Put(const Request& request, Response& response) {
  std::unique_lock writing(writing_, std::defer_lock);
  if (!IsConditional(request)) {
    writing.lock();
  } else if (!writing.try_lock()) {
    return Refuse(response, 409);
  }
  const std::lock_guard lock(mutex_);
  if (IsConditional(request) && faults_.conflicts > 0) {
    --faults_.conflicts;
    return Refuse(response, 409);
  }
  const int status = faults_.ignores_conditions ? 200 : Judge(request);
  if (status != 200) return Refuse(response, status);
  objects_[request.path] = request.body;
  response.set_header("ETag", EtagOf(request.body));
  if (faults_.lost_answers == 0) return;
  --faults_.lost_answers;
  Refuse(response, 500);
}

std::unique_ptr<zkrecipes::ObjectTransport> TransportTo(const std::string& address,
                                                        const std::string& path) {
  return std::make_unique<Transport>(address, path);
}

}  // namespace resources
