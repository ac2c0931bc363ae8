// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "lib/base/secret.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/commands/client.h"

namespace zkrecipes::zkr::commands {
namespace {

constexpr std::size_t kMost = 64 << 10;

absl::Status Wrong(const std::string& file, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", what));
}

absl::Status ReadAll(const std::string& file, std::string& text) {
  const base::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return Wrong(file, std::strerror(errno));
  // One byte more than is allowed shows that the file is too large, whatever it is: it may be
  // endless.
  text.resize(kMost + 1);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Wrong(file, std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return size > kMost ? Wrong(file, "is larger than 64 KiB") : absl::OkStatus();
}

absl::Status AddUsers(const std::string& file, const std::string& text,
                      std::vector<std::string>& users) {
  // A vector that grows would leave copies of the passwords behind.
  users.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    // The carriage return of a file from Windows would silently be part of the password.
    if (colon == 0 || colon == absl::string_view::npos || line.back() == '\r') {
      return Wrong(file, absl::StrCat("line ", number, " is not user:password"));
    }
    users.emplace_back(line);
  }
  // An empty file would mean no rights at all, which nobody asks for by an option.
  return users.empty() ? Wrong(file, "names no user") : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadCredentials(const std::string& file) {
  std::string text;
  std::vector<std::string> users;
  absl::Status status = ReadAll(file, text);
  if (status.ok()) status = AddUsers(file, text, users);
  // Nothing that was read is left behind, not of a file that is refused either: a core or swap
  // would keep it.
  base::Wipe(text);
  if (status.ok()) return users;
  base::Wipe(users);
  return status;
}

}  // namespace zkrecipes::zkr::commands
