// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fenced_object.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"
#include "lib/fencing/fenced_body.h"

namespace zkrecipes {
namespace {

using fencing::FencedBody;
using Object = ObjectTransport::Object;

// Only those who write at the same time lose, and one of them wins each time.
constexpr int kTries = 64;

// A text that must never be written: nothing here takes it for a fenced object.
constexpr char kIgnoresConditions[] =
    "zkrecipes: this store ignores conditions, so it cannot fence\n";
constexpr char kNoEtag[] = "\"zkrecipes-none\"";

absl::Status TooManyTries() {
  return absl::UnavailableError(
      absl::StrCat("a fenced object: in ", kTries, " tries no conditional put was done"));
}

// A put with an empty If-Match may be taken for one without a condition.
absl::Status NoEtag() {
  return absl::InvalidArgumentError("a fenced object: the transport gives no ETag of what it gets");
}

// Damage is never taken for an object without a floor.
absl::StatusOr<FencedBody> Parsed(const absl::StatusOr<Object>& object) {
  if (!object.ok()) return object.status();
  auto body = fencing::ReadFencedBody(object->body);
  if (body.ok()) return body;
  return absl::DataLossError(absl::StrCat("a fenced object: ", body.status().message()));
}

// `put` is one whose condition does not hold.
template <typename Put>
absl::Status ExpectNotDone(const char* condition, Put put) {
  for (int i = 0; i < kTries; ++i) {
    const absl::StatusOr<PutResult> result = put();
    if (!result.ok()) return result.status();
    if (*result == PutResult::kNotDone) return absl::OkStatus();
    // It proves nothing: the put may not have reached the store.
    if (*result == PutResult::kUnknown) continue;
    return absl::UnimplementedError(
        absl::StrCat("a fenced object: the store ignores ", condition, ", so it cannot fence"));
  }
  return TooManyTries();
}

// OK once the object holds `body`, though answers are lost.
absl::Status PutNew(ObjectTransport& transport, const FencedBody& body) {
  for (int i = 0; i < kTries; ++i) {
    const auto put = transport.PutIfAbsent(fencing::WriteFencedBody(body));
    if (!put.ok()) return put.status();
    if (*put == PutResult::kDone) return absl::OkStatus();
    // The put may have been done though its answer was lost, or another one's was.
    const auto object = transport.Get();
    if (absl::IsNotFound(object.status())) continue;
    if (!object.ok()) return object.status();
    const auto there = Parsed(object);
    if (there.ok() && there->write == body.write) return absl::OkStatus();
    return absl::AlreadyExistsError("a fenced object: it exists already");
  }
  return TooManyTries();
}

// Claims if there is no data. Returns what the object holds then. All tries put the same GUID: of
// several that are under way at most one is done, since it changes the etag.
absl::StatusOr<FencedBody> Replace(ObjectTransport& transport, const FencingPass& pass,
                                   const std::string* data) {
  const std::string own = base::NewGuid();
  for (int i = 0; i < kTries; ++i) {
    const absl::StatusOr<Object> object = transport.Get();
    auto body = Parsed(object);
    // Its own GUID: an earlier put was done, and only the answer was lost.
    if (!body.ok() || body->write == own) return body;
    if (object->etag.empty()) return NoEtag();
    // Judged by the floor that is replaced with this etag: if a newer holder comes in between, the
    // etag differs, nothing is put, and the next try sees that holder's floor.
    const FencingFloor floor = body->floor;
    if (absl::Status status = body->floor.Admit(pass); !status.ok()) return status;
    // A claim that raises nothing has nothing to put: its floor is in the store already.
    if (data == nullptr && body->floor == floor) return body;
    if (data != nullptr) body->data = *data;
    body->write = own;
    const auto put = transport.PutIfMatch(fencing::WriteFencedBody(*body), object->etag);
    if (!put.ok()) return put.status();
    // Not done, or not known: the object itself tells which.
    if (*put == PutResult::kDone) return body;
  }
  return TooManyTries();
}

}  // namespace

absl::StatusOr<PutResult> PutResultOf(int http_status) {
  if (http_status >= 200 && http_status < 300) return PutResult::kDone;
  switch (http_status) {
    case 404:  // If-Match, and the object is gone
    case 409:  // ConditionalRequestConflict
    case 412:
      return PutResult::kNotDone;
    case 401:
    case 403:
      return absl::PermissionDeniedError(absl::StrCat("the object store answers ", http_status));
    case 501:
      return absl::UnimplementedError("the object store has no conditional writes: it answers 501");
    default:
      break;
  }
  // A server's error, or none at all: the put may have been done, or may still be.
  if (http_status < 400 || http_status >= 500) return PutResult::kUnknown;
  return absl::InvalidArgumentError(absl::StrCat("the object store answers ", http_status));
}

FencedObject::FencedObject(std::unique_ptr<ObjectTransport> transport)
    : transport_(std::move(transport)) {}

absl::Status FencedObject::Create() {
  const auto there = transport_->Get();
  if (there.ok()) return absl::AlreadyExistsError("a fenced object: it exists already");
  if (!absl::IsNotFound(there.status())) return there.status();
  // Before there is an object that anybody writes to: a store that ignores the condition has then
  // damaged nothing.
  absl::Status status = ExpectNotDone(
      "If-Match", [&] { return transport_->PutIfMatch(kIgnoresConditions, kNoEtag); });
  if (!status.ok()) return status;
  // PutIfAbsent can only be tried on an object that exists: if the store ignores that condition,
  // the object is overwritten with a text that nothing here takes for a fenced one.
  status = PutNew(*transport_, {.write = base::NewGuid()});
  if (!status.ok()) return status;
  return ExpectNotDone("If-None-Match",
                       [&] { return transport_->PutIfAbsent(kIgnoresConditions); });
}

absl::Status FencedObject::Write(const FencingPass& pass, const std::string& data) {
  return Replace(*transport_, pass, &data).status();
}

absl::StatusOr<std::string> FencedObject::Claim(const FencingPass& pass) {
  auto body = Replace(*transport_, pass, nullptr);
  if (!body.ok()) return body.status();
  return std::move(body->data);
}

absl::StatusOr<FencedData> FencedObject::Read() {
  auto body = Parsed(transport_->Get());
  if (!body.ok()) return body.status();
  return FencedData{std::move(body->data), body->floor};
}

}  // namespace zkrecipes
