// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCED_FILE_H_
#define ZKRECIPES_FENCING_FENCED_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class FileOnDisk;
}  // namespace internal

// A file that refuses a stale holder: its floor and its data are replaced in one step, by a rename.
// After a crash at any moment the file has the old or the new content, complete. Many processes may
// have it open, each with its own pass. Thread-safe; every call blocks for the disk.
//
// The file is one line with the floor, followed by the data (`tail -n +2 FILE`). It has mode 0600,
// so all processes must run as one user. A writer locks the file (flock), writes `PATH.new` beside
// it, and renames that over it. A process that is stopped in the middle of a write makes the others
// wait, and fail after ten seconds, but never lets a stale one through. It is safe to end that
// process, but not to remove `PATH.new` while another may write or create the file: the next write
// removes what a crash has left of it. Nor is it safe to replace or copy back the file itself: a
// copy is a file of its own, with a floor of its own. A process that writes the path without this
// class is not fenced; a file that was deleted has lost its floor. Do not name one fenced file as
// another's `PATH.new`.
//
// A file has one name: a symbolic link to it is refused, and so is a write while it has a second
// hard link, since the rename would leave the old floor at the other name. Mount a folder, not the
// file, into a container.
//
// A child that is forked without exec in the middle of another thread's write, and whose parent is
// killed before that write ends, keeps the lock for as long as it lives.
//
// On NFS the lock must be the server's (NFSv4, without `local_lock` or `nolock`). A client that
// does not reach the server for the server's lease time (90 s by default) loses the lock without
// notice. A write looks once more just before the rename whether the file is still the one that it
// has judged, but one that was frozen just behind this look may replace a newer one. Where this
// cannot be excluded, use a FencedObject, a database or an HTTP service.
//
// Errors of each call:
//   DataLoss            the file is not one of this kind, or is damaged; it is not touched
//   InvalidArgument     the path names no file or a symbolic link, or has a NUL in it; a file of
//                       several names was to be written
//   Unavailable         the disk failed, another process has been writing for ten seconds, or
//                       somebody has replaced the file meanwhile: the message says which. A write
//                       may have been made, or not; another try of the same holder does no harm
class FencedFile {
 public:
  explicit FencedFile(const std::string& path);
  ~FencedFile();
  FencedFile(FencedFile&&) noexcept;
  FencedFile& operator=(FencedFile&&) noexcept;

  // Creates the file, with no data and a floor that admits every pass. Call it once, when the
  // system is set up, and not at each start: where an existing file is missing, for example because
  // a disk is not mounted, a new one would admit a stale holder.
  //   AlreadyExists       the file exists; it is neither changed nor read
  //   Unimplemented       the file system has no hard links, by one of which the file gets its name
  absl::Status Create();

  // Replaces the data; they are on the disk when it returns.
  //   FailedPrecondition  the pass is stale: its holder has lost the lock
  //   InvalidArgument     the pass has no token
  //   NotFound            there is no such file: it was never created, or is gone with its floor
  absl::Status Write(const FencingPass& pass, const std::string& data);

  // Reads the data, and raises the floor as a Write does, so that no older holder can change the
  // data any more. A new holder that goes on from the data begins with this, not with Read.
  // Errors: those of Write.
  absl::StatusOr<std::string> Claim(const FencingPass& pass);

  //   NotFound            there is no such file: it was never created, or is gone with its floor
  absl::StatusOr<FencedData> Read() const;

 private:
  std::unique_ptr<internal::FileOnDisk> file_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCED_FILE_H_
