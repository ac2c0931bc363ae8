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
