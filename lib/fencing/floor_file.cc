// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/floor_file.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/fencing/floor_log.h"

namespace zkrecipes {
namespace internal {
absl::StatusOr<std::unique_ptr<FloorStore>> FloorFile::Open(std::unique_ptr<Disk> disk,
                                                            const std::string& path, size_t spare) {
  std::unique_ptr<FloorFile> store(new FloorFile(std::move(disk), path, spare));
  if (absl::Status status = store->Begin(); !status.ok()) return status;
  return store;
}

FloorFile::FloorFile(std::unique_ptr<Disk> disk, std::string path, size_t spare)
    : disk_(std::move(disk)), path_(std::move(path)), spare_(spare) {}

absl::Status FloorFile::Begin() {
  if (absl::Status status = disk_->Lock(path_ + ".lock"); !status.ok()) return status;
  auto file = disk_->Open(path_);
  if (!file.ok()) return file.status();
  file_ = *std::move(file);
  if (absl::Status status = Read(); !status.ok()) return status;
  frayed_ = renamed_ = true;  // the file may be new
  return Mend();
}

absl::Status FloorFile::Read() {
  const auto text = file_->Read();
  if (!text.ok()) return text.status();
  auto log = ReadFloorLog(*text);
  if (!log.ok()) return absl::DataLossError(absl::StrCat(path_, ": ", log.status().message()));
  end_ = log->end;
  records_ = log->records;
  floors_ = std::move(log->floors);
  due_ = 2 * floors_.size() + spare_;
  return absl::OkStatus();
}

absl::Status FloorFile::Load(
    absl::FunctionRef<void(const std::string&, const FencingFloor&)> each) {
  for (const auto& [key, floor] : std::exchange(floors_, {})) each(key, floor);
  return absl::OkStatus();
}

// After a crash, or a write that failed: nothing may stand behind the end when the next record is
// written there, lest the rest of a longer one follow it.
absl::Status FloorFile::Mend() {
  if (renamed_) {
    if (absl::Status status = disk_->SyncFolderOf(path_); !status.ok()) return status;
    renamed_ = false;
  }
  if (!frayed_) return absl::OkStatus();
  if (absl::Status status = file_->Truncate(end_); !status.ok()) return status;
  if (end_ == 0) {
    if (absl::Status status = file_->Write(0, kFloorLogHeader); !status.ok()) return status;
  }
  if (absl::Status status = file_->Sync(); !status.ok()) return status;
  if (end_ == 0) end_ = sizeof(kFloorLogHeader) - 1;
  frayed_ = false;
  return absl::OkStatus();
}

absl::Status FloorFile::Append(const std::string& record) {
  if (absl::Status status = Mend(); !status.ok()) return status;
  frayed_ = true;
  if (absl::Status status = file_->Write(end_, record); !status.ok()) return status;
  if (absl::Status status = file_->Sync(); !status.ok()) return status;
  frayed_ = false;
  end_ += record.size();
  ++records_;
  return absl::OkStatus();
}

absl::Status FloorFile::Save(const std::string& key, const FencingFloor& floor) {
  if (key.size() > kLongestFloorKey) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", key.size(), " bytes: must be at most ", kLongestFloorKey));
  }
  if (absl::Status status = Append(FloorRecord(key, floor)); !status.ok()) return status;
  // The floor is safe already. A rewrite reads the whole file, so one that fails is not tried each time.
  if (records_ >= due_ && !Rewrite().ok()) due_ = records_ + spare_;
  return absl::OkStatus();
}

absl::Status FloorFile::Forget(const std::string& key) { return Append(ForgottenRecord(key)); }

// The old file is there, and whole, until the new one is complete on the disk.
absl::Status FloorFile::Rewrite() {
  const std::string next_path = path_ + ".new";
  const auto old_text = file_->Read();
  if (!old_text.ok()) return old_text.status();
  const auto log = ReadFloorLog(*old_text);
  if (!log.ok()) return log.status();
  std::string text = kFloorLogHeader;
  for (const auto& [key, floor] : log->floors) text += FloorRecord(key, floor);
  auto next = disk_->Open(next_path);
  if (!next.ok()) return next.status();
  if (absl::Status status = (*next)->Truncate(0); !status.ok()) return status;
  if (absl::Status status = (*next)->Write(0, text); !status.ok()) return status;
  if (absl::Status status = (*next)->Sync(); !status.ok()) return status;
  if (absl::Status status = disk_->Rename(next_path, path_); !status.ok()) return status;
  // What is saved from here on goes to the new file: not before it is sure to have the name (Mend).
  renamed_ = true;
  file_ = *std::move(next);
  end_ = text.size();
  records_ = log->floors.size();
  due_ = 2 * records_ + spare_;
  return absl::OkStatus();
}

}  // namespace internal

absl::StatusOr<std::unique_ptr<FloorStore>> OpenFloorFile(const std::string& path) {
  return internal::FloorFile::Open(internal::RealDisk(), path);
}

}  // namespace zkrecipes
