// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FLOOR_DATABASE_H_
#define ZKRECIPES_FENCING_FLOOR_DATABASE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The floors of a FencingGate in an SQLite database (link zkrecipes::sqlite), which survives a
// crash at any moment: a floor that was saved is on the disk. A save costs three syncs of the file,
// once a grant. The database is the file `path`, of mode 0600, with `path`-journal beside it, which
// belongs to it after a crash. It may be copied or moved, both together, while no process has it
// open. Give it no second name by a hard link, and mount its folder, not the file, into a
// container: a journal beside another name would be missed.
//
// Creating and opening are two calls, since an empty database admits every holder: a service that
// created the file wherever it is missing (a volume that is not mounted) would admit one that is
// out of date.

// Creates the database, without floors. Once, when the system is set up, and not at each start. A
// crash meanwhile leaves no database, or a whole one.
//   AlreadyExists       there is such a file, or a journal of an older one; it is not touched
//   InvalidArgument     the path is empty, or has a NUL in it
//   Unavailable         the file cannot be made: the message says why
absl::Status CreateFloorDatabase(const std::string& path);

// Opens the database. One process at a time may have it open, and must not open the file in any
// other way: closing that would end the lock. A forked child must not use it.
//   DataLoss            the file is no floor database, is damaged or empty; it is not touched
//   FailedPrecondition  it is open already, in this process or another
//   InvalidArgument     the path is empty, or has a NUL in it
//   NotFound            there is no such file: it was never created, or is gone with its floors
//   Unavailable         the file cannot be read or written: the message says why
// The store's own calls give Unavailable and DataLoss likewise, and Save gives InvalidArgument for
// a key of more than 4096 bytes. A call that failed with Unavailable may succeed later.
absl::StatusOr<std::unique_ptr<FloorStore>> OpenFloorDatabase(const std::string& path);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FLOOR_DATABASE_H_
