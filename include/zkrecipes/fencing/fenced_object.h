// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCED_OBJECT_H_
#define ZKRECIPES_FENCING_FENCED_OBJECT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The result of a conditional write.
enum class PutResult {
  kDone,
  kNotDone,  // its condition did not hold, or another write was under way: nothing was written
  kUnknown,  // no answer, or not the store's last word: it may have been written, or may still be
};

// One object of a store with conditional writes, such as S3's, over the user's own client. Where
// the client repeats requests by itself, as those of S3 do, turn that off for puts, or return
// kUnknown for every failure (412, 409, ...) behind a repetition: the first put may have been done,
// and would be done again, over another write of the same floor that followed it. Called by the
// threads that call the FencedObject, which passes on the statuses of these methods.
class ObjectTransport {
 public:
  // An object as the store has it.
  struct Object {
    std::string body = {};
    std::string etag = {};  // as the store returns it, with quotes; a weak one is refused
  };
  virtual ~ObjectTransport() = default;
  // Reads the latest version, not a cached one. NotFound: there is no such object. Unavailable
  // (429, 503, no answer): it is tried again.
  virtual absl::StatusOr<Object> Get() = 0;
  // Writes if the object has this etag: S3's `If-Match: ETAG`.
  virtual absl::StatusOr<PutResult> PutIfMatch(const std::string& body,
                                               const std::string& etag) = 0;
  // Writes if there is no object: S3's `If-None-Match: *`.
  virtual absl::StatusOr<PutResult> PutIfAbsent(const std::string& body) = 0;
  // Before another try where the store did not answer or asked for fewer requests: 20 ms, and twice
  // as long each time up to 2 s; 20 s in all of one call. Sleeps by default.
  virtual void Pause(absl::Duration pause);
};

// The meaning of S3's answer to a conditional PutObject; `http_status` 0: there was no answer. 408,
// 429 and all of a server's errors are kUnknown. So is S3's RequestTimeout, a 400 that only the
// code in its body tells from other ones: a transport returns kUnknown for it without this
// function.
//   InvalidArgument     another 4xx: the request is wrong
//   PermissionDenied    401 and 403
//   Unimplemented       501: the store has no conditional writes
absl::StatusOr<PutResult> PutResultOf(int http_status);

// An object that refuses a stale holder. The body has the floor in front of the data, so both are
// replaced in one step, unless they changed since they were read. Many processes may use it, each
// with its own pass. Thread-safe if the transport is; blocks for the transport: two requests a
// write, more if another process writes at the same time.
//
// The store must honour conditions. Some stores that speak S3's protocol ignore them, and so fence
// nothing; Create detects this. A client that puts without a condition is not fenced; a bucket
// policy that demands s3:if-match refuses such requests.
//
// Never delete the object, not even by a lifecycle rule: its floor would be lost, and the next
// Create would admit a stale holder. To remove the data, write empty data, and keep the object.
//
// Errors of each call:
//   DataLoss            the object is not one of this kind, or is damaged; it is not touched
//   InvalidArgument     from the transport; or it returned no ETag, or a weak one, by which nothing
//                       can be put conditionally
//   PermissionDenied    from the transport
//   Unavailable         the store could not be reached or gave no answer in 20 s of pauses, other
//                       writers were faster 64 times, or one of the same floor wrote behind a put
//                       without an answer. The data may have been written, or may yet be, until the
//                       next write; another try by the same holder does no harm
//   Unimplemented       the store has no conditional writes
class FencedObject {
 public:
  // REQUIRES: transport is not null.
  explicit FencedObject(std::unique_ptr<ObjectTransport> transport);

  // Creates the object, with no data and a floor that admits every pass. Call it once, when the
  // system is set up, and not at each start: see above. It first tries whether the store honours
  // conditions; where the store does not, it leaves an object that this class never writes to.
  // After any other error the object may be there, though the store was not tried to the end, and
  // the next Create, which is AlreadyExists, does not do so. Only if no holder runs yet, and Read
  // gives no data and the floor FencingFloor(), delete the object, and create it again.
  //   AlreadyExists       the object exists; it is neither changed nor read
  //   Unimplemented       the store ignores a condition: it cannot fence
  absl::Status Create();

  // Replaces the data.
  //   FailedPrecondition  the pass is stale: its holder has lost the lock. (If an answer was lost
  //                       before, the data may have been written before the newer holder's.)
  //   InvalidArgument     the pass has no token
  //   NotFound            there is no such object: it was never created, or is gone with its floor
  absl::Status Write(const FencingPass& pass, const std::string& data);

  // Reads the data, and raises the floor as a Write does, so that no older holder can change the
  // data any more. A new holder that goes on from the data begins with this, not with Read.
  // Errors: those of Write.
  absl::StatusOr<std::string> Claim(const FencingPass& pass);

  //   NotFound            there is no such object: it was never created, or is gone with its floor
  absl::StatusOr<FencedData> Read();

 private:
  std::unique_ptr<ObjectTransport> transport_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCED_OBJECT_H_
