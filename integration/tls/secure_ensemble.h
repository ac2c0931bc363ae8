// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TLS_SECURE_ENSEMBLE_H_
#define ZKRECIPES_INTEGRATION_TLS_SECURE_ENSEMBLE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/zk/tls/tls_fixture.h"
#include "zkrecipes/testing/local_ensemble.h"
#include "zkrecipes/tls_options.h"

namespace zkrecipes::integration {

// Real servers, each with a secure port beside its plain one, where it asks for a certificate of
// its clients. The certificates are those of an authority of their own; each server's is for
// "localhost" and 127.0.0.1.
class SecureEnsemble {
 public:
  static absl::StatusOr<std::unique_ptr<SecureEnsemble>> Start(int servers);

  int size() const { return ensemble_->size(); }
  std::string server(int i) const;  // "localhost:20001", the secure port
  std::string servers() const;
  testing::LocalEnsemble& members() { return *ensemble_; }

  // A client's options.
  TlsOptions options() const;
  zk::tls::TestAuthority& authority() { return authority_; }
  const zk::tls::TlsFiles& files() const { return files_; }
  long serial(int i) const { return serials_[i]; }
  // The member has another certificate from its next start on.
  void Certify(int i, const zk::tls::Identity& identity);

 private:
  explicit SecureEnsemble(std::vector<int> ports) : ports_(std::move(ports)) {}
  std::string WriteJava() const;

  const zk::tls::TlsFiles files_;
  zk::tls::TestAuthority authority_{"the authority of an ensemble"};
  const std::vector<int> ports_;
  std::vector<long> serials_;
  std::unique_ptr<testing::LocalEnsemble> ensemble_;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TLS_SECURE_ENSEMBLE_H_
