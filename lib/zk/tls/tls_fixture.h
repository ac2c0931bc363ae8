// SPDX-License-Identifier: Apache-2.0
//
// An authority that certifies what a test wants, and a server's end of TLS without a socket.

#ifndef ZKRECIPES_LIB_ZK_TLS_TLS_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_TLS_TLS_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace zkrecipes::zk::tls {

// In PEM.
struct Identity {
  std::string certificate;
  std::string key;
  long serial = 0;
};

class TestAuthority {
 public:
  struct Subject {
    std::string names = "DNS:localhost,IP:127.0.0.1";  // as OpenSSL writes them; "": none
    std::string common_name = "zookeeper";
    absl::Duration from = -absl::Hours(1);  // from now
    absl::Duration until = absl::Hours(1);
  };

  explicit TestAuthority(const std::string& name = "an authority");
  ~TestAuthority();

  std::string certificate() const;
  Identity Issue() { return Issue(Subject{}); }
  Identity Issue(const Subject& subject);
  std::string ListOfRevoked(const std::vector<long>& serials,
                            absl::Duration until = absl::Hours(1)) const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

// Encrypts `key`. Of no use but to be refused.
std::string Encrypted(const std::string& key);

// Files of a test, gone at its end.
class TlsFiles {
 public:
  TlsFiles();
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  // Its path. In place of what is there, at once.
  std::string Write(const std::string& name, const std::string& text) const;

 private:
  std::string directory_;
};

class TlsServerEnd {
 public:
  struct Options {
    std::string client_authority = {};  // PEM; empty: no certificate is asked for
    bool only_1_2 = false;
    bool only_1_1 = false;
    std::string ciphers = {};  // up to TLS 1.2, in OpenSSL's words
  };

  explicit TlsServerEnd(const Identity& identity) : TlsServerEnd(identity, Options{}) {}
  TlsServerEnd(const Identity& identity, const Options& options);
  ~TlsServerEnd();

  // What the client sent; what is to be sent to it.
  void Hear(absl::string_view sealed);
  std::string TakeUnsent();

  bool established() const;
  const std::string& heard() const { return heard_; }      // in the clear
  const std::string& failure() const { return failure_; }  // OpenSSL's word
  std::string name_asked_for() const;                      // SNI
  bool client_has_certificate() const;

  void Say(absl::string_view bytes);
  void ChangeKeys();  // both sides'
  void SayGoodbye();

 private:
  struct Parts;
  void Go();
  const std::unique_ptr<Parts> parts_;
  std::string heard_;
  std::string failure_;
};

}  // namespace zkrecipes::zk::tls

#endif  // ZKRECIPES_LIB_ZK_TLS_TLS_FIXTURE_H_
