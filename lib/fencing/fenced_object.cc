// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fenced_object.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

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
// As S3's look; no body has it.
constexpr char kNoEtag[] = "\"00000000000000000000000000000000\"";

constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr absl::Duration kPatience = absl::Seconds(20);

// Growing pauses, for a store that does not answer or asks for fewer requests.
class Pauses {
 public:
  explicit Pauses(ObjectTransport& transport) : transport_(transport) {}
  // False: there were enough.
  bool Next() {
    if (waited_ >= kPatience) return false;
    transport_.Pause(pause_);
    waited_ += pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    return true;
  }
  absl::StatusOr<Object> Get() {
    auto object = transport_.Get();
    while (absl::IsUnavailable(object.status()) && Next()) object = transport_.Get();
    return object;
  }

 private:
  ObjectTransport& transport_;
  absl::Duration pause_ = kFirstPause, waited_;
};

absl::Status TooManyTries() {
  return absl::UnavailableError(
      absl::StrCat("a fenced object: in ", kTries, " tries no conditional put was done"));
}

absl::Status NoAnswer() {
  return absl::UnavailableError(absl::StrCat("a fenced object: the store answered no put in ",
                                             absl::FormatDuration(kPatience),
                                             " of pauses: not known whether one was done"));
}

// An earlier put without an answer may have been done, or may still be, whatever stops the call
// now.
absl::Status Outcome(bool unknown, const absl::Status& status) {
  if (!unknown || absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; not known whether an earlier put of this call was done"));
}

// A write that was done must not be done again over one that followed it.
absl::Status Overtaken() {
  return absl::UnavailableError(
      "a fenced object: another write came behind a put without an answer: not known whether that "
      "put was done before");
}

absl::Status CheckEtag(const Object& object) {
  // A put with an empty If-Match may be taken for one without a condition.
  if (object.etag.empty()) {
    return absl::InvalidArgumentError(
        "a fenced object: the transport gives no ETag of what it gets");
  }
  if (!absl::StartsWith(object.etag, "W/")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a fenced object: the weak ETag ", object.etag,
      ", which If-Match never matches: something between, such as compression, has changed it"));
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
absl::Status ExpectNotDone(ObjectTransport& transport, const char* condition, Put put) {
  Pauses pauses(transport);
  for (int i = 0; i < kTries; ++i) {
    const absl::StatusOr<PutResult> result = put();
    if (!result.ok()) return result.status();
    if (*result == PutResult::kNotDone) return absl::OkStatus();
    // It proves nothing: the put may not have reached the store.
    if (*result == PutResult::kUnknown) {
      if (!pauses.Next()) return NoAnswer();
      continue;
    }
    return absl::UnimplementedError(
        absl::StrCat("a fenced object: the store ignores ", condition, ", so it cannot fence"));
  }
  return TooManyTries();
}

// OK once the object holds `body`, though answers are lost.
absl::Status PutNew(ObjectTransport& transport, const FencedBody& body) {
  Pauses pauses(transport);
  bool unknown = false;
  for (int i = 0; i < kTries; ++i) {
    const auto put = transport.PutIfAbsent(fencing::WriteFencedBody(body));
    if (!put.ok()) return Outcome(unknown, put.status());
    if (*put == PutResult::kDone) return absl::OkStatus();
    unknown = unknown || *put == PutResult::kUnknown;
    if (*put == PutResult::kUnknown && !pauses.Next()) return NoAnswer();
    // The put may have been done though its answer was lost, or another one's was.
    const auto object = pauses.Get();
    if (absl::IsNotFound(object.status())) continue;
    if (!object.ok()) return Outcome(unknown, object.status());
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
  Pauses pauses(transport);
  bool unknown = false;
  std::string replaced;  // the GUID in whose place the last put was
  for (int i = 0; i < kTries; ++i) {
    const absl::StatusOr<Object> object = pauses.Get();
    auto body = Parsed(object);
    if (!body.ok()) return Outcome(unknown, body.status());
    // Its own GUID: an earlier put was done, and only the answer was lost.
    if (body->write == own) return body;
    if (absl::Status status = CheckEtag(*object); !status.ok()) return Outcome(unknown, status);
    // Judged by the floor that is replaced with this etag: if a newer holder comes in between, the
    // etag differs, nothing is put, and the next try sees that holder's floor.
    const FencingFloor floor = body->floor;
    if (absl::Status status = body->floor.Admit(pass); !status.ok()) return status;
    // A claim that raises nothing has nothing to put: its floor is in the store already.
    if (data == nullptr && body->floor == floor) return body;
    // A lower floor proves that no put of this call was done.
    if (data != nullptr && unknown && body->floor == floor && body->write != replaced) {
      return Overtaken();
    }
    if (data != nullptr) body->data = *data;
    replaced = std::exchange(body->write, own);
    const auto put = transport.PutIfMatch(fencing::WriteFencedBody(*body), object->etag);
    if (!put.ok()) return Outcome(unknown, put.status());
    // Not done, or not known: the object itself tells which.
    if (*put == PutResult::kDone) return body;
    unknown = unknown || *put == PutResult::kUnknown;
    if (*put == PutResult::kUnknown && !pauses.Next()) return NoAnswer();
  }
  return TooManyTries();
}

}  // namespace

void ObjectTransport::Pause(absl::Duration pause) { absl::SleepFor(pause); }

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
  // A server's error, a wait that a server or proxy has given up, or no answer at all: the put may
  // have been done, or may still be.
  if (http_status < 400 || http_status >= 500 || http_status == 408 || http_status == 429) {
    return PutResult::kUnknown;
  }
  return absl::InvalidArgumentError(absl::StrCat("the object store answers ", http_status));
}

FencedObject::FencedObject(std::unique_ptr<ObjectTransport> transport)
    : transport_(std::move(transport)) {}

absl::Status FencedObject::Create() {
  const auto there = Pauses(*transport_).Get();
  if (there.ok()) return absl::AlreadyExistsError("a fenced object: it exists already");
  if (!absl::IsNotFound(there.status())) return there.status();
  // Before there is an object that anybody writes to: a store that ignores the condition has then
  // damaged nothing.
  const auto if_match = [&] { return transport_->PutIfMatch(kIgnoresConditions, kNoEtag); };
  absl::Status status = ExpectNotDone(*transport_, "If-Match", if_match);
  if (status.ok()) status = PutNew(*transport_, {.write = base::NewGuid()});
  if (!status.ok()) return status;
  const auto created = Pauses(*transport_).Get();
  if (!created.ok()) return created.status();
  status = CheckEtag(*created);
  // A store may refuse a put to no object, and ignore the same condition once there is one. If it
  // does, the object is overwritten with a text that nothing here takes for a fenced one.
  if (status.ok()) status = ExpectNotDone(*transport_, "If-Match", if_match);
  if (!status.ok()) return status;
  return ExpectNotDone(*transport_, "If-None-Match",
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
  auto body = Parsed(Pauses(*transport_).Get());
  if (!body.ok()) return body.status();
  return FencedData{std::move(body->data), body->floor};
}

}  // namespace zkrecipes
