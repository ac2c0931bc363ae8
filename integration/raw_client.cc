// SPDX-License-Identifier: Apache-2.0

#include "integration/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>

#include "testing/unique_fd.h"

namespace zkrecipes::integration {
namespace {

// The wire's types: big-endian integers, and text behind its length.
class Packet {
 public:
  Packet& Int(int32_t value) { return Big(static_cast<uint32_t>(value), 4); }
  Packet& Long(int64_t value) { return Big(static_cast<uint64_t>(value), 8); }
  Packet& Text(const std::string& text) {
    Int(static_cast<int32_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  Packet& Bool(bool value) { return Big(value ? 1 : 0, 1); }
  std::string Framed() const {
    Packet frame;
    return frame.Text(bytes_).bytes_;
  }

 private:
  Packet& Big(uint64_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
      bytes_.push_back(static_cast<char>(value >> shift & 255));
    }
    return *this;
  }

  std::string bytes_;
};

int32_t IntAt(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return static_cast<int32_t>(value);
}

// What lets a client go on with a session: 16 bytes that servers work out from its number, the same
// ones in every installation, with the generator of java.util.Random.
std::string PasswordOf(int64_t session) {
  constexpr uint64_t kMask = (uint64_t{1} << 48) - 1, kFactor = 0x5DEECE66D;
  uint64_t state = (static_cast<uint64_t>(session) ^ 0xB3415C00 ^ kFactor) & kMask;
  std::string password;
  while (password.size() < 16) {
    state = (state * kFactor + 11) & kMask;
    const auto word = static_cast<uint32_t>(state >> 16);
    for (int shift = 0; shift < 32; shift += 8) {
      password.push_back(static_cast<char>(word >> shift & 255));
    }
  }
  return password;
}

constexpr int32_t kCreate = 1, kExists = 3, kClose = -11;

class RawSession {
 public:
  explicit RawSession(const std::string& server, int64_t session = 0) {
    const size_t colon = server.find(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(server.substr(colon + 1))));
    inet_pton(AF_INET, server.substr(0, colon).c_str(), &address.sin_addr);
    const timeval patience{.tv_sec = 5, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
    const std::string password = session == 0 ? std::string(16, 0) : PasswordOf(session);
    welcome_ =
        Exchange(Packet().Int(0).Long(0).Int(10'000).Long(session).Text(password).Bool(false));
  }
  ~RawSession() { Exchange(Packet().Int(2).Int(kClose)); }

  bool answered() const { return welcome_.size() >= 8; }
  // A server that does not go on with the session grants it no timeout.
  bool refused() const { return answered() && IntAt(welcome_, 4) == 0; }

  // The error code of the reply, -1 if there is none.
  int Call(const Packet& request) {
    const std::string reply = answered() ? Exchange(request) : "";
    constexpr size_t kErrorAt = 12;  // behind xid and zxid
    return reply.size() >= kErrorAt + 4 ? IntAt(reply, kErrorAt) : -1;
  }

 private:
  std::string Exchange(const Packet& packet) {
    const std::string out = packet.Framed();
    if (send(fd_.get(), out.data(), out.size(), MSG_NOSIGNAL) < 0) return "";
    const std::string size = Read(4);
    return size.empty() ? "" : Read(static_cast<size_t>(IntAt(size, 0)));
  }

  std::string Read(size_t size) {
    std::string bytes(size, 0);
    const ssize_t n = recv(fd_.get(), bytes.data(), size, MSG_WAITALL);
    return n == static_cast<ssize_t>(size) ? bytes : "";
  }

  testing::UniqueFd fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string welcome_;
};

}  // namespace

bool CreateNode(const std::string& server, const std::string& path) {
  constexpr int kAll = 31, kPersistent = 0;
  const Packet request = Packet()
                             .Int(1)
                             .Int(kCreate)
                             .Text(path)
                             .Text("")
                             .Int(1)
                             .Int(kAll)
                             .Text("world")
                             .Text("anyone")
                             .Int(kPersistent);
  return RawSession(server).Call(request) == 0;
}

bool NodeExists(const std::string& server, const std::string& path) {
  return RawSession(server).Call(Packet().Int(1).Int(kExists).Text(path).Bool(false)) == 0;
}

bool EndSession(const std::string& server, int64_t session) {
  // Its client may get it back in between.
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (RawSession(server, session).refused()) return true;
  }
  return false;
}

}  // namespace zkrecipes::integration
