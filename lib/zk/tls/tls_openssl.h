// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_TLS_TLS_OPENSSL_H_
#define ZKRECIPES_LIB_ZK_TLS_TLS_OPENSSL_H_

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "lib/zk/tls/tls.h"

namespace zkrecipes::zk::tls {

template <auto kFree>
struct OpenSslDelete {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
template <typename T, auto kFree>
using OpenSslPointer = std::unique_ptr<T, OpenSslDelete<kFree>>;

// Whoever touches OpenSSL holds one. The threads of loops go on while the process exits, and
// OpenSSL then frees what all of its objects rest on, unless this library initialised it first.
// Before it does so it waits for the uses that are under way, and later ones are not ok().
// Thread-safe. Does not block.
class OpenSslUse {
 public:
  OpenSslUse();
  ~OpenSslUse() {
    if (ok_) End();
  }
  OpenSslUse(const OpenSslUse&) = delete;
  OpenSslUse& operator=(const OpenSslUse&) = delete;

  // False: nothing of OpenSSL may be touched any more, not even to free it.
  bool ok() const { return ok_; }
  // Initialises OpenSSL. False if it is too late for that. REQUIRES: a use.
  static bool Initialise();

 private:
  static void End();
  bool ok_ = false;
};

// Frees what `owned` has, as long as that may be done; otherwise it stays.
template <typename Pointer>
void FreeOfOpenSsl(Pointer& owned) {
  const OpenSslUse use;
  use.ok() ? owned.reset() : static_cast<void>(owned.release());
}

inline constexpr char kOpenSslIsGone[] = "is not spoken to any more: this process exits";

// OpenSSL's word for what went wrong last on this thread. Its queue of errors is empty after that.
std::string TakeOpenSslError();

// A stream to a server of one of these names, by the certificates and the key of `context`.
//   InvalidArgument    a name that none can be
//   ResourceExhausted  no memory
absl::StatusOr<std::unique_ptr<TlsStream>> NewOpenSslStream(SSL_CTX* context,
                                                            const std::vector<std::string>& hosts,
                                                            bool has_certificate);

}  // namespace zkrecipes::zk::tls

#endif  // ZKRECIPES_LIB_ZK_TLS_TLS_OPENSSL_H_
