// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TLS_OPTIONS_H_
#define ZKRECIPES_TLS_OPTIONS_H_

#include <string>

namespace [[gnu::visibility("default")]] zkrecipes {

// Connections use TLS 1.2 or newer, to the servers' secure ports (`secureClientPort`). The check of
// a server cannot be turned off: its certificate must lead to one of the authorities, be valid now,
// and have the server's name among its alternative names, as a DNS name or an IP address. This is
// the name under which the server is listed, or `server_name`. The common name does not count.
//
// All files are regular files in PEM format. The caller's thread reads them when the client is
// created; before each attempt to connect the I/O thread reads those that have changed, so keep
// them where reading is quick. Changed files do not affect open connections. While a file cannot be
// used, no attempt is made, and calls that wait for a connection say which file it is, and why.
//
// A library built without ZKRECIPES_WITH_TLS refuses a client with these options.
struct TlsOptions {
  // Certificates of the authorities that the servers' certificates lead to. Required.
  std::string ca_file = {};
  // This client's certificate, followed by those of its issuers, and its key, not encrypted: for
  // servers that ask for one (`ssl.clientAuth`). Both or neither.
  std::string certificate_file = {};
  std::string key_file = {};
  // Lists of revoked certificates: one of each authority between a server's certificate and the
  // root, the root included. A server whose authority has no list, or an outdated one, is refused.
  // Empty: revocation is not checked.
  std::string crl_file = {};
  // The name that every server's certificate must have, if the servers are listed by other names.
  std::string server_name = {};
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_TLS_OPTIONS_H_
