// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_WORK_DIRECTORY_H_
#define ZKRECIPES_TESTING_LOCAL_WORK_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace zkrecipes::testing {

// The directory of one ensemble, removed with all that is in it when the object goes, if it is
// ours.
class WorkDirectory {
 public:
  // A new directory under $TMPDIR or /tmp. `keep`: it is not removed.
  static absl::StatusOr<WorkDirectory> MakeTemporary(bool keep) {
    std::error_code error;
    std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (!error) parent = std::filesystem::absolute(parent, error);
    std::string path = (parent / "zkrecipes-ensemble-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) {
      return absl::InternalError("cannot make a directory like " + path + " in $TMPDIR or /tmp");
    }
    return WorkDirectory(path, !keep);
  }

  // A directory of the user's, made if it is absent and never removed. FailedPrecondition if it is
  // not empty or no directory.
  static absl::StatusOr<WorkDirectory> Use(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    std::error_code ignored;
    if (error && !std::filesystem::exists(path, ignored)) {
      return absl::InternalError("cannot make " + path + ": " + error.message());
    }
    if (error || !std::filesystem::is_empty(path, error) || error) {
      return absl::FailedPreconditionError("LocalEnsembleOptions.directory is " + path +
                                           ": it must be absent or an empty directory");
    }
    return WorkDirectory(std::filesystem::absolute(path).string(), false);
  }

  ~WorkDirectory() {
    std::error_code ignored;
    if (remove_) std::filesystem::remove_all(path_, ignored);
  }
  WorkDirectory(WorkDirectory&& other) noexcept
      : path_(std::move(other.path_)), remove_(std::exchange(other.remove_, false)) {}
  WorkDirectory& operator=(WorkDirectory&&) = delete;

  const std::string& path() const { return path_; }  // absolute
  bool removed_at_end() const { return remove_; }

 private:
  WorkDirectory(std::string path, bool remove) : path_(std::move(path)), remove_(remove) {}

  std::string path_;
  bool remove_;
};

// All of a file; empty if it cannot be read.
inline std::string ReadFile(const std::string& path) {
  // Not by istreambuf_iterator, which throws where a read fails: in /proc, when a process ends.
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_WORK_DIRECTORY_H_
