// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_TLS_TLS_H_
#define ZKRECIPES_LIB_ZK_TLS_TLS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "zkrecipes/tls_options.h"

namespace zkrecipes::zk::tls {

// The client's end of one TLS connection, without a socket: bytes in, bytes out. Nothing blocks,
// and nothing waits for room to write: what is to be sent piles up until it is taken. So whatever
// makes TLS write while the owner reads (the handshake, a change of keys, an alert), or read while
// it writes, is no case of its own.
//
//   kHandshake --Hear--> kEstablished --Read--> kClosed    (the server has said that it ends)
//        |                    |
//        +--------------------+---> kFailed: failure() says why
//
// Not thread-safe: for the thread that has the loop's turn.
class TlsStream {
 public:
  enum class State { kHandshake, kEstablished, kClosed, kFailed };

  virtual ~TlsStream() = default;
  virtual State state() const = 0;
  // What the server did, without its subject: "has a certificate that ..."; "" unless kFailed.
  virtual const std::string& failure() const = 0;

  // What has come from the server.
  virtual void Hear(absl::string_view sealed) = 0;
  // Takes what that said, in the clear. Less than `room`: there is no more.
  virtual size_t Read(char* bytes, size_t room) = 0;
  // Seals what is to be said. REQUIRES: kEstablished.
  virtual void Say(absl::string_view bytes) = 0;

  // What is to be sent to the server next, and that so much of it was. From the start there is
  // something: the handshake's first message.
  virtual absl::string_view unsent() const = 0;
  virtual void Sent(size_t size) = 0;
};

// What a client's connections have in common: its files, and what was made of them.
// Not thread-safe: for the thread that has the loop's turn, once it is given to the loop.
class TlsContext {
 public:
  // Reads the files.
  //   InvalidArgument     names the file and what is wrong with it
  //   FailedPrecondition  this library was built without TLS, or the process exits
  static absl::StatusOr<std::shared_ptr<TlsContext>> Open(const TlsOptions& options);
  virtual ~TlsContext() = default;

  // For a new connection to a server that is listed as each of `hosts`, names or addresses; none is
  // empty. Reads again what has changed: InvalidArgument as above.
  virtual absl::StatusOr<std::unique_ptr<TlsStream>> Connect(
      const std::vector<std::string>& hosts) = 0;
};

}  // namespace zkrecipes::zk::tls

#endif  // ZKRECIPES_LIB_ZK_TLS_TLS_H_
