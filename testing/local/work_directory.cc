// SPDX-License-Identifier: Apache-2.0

#include "testing/local/work_directory.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace zkrecipes::testing {

namespace fs = std::filesystem;

absl::StatusOr<WorkDirectory> WorkDirectory::MakeTemporary(bool keep) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string path = (fs::absolute(parent) / "zkrecipes-ensemble-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) {
    return absl::InternalError(absl::StrCat("cannot make a directory like ", path));
  }
  return WorkDirectory(path, !keep);
}

absl::StatusOr<WorkDirectory> WorkDirectory::Use(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return absl::InternalError(absl::StrCat("cannot make ", path, ": ", error.message()));
  if (!fs::is_empty(path, error) || error) {
    return absl::FailedPreconditionError(absl::StrCat("LocalEnsembleOptions.directory is ", path,
                                                      ": it must be absent or an empty directory"));
  }
  return WorkDirectory(fs::absolute(path).string(), false);
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  if (remove_) fs::remove_all(path_, ignored);
}

}  // namespace zkrecipes::testing
