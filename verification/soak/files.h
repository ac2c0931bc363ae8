// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_FILES_H_
#define ZKRECIPES_VERIFICATION_SOAK_FILES_H_

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::soak {

// With its parents. AlreadyExists: nothing is written into what another run left.
inline absl::Status MakeNewDirectory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already: name a new directory"));
  }
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot make ", path, ": ", error.message()));
}

inline absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  return out ? absl::OkStatus() : absl::InternalError(absl::StrCat("cannot write ", path));
}

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_FILES_H_
