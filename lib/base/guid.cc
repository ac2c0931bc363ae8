// SPDX-License-Identifier: Apache-2.0

#include "lib/base/guid.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::base {
namespace {

std::array<char, 16> RandomBytes() {
  std::array<char, 16> bytes;
  ssize_t n;
  do {
    n = getrandom(bytes.data(), bytes.size(), 0);
  } while (n < 0 && errno == EINTR);
  // Reads of up to 256 bytes are never short once the kernel's generator is seeded.
  if (n != static_cast<ssize_t>(bytes.size())) abort();
  return bytes;
}

}  // namespace

std::string NewGuid() {
  std::array<char, 16> bytes = RandomBytes();
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  const std::string hex = absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

}  // namespace zkrecipes::base
