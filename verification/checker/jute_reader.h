// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_JUTE_READER_H_
#define ZKRECIPES_VERIFICATION_CHECKER_JUTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace zkrecipes::history {

// Takes values of ZooKeeper's serialisation from the front of some bytes: numbers are big-endian,
// strings and buffers have their length in front. Once something does not fit, it is not ok() and
// all that it gives is empty.
class JuteReader {
 public:
  explicit JuteReader(std::string bytes) : bytes_(std::move(bytes)) {}

  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }
  std::string_view rest() const { return std::string_view(bytes_).substr(at_); }

  char Byte() { return static_cast<char>(Number(1)); }
  bool Bool() { return Number(1) != 0; }
  int32_t Int() { return static_cast<int32_t>(Number(4)); }
  int64_t Long() { return static_cast<int64_t>(Number(8)); }
  // A length of -1 means null, which is taken for empty.
  std::string String() {
    const int32_t size = Int();
    if (size <= 0) return "";
    return std::string(Take(static_cast<std::size_t>(size)));
  }

 private:
  std::string_view Take(std::size_t size) {
    ok_ = ok_ && size <= bytes_.size() - at_;
    if (!ok_) return "";
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }
  uint64_t Number(std::size_t size) {
    uint64_t value = 0;
    for (const char byte : Take(size)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }

  std::string bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// The checksum of RFC 1950.
inline int64_t Adler32(std::string_view bytes) {
  constexpr uint32_t kPrime = 65521;
  uint32_t a = 1;
  uint32_t b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % kPrime;
    b = (b + a) % kPrime;
  }
  return static_cast<int64_t>(b) << 16 | a;
}

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_JUTE_READER_H_
