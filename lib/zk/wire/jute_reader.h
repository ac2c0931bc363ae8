// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_WIRE_JUTE_READER_H_
#define ZKRECIPES_LIB_ZK_WIRE_JUTE_READER_H_

#include <endian.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace zkrecipes::zk::wire {

// A number as ZooKeeper serialises it: four bytes.
inline std::string BigEndian(size_t number) {
  const uint32_t bytes = htobe32(static_cast<uint32_t>(number));
  return {reinterpret_cast<const char*>(&bytes), sizeof(bytes)};
}

// Reads what is serialised as ZooKeeper does it (jute: big-endian, strings behind their length),
// and never past the end: once something did not fit, ok() stays false and everything reads as
// nothing.
class JuteReader {
 public:
  explicit JuteReader(absl::string_view bytes) : rest_(bytes) {}

  int32_t Int() { return static_cast<int32_t>(be32toh(Number<uint32_t>())); }
  int64_t Long() { return static_cast<int64_t>(be64toh(Number<uint64_t>())); }
  absl::string_view Bytes(size_t size) {
    if (size > rest_.size()) Fail();
    if (!ok_) return "";
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // A NUL would end the string for the C client, and for it alone.
  absl::string_view String() {
    const int32_t size = Int();
    if (size < 0) Fail();
    const absl::string_view string = Bytes(static_cast<size_t>(size));
    if (string.find('\0') != absl::string_view::npos) Fail();
    return string;
  }
  // A node's data; a length of -1 stands for none.
  absl::string_view Buffer() {
    const int32_t size = Int();
    if (size < -1) Fail();
    return size <= 0 ? "" : Bytes(static_cast<size_t>(size));
  }

  // What was read makes no sense.
  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  absl::string_view rest() const { return rest_; }

 private:
  template <typename T>
  T Number() {
    T number = 0;
    const absl::string_view bytes = Bytes(sizeof(T));
    if (bytes.size() == sizeof(T)) memcpy(&number, bytes.data(), sizeof(T));
    return number;
  }

  absl::string_view rest_;
  bool ok_ = true;
};

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_JUTE_READER_H_
