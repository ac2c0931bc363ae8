// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCED_OBJECT_H_
#define ZKRECIPES_FENCED_OBJECT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing_floor.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// What became of a conditional write.
enum class PutResult {
  kDone,
  kNotDone,  // its condition did not hold, or another write was under way: nothing was written
  kUnknown,  // no answer: it may have been done, or may still be
};

// One object of a store with conditional writes, such as S3's, over whatever client the user has. A
// client that sends a request again by itself does no harm. Called by the threads that call the
// FencedObject.
//
// For the status of an error see FencedObject: what is returned here is passed on.
class ObjectTransport {
 public:
  // An object as the store has it.
  struct Object {
    std::string body = {};
    std::string etag = {};  // as the store gives it, quotes and all
  };
  virtual ~ObjectTransport() = default;
  // The latest, not from a cache. NotFound: there is no such object.
  virtual absl::StatusOr<Object> Get() = 0;
  // If the object has this etag: S3's `If-Match: ETAG`.
  virtual absl::StatusOr<PutResult> PutIfMatch(const std::string& body,
                                               const std::string& etag) = 0;
  // If there is none: S3's `If-None-Match: *`.
  virtual absl::StatusOr<PutResult> PutIfAbsent(const std::string& body) = 0;
};

// What S3's answer to a conditional PutObject means; `http_status` 0: there was none.
//   InvalidArgument     another 4xx: the request is wrong
//   PermissionDenied    401 and 403
//   Unimplemented       501: the store has no conditional writes
absl::StatusOr<PutResult> PutResultOf(int http_status);

// An object that refuses a holder which is out of date: its floor is in its body, in front of the
// data, so both are replaced in one step, unless they changed since they were read. Many processes
// may use it, each with its own pass. Thread-safe if the transport is; blocks for the transport:
// two requests a write, more if another writes at the same time.
//
// The store must honour the conditions. Some that speak S3's protocol ignore them, and so fence
// nothing: Create finds out. Whoever puts without a condition is not fenced; a bucket policy that
// demands s3:if-match refuses such requests.
//
// Never delete the object, not by a lifecycle rule either: with it goes its floor, and the next
// Create admits a holder that is out of date. To be rid of the data, write empty data, and keep the
// object.
//
// Errors of each call:
//   DataLoss            the object is not one of this kind, or is damaged; it is not touched
//   InvalidArgument     as the transport says; or it gives no ETag: nothing is put without a condition
//   PermissionDenied    as the transport says
//   Unavailable         the store cannot be reached, or others were faster 64 times. A write may
//                       have been made, or may still be, until the next write; another try
//                       of the same holder does no harm
//   Unimplemented       the store has no conditional writes
class FencedObject {
 public:
  // Not null.
  explicit FencedObject(std::unique_ptr<ObjectTransport> transport);

  // With no data and a floor that admits every pass. Once, when the system is set up, and not at
  // each start: see above. Tries first whether the store honours conditions; in one that does not,
  // the object is then one that nothing here writes to.
  //   AlreadyExists       there is one: it is not touched, nor read
  //   Unimplemented       the store ignores a condition: it cannot fence
  absl::Status Create();

  // Replaces the data.
  //   FailedPrecondition  the pass is stale: its holder has lost the lock. (If an answer was lost
  //                       before, the data may have been written before the newer holder's.)
  //   InvalidArgument     the pass has no token
  //   NotFound            there is no such object: it was never created, or is gone with its floor
  absl::Status Write(const FencingPass& pass, const std::string& data);

  // Reads, and raises the floor as a Write does: what is read can no longer be changed by an older
  // holder. A new holder that goes on from the data begins with this, not with Read.
  // Errors: those of Write.
  absl::StatusOr<std::string> Claim(const FencingPass& pass);

  //   NotFound            there is no such object: it was never created, or is gone with its floor
  absl::StatusOr<FencedData> Read();

 private:
  std::unique_ptr<ObjectTransport> transport_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCED_OBJECT_H_
