// SPDX-License-Identifier: Apache-2.0
//
// In place of tls_stream.cc and tls_files.cc where OpenSSL is not wanted.

#include "absl/status/status.h"

#include "lib/zk/tls/tls.h"

namespace zkrecipes::zk::tls {

absl::StatusOr<std::shared_ptr<TlsContext>> TlsContext::Open(const TlsOptions&) {
  return absl::FailedPreconditionError(
      "ClientOptions::tls: this zkrecipes was built without TLS (CMake's ZKRECIPES_WITH_TLS)");
}

}  // namespace zkrecipes::zk::tls
