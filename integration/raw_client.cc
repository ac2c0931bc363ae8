// SPDX-License-Identifier: Apache-2.0

#include "integration/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

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
  Packet& Raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

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

constexpr int32_t kCreate = 1, kExists = 3, kSetAcl = 7, kSync = 9, kClose = -11;
constexpr int32_t kAll = 31;

// What this client sends is one request at a time, so all may have one number.
Packet Request(int32_t operation) { return Packet().Int(1).Int(operation); }

// A list of one entry.
std::string Everybody(int32_t permissions) {
  return Packet().Int(1).Int(permissions).Text("world").Text("anyone").bytes();
}

}  // namespace

RawSession::RawSession(const std::string& server, absl::Duration timeout, int64_t session)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const size_t colon = server.find(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(server.substr(colon + 1))));
  inet_pton(AF_INET, server.substr(0, colon).c_str(), &address.sin_addr);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
  const std::string password = session == 0 ? std::string(16, 0) : PasswordOf(session);
  welcome_ = Exchange(Packet()
                          .Int(0)
                          .Long(0)
                          .Int(static_cast<int32_t>(absl::ToInt64Milliseconds(timeout)))
                          .Long(session)
                          .Text(password)
                          .Bool(false)
                          .bytes());
}

RawSession::~RawSession() { Exchange(Request(kClose).bytes()); }

bool RawSession::refused() const { return answered() && IntAt(welcome_, 4) == 0; }

int RawSession::Create(const std::string& path, bool ephemeral) {
  return Call(
      Request(kCreate).Text(path).Text("").Raw(Everybody(kAll)).Int(ephemeral ? 1 : 0).bytes());
}

int RawSession::Exists(const std::string& path) {
  return Call(Request(kExists).Text(path).Bool(false).bytes());
}

int RawSession::Sync(const std::string& path) { return Call(Request(kSync).Text(path).bytes()); }

int RawSession::SetPermissions(const std::string& path, int32_t permissions) {
  constexpr int32_t kAnyVersion = -1;
  return Call(Request(kSetAcl).Text(path).Raw(Everybody(permissions)).Int(kAnyVersion).bytes());
}

int RawSession::Call(const std::string& request) {
  const std::string reply = answered() ? Exchange(request) : "";
  constexpr size_t kErrorAt = 12;  // behind xid and zxid
  return reply.size() >= kErrorAt + 4 ? IntAt(reply, kErrorAt) : -1;
}

std::string RawSession::Exchange(const std::string& packet) {
  const std::string out = Packet().Text(packet).bytes();
  if (send(fd_.get(), out.data(), out.size(), MSG_NOSIGNAL) < 0) return "";
  const std::string size = Read(4);
  return size.empty() ? "" : Read(static_cast<size_t>(IntAt(size, 0)));
}

std::string RawSession::Read(size_t size) {
  std::string bytes(size, 0);
  const ssize_t n = recv(fd_.get(), bytes.data(), size, MSG_WAITALL);
  return n == static_cast<ssize_t>(size) ? bytes : "";
}

bool CreateNode(const std::string& server, const std::string& path) {
  return RawSession(server).Create(path) == 0;
}

bool NodeExists(const std::string& server, const std::string& path) {
  return RawSession(server).Exists(path) == 0;
}

bool EndSession(const std::string& server, int64_t session) {
  // Its client may get it back in between.
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (RawSession(server, absl::Seconds(10), session).refused()) return true;
  }
  return false;
}

}  // namespace zkrecipes::integration
