// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_DISK_FIXTURE_H_
#define ZKRECIPES_LIB_FENCING_DISK_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lib/fencing/file_on_disk.h"

namespace zkrecipes::fencing {

// A file's bytes now, and those that a crash leaves at least.
struct Content {
  std::string now;
  std::string synced;
  const void* locked_by = nullptr;
};
using Inode = std::shared_ptr<Content>;

// A disk whose crash comes at any call, and at any byte of what was not synced.
struct Platter {
  std::map<std::string, Inode> names;
  std::map<std::string, Inode> synced_names;
  int calls = 0;
  int crash_at = -1;  // this call and all later ones fail
  size_t torn = 0;    // of a write that crashes so many bytes arrive

  bool Crashes() { return crash_at >= 0 && calls++ >= crash_at; }
};

inline absl::Status Crash() { return absl::UnavailableError("crash"); }

// A crash leaves of the bytes that were not synced all, nothing, or zeros in their place, since
// the file's length was on the disk before them.
enum class Unsynced { kKept, kZero, kGone };

// After the crash: what was synced for sure, and of the rest all or nothing.
inline Platter After(const Platter& platter, bool names_kept, Unsynced bytes) {
  Platter after;
  for (const auto& [name, inode] : names_kept ? platter.names : platter.synced_names) {
    std::string text = bytes == Unsynced::kKept ? inode->now : inode->synced;
    if (bytes == Unsynced::kZero) text.resize(std::max(text.size(), inode->now.size()));
    after.names[name] = std::make_shared<Content>(Content{text, text});
  }
  after.synced_names = after.names;
  return after;
}

// For tests of two that use a disk in turn.
struct DiskHooks {
  std::function<void()> step = [] {};   // before each call that others can see
  std::function<void()> freed = [] {};  // a name was taken away, for which another may wait
  std::function<void()> pause = [] {};  // another has the lock
};

class FakeFile : public DiskFile {
 public:
  FakeFile(Platter& platter, Inode inode, const DiskHooks& hooks)
      : platter_(platter), inode_(std::move(inode)), hooks_(hooks) {}
  ~FakeFile() override {
    if (inode_->locked_by == this) inode_->locked_by = nullptr;
  }
  absl::StatusOr<std::string> ReadAll() override {
    if (platter_.Crashes()) return Crash();
    return inode_->now;
  }
  absl::Status Truncate() override {
    if (platter_.Crashes()) return Crash();
    inode_->now.clear();
    return absl::OkStatus();
  }
  absl::Status Write(absl::string_view bytes) override {
    hooks_.step();
    const bool crashes = platter_.Crashes();
    if (crashes) bytes = bytes.substr(0, std::exchange(platter_.torn, 0));
    std::string& now = inode_->now;
    now.replace(0, std::min(now.size(), bytes.size()), std::string(bytes));
    return crashes ? Crash() : absl::OkStatus();
  }
  absl::Status Sync() override {
    if (platter_.Crashes()) return Crash();
    inode_->synced = inode_->now;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> TryLock() override {
    hooks_.step();
    if (platter_.Crashes()) return Crash();
    if (inode_->locked_by == nullptr) inode_->locked_by = this;
    return inode_->locked_by == this;
  }
  absl::StatusOr<bool> IsAt(const std::string& name) override {
    hooks_.step();
    if (platter_.Crashes()) return Crash();
    const auto found = platter_.names.find(name);
    return found != platter_.names.end() && found->second == inode_;
  }
  absl::StatusOr<int> Names() override {
    if (platter_.Crashes()) return Crash();
    return static_cast<int>(
        std::ranges::count_if(platter_.names, [&](auto& name) { return name.second == inode_; }));
  }

 private:
  Platter& platter_;
  const Inode inode_;
  const DiskHooks hooks_;
};

class FakeFolder : public Folder {
 public:
  explicit FakeFolder(Platter& platter, DiskHooks hooks = {})
      : platter_(platter), hooks_(std::move(hooks)) {}
  absl::StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& name,
                                                 OpenFor purpose) override {
    hooks_.step();
    if (platter_.Crashes()) return Crash();
    const auto found = platter_.names.find(name);
    if (found != platter_.names.end()) {
      return std::make_unique<FakeFile>(platter_, found->second, hooks_);
    }
    if (purpose != OpenFor::kCreating) return absl::NotFoundError("there is no " + name);
    const Inode inode = platter_.names[name] = std::make_shared<Content>();
    return std::make_unique<FakeFile>(platter_, inode, hooks_);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    hooks_.step();
    hooks_.freed();
    if (platter_.Crashes()) return Crash();
    const auto found = platter_.names.find(from);
    if (found == platter_.names.end()) return absl::UnavailableError("there is no " + from);
    const Inode inode = found->second;
    platter_.names.erase(found);
    platter_.names[to] = inode;
    return absl::OkStatus();
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    hooks_.step();
    if (platter_.Crashes()) return Crash();
    if (platter_.names.contains(to)) return absl::AlreadyExistsError(to);
    const auto found = platter_.names.find(from);
    if (found == platter_.names.end()) return absl::UnavailableError("there is no " + from);
    platter_.names[to] = found->second;
    return absl::OkStatus();
  }
  absl::Status Remove(const std::string& name) override {
    hooks_.step();
    hooks_.freed();
    if (platter_.Crashes()) return Crash();
    platter_.names.erase(name);
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    hooks_.step();
    if (platter_.Crashes()) return Crash();
    platter_.synced_names = platter_.names;
    return absl::OkStatus();
  }
  void Pause() override { hooks_.pause(); }

 private:
  Platter& platter_;
  const DiskHooks hooks_;
};

inline OpenFolder Fake(Platter& platter, const DiskHooks& hooks = {}) {
  return [&platter, hooks](const std::string&) {
    return std::make_unique<FakeFolder>(platter, hooks);
  };
}

}  // namespace zkrecipes::fencing

#endif  // ZKRECIPES_LIB_FENCING_DISK_FIXTURE_H_
