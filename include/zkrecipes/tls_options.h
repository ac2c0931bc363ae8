// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TLS_OPTIONS_H_
#define ZKRECIPES_TLS_OPTIONS_H_

#include <string>

namespace [[gnu::visibility("default")]] zkrecipes {

// Connections by TLS 1.2 or newer, to the servers' secure ports (`secureClientPort`). There is no way to
// go without the check of a server: its certificate must lead to one of the authorities, be in its time,
// and have the server's name among its alternative names, as a DNS name or an IP address: that under which the
// server is listed, or `server_name`. A certificate's common name counts for nothing.
//
// All files are regular files in PEM form. They are read when the client is made, by the caller, and on the I/O thread
// again, if they have changed, before each attempt to connect: so keep them where reading is quick. A
// connection that stands is not touched by what happens to the files. While one of them cannot be used, no
// attempt is made, and what waits for a connection is told which file and why.
//
// A library built without ZKRECIPES_WITH_TLS refuses a client with these options.
struct TlsOptions {
  // Certificates of the authorities that the servers' certificates lead to. Required.
  std::string ca_file = {};
  // This client's certificate, those of its issuers after it; and its key, not encrypted. Both or neither: for
  // servers that ask for one (`ssl.clientAuth`).
  std::string certificate_file = {};
  std::string key_file = {};
  // Lists of revoked certificates, one of each authority between a server's certificate and the root, the
  // root included; a server whose authority has no list, or an outdated one, is refused. Empty: revocation is not
  // looked at.
  std::string crl_file = {};
  // The name that every server's certificate has to have, where the servers are listed by other ones.
  std::string server_name = {};
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_TLS_OPTIONS_H_
