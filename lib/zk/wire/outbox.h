// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_WIRE_OUTBOX_H_
#define ZKRECIPES_LIB_ZK_WIRE_OUTBOX_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

#include "lib/base/process.h"
#include "lib/zk/wire/tls_socket.h"

namespace zkrecipes::zk::wire {

// Stands between the C client's send() and the socket of one handle, for three reasons:
// - The C client closes the socket and forgets what it has sent when send() fails inside a request,
//   so requests that were executed are reported as failed. Here a send never fails; the next read
//   sees the dead socket, and then the client fails everything cleanly.
// - It writes each request in two pieces, at once. Here all the writes of one round of the loop
//   leave together: a create and a listing in one segment.
// - In a forked child nothing is ever sent.
// Not thread-safe: for the thread of the loop.
class Outbox {
 public:
  Outbox() = default;
  ~Outbox() { Drop(); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Replaces send(): takes everything. In direct mode it sends, and fails as send() does.
  ssize_t Send(int fd, const char* bytes, size_t size);

  // To the socket of the latest Send. Nothing of it stays in memory once it is sent or dropped.
  void SendSecret(absl::string_view bytes);

  // Sends what the socket accepts and keeps the rest; drops it all if the socket is dead.
  void Flush();
  // Forgets what was not sent: its socket is closed, and its number may soon be another one's.
  void Drop() { Remove(bytes_.size()); }
  // All has been sent.
  bool empty() const { return bytes_.empty() && (tls_ == nullptr || !tls_->blocked()); }
  // The socket has no room for what there is to send. (Without a handshake TLS has nothing to
  // send.)
  bool blocked() const { return tls_ == nullptr ? !bytes_.empty() : tls_->blocked(); }

  // What is sent on the next connection goes through `tls`; null: as it is.
  void Through(TlsSocket* tls) {
    tls_ = tls;
    fd_ = -1;  // it has something to say before anything was sent, but not on an old socket
  }

  // For closing, where the C client waits for its last request to be sent and must not wait in
  // vain: from now on nothing is buffered, and errors are real.
  void SetDirect() { direct_ = true; }

  // The socket of the latest Send.
  int fd() const { return fd_; }

 private:
  ssize_t SendNow(const char* bytes, size_t size);
  void Append(absl::string_view bytes);
  void Remove(size_t size);
  ssize_t SendDirect(const char* bytes, size_t size);

  const base::HomeProcess home_;
  int fd_ = -1;
  std::string bytes_;
  TlsSocket* tls_ = nullptr;
  bool secret_ = false;  // there is something secret in bytes_, or in its room
  bool direct_ = false;
};

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_OUTBOX_H_
