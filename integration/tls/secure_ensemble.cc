// SPDX-License-Identifier: Apache-2.0

#include "integration/tls/secure_ensemble.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "testing/local/server_files.h"

namespace zkrecipes::integration {
namespace {

// For LocalEnsembleOptions::java: gives a member, known by the directory that it runs in, what it
// has of its own.
constexpr char kJava[] = R"(#!/bin/sh
member=${PWD##*/server}
shift_ports() { shift "$member"; echo "$1"; }
cat >>zoo.cfg <<END
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort=$(shift_ports 0 $ports)
secureClientPortAddress=127.0.0.1
ssl.keyStore.location=$files/identity$member
ssl.keyStore.type=PEM
ssl.trustStore.location=$files/ca
ssl.trustStore.type=PEM
END
exec /usr/bin/java "$@"
)";

}  // namespace

absl::StatusOr<std::unique_ptr<SecureEnsemble>> SecureEnsemble::Start(int servers) {
  auto ports = testing::FreePorts(servers);
  if (!ports.ok()) return ports.status();
  std::unique_ptr<SecureEnsemble> secure(new SecureEnsemble(*std::move(ports)));
  secure->files_.Write("ca", secure->authority_.certificate());
  secure->serials_.resize(servers);
  for (int i = 0; i < servers; ++i) secure->Certify(i, secure->authority_.Issue());
  const zk::tls::Identity client = secure->authority_.Issue({.common_name = "a client"});
  secure->files_.Write("certificate", client.certificate);
  secure->files_.Write("key", client.key);
  auto ensemble = testing::LocalEnsemble::Start({.servers = servers, .java = secure->WriteJava()});
  if (!ensemble.ok()) return ensemble.status();
  secure->ensemble_ = *std::move(ensemble);
  return secure;
}

std::string SecureEnsemble::WriteJava() const {
  const std::string script =
      absl::StrCat("ports='", absl::StrJoin(ports_, " "), "' files='", files_.path(""), "'\n");
  const std::string first = "#!/bin/sh\n";
  const std::string path =
      files_.Write("java", absl::StrCat(first, script, std::string(kJava).substr(first.size())));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

void SecureEnsemble::Certify(int i, const zk::tls::Identity& identity) {
  serials_[i] = identity.serial;
  files_.Write(absl::StrCat("identity", i + 1), identity.key + identity.certificate);
}

std::string SecureEnsemble::server(int i) const { return absl::StrCat("localhost:", ports_[i]); }

std::string SecureEnsemble::servers() const {
  return absl::StrJoin(
      ports_, ",", [](std::string* out, int port) { absl::StrAppend(out, "localhost:", port); });
}

TlsOptions SecureEnsemble::options() const {
  return {.ca_file = files_.path("ca"),
          .certificate_file = files_.path("certificate"),
          .key_file = files_.path("key")};
}

}  // namespace zkrecipes::integration
