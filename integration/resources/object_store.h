// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_OBJECT_STORE_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_OBJECT_STORE_H_

#include <httplib.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "integration/resources/http_server.h"
#include "integration/resources/kinds.h"
#include "zkrecipes/fenced_object.h"

namespace resources {

// Speaks S3's protocol for what a fenced object needs, as AWS documents it: GET, PUT and DELETE of
// /BUCKET/KEY, with If-Match and If-None-Match on PUT. 412 PreconditionFailed if a condition does
// not hold; 404 NoSuchKey for an If-Match without an object; 409 ConditionalRequestConflict while
// another write of the same key is under way; 501 NotImplemented for an If-None-Match that is not
// "*". An etag is made of what the object holds. Requests need no signature.
class ObjectStore final : public Server {
 public:
  struct Faults {
    bool ignores_conditions = false;  // as some servers of this protocol do
    int conflicts = 0;                // so many conditional puts get 409
    int lost_answers = 0;             // so many puts are done, and answered by 500
  };

  absl::Status Start();
  std::string address() const override { return server_.address(); }
  Faults& faults() { return faults_; }

 private:
  void Get(const httplib::Request& request, httplib::Response& response);
  void Put(const httplib::Request& request, httplib::Response& response);
  // The status that the condition gives; 200: go on.
  int Judge(const httplib::Request& request) const;

  std::mutex writing_;  // by the put that is under way
  std::mutex mutex_;
  Faults faults_;
  std::map<std::string, std::string> objects_;
  HttpServer server_;
};

// Of the object at `path`, "/bucket/key", as any HTTP client would do it. One thread.
std::unique_ptr<zkrecipes::ObjectTransport> TransportTo(const std::string& address,
                                                        const std::string& path);

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_OBJECT_STORE_H_
