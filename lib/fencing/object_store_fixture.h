// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_OBJECT_STORE_FIXTURE_H_
#define ZKRECIPES_LIB_FENCING_OBJECT_STORE_FIXTURE_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "zkrecipes/fencing/fenced_object.h"

namespace zkrecipes::fencing {

// An object of a store in memory. As S3's, its etag is made of what it holds: the same body, the
// same etag.
struct StoredObject {
  std::optional<std::string> body = {};
  bool ignores_conditions = false;
  bool ignores_if_match = false;  // of an object that exists
  bool tells_no_etag = false;
  std::string etag_prefix = {};
  int busy = 0;                             // so many requests are answered by 503
  std::vector<absl::Duration> pauses = {};  // of all clients
  int conflicts = 0;  // so many puts are refused since another write is under way, as S3's 409 says
  std::vector<std::string> puts = {};            // the bodies of those that were done
  std::vector<std::function<void()>> late = {};  // requests that still are under way

  std::string etag() const {
    return body ? absl::StrCat("\"", absl::Hash<std::string>()(*body), "\"") : "";
  }
  bool Put(const std::string& next, bool condition) {
    if (!condition && !ignores_conditions) return false;
    if (conflicts-- > 0) return false;
    body = next;
    puts.push_back(next);
    return true;
  }
};

// The fate of a put.
enum class PutFault {
  kNone,
  kLostRequest,
  kLostAnswer,
  kLateBeforeGet,
  kLateAfterGet,
  kLateAtTheEnd,
  kRepeated  // by the client, which had no answer, and tells it
};

// A client of it.
class StoredObjectTransport : public ObjectTransport {
 public:
  // `step` is called before each request. `fault` happens to the first put.
  explicit StoredObjectTransport(
      StoredObject& object, PutFault fault = PutFault::kNone, std::function<void()> step = [] {})
      : object_(object), fault_(fault), step_(std::move(step)) {}

  absl::StatusOr<Object> Get() override {
    step_();
    Arrive(before_get_);
    const auto body = object_.body;
    const std::string etag = object_.etag_prefix + object_.etag();
    if (object_.busy > 0 && object_.busy-- > 0) return absl::UnavailableError("503");
    Arrive(after_get_);
    if (!body) return absl::NotFoundError("no such object");
    return Object{*body, object_.tells_no_etag ? "" : etag};
  }
  absl::StatusOr<PutResult> PutIfMatch(const std::string& body, const std::string& etag) override {
    return Put([&object = object_, body, etag] {
      return object.Put(
          body, object.body.has_value() && (object.ignores_if_match || object.etag() == etag));
    });
  }
  absl::StatusOr<PutResult> PutIfAbsent(const std::string& body) override {
    return Put([&object = object_, body] { return object.Put(body, !object.body.has_value()); });
  }

  void Pause(absl::Duration pause) override { object_.pauses.push_back(pause); }

 private:
  using Request = std::function<bool()>;

  PutResult Put(const Request& request) {
    step_();
    if (object_.busy > 0 && object_.busy-- > 0) return PutResult::kUnknown;
    switch (std::exchange(fault_, PutFault::kNone)) {
      case PutFault::kNone:
        return request() ? PutResult::kDone : PutResult::kNotDone;
      case PutFault::kLostRequest:
        break;
      case PutFault::kLostAnswer:
        (void)request();
        break;
      case PutFault::kRepeated:
        (void)request();
        if (request()) return PutResult::kDone;
        break;
      case PutFault::kLateBeforeGet:
        before_get_ = request;
        break;
      case PutFault::kLateAfterGet:
        after_get_ = request;
        break;
      case PutFault::kLateAtTheEnd:
        object_.late.push_back([request] { (void)request(); });
        break;
    }
    return PutResult::kUnknown;
  }
  static void Arrive(Request& request) {
    if (const Request arrived = std::exchange(request, nullptr)) (void)arrived();
  }

  StoredObject& object_;
  PutFault fault_;
  const std::function<void()> step_;
  Request before_get_, after_get_;
};

}  // namespace zkrecipes::fencing

#endif  // ZKRECIPES_LIB_FENCING_OBJECT_STORE_FIXTURE_H_
