// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_CLIENT_CLIENT_OPTIONS_H_
#define ZKRECIPES_LIB_SESSION_CLIENT_CLIENT_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/seam.h"
#include "lib/base/secret.h"
#include "lib/session/machine/beat_pace.h"
#include "lib/session/machine/expiry_bound.h"
#include "lib/zk/seam/server_list.h"
#include "lib/zk/seam/types.h"
#include "zkrecipes/client.h"

namespace zkrecipes::session::client {

// The servers that valid options name; InvalidArgument names the option and the rule it breaks.
ZKRECIPES_SEAM absl::StatusOr<zk::ServerList> CheckClientOptions(const ClientOptions& options);

// Overwrites what is left of the credentials when it goes.
class WipeCredentials {
 public:
  explicit WipeCredentials(ClientOptions& options) : options_(options) {}
  ~WipeCredentials() { base::Wipe(options_.digest_credentials); }
  WipeCredentials(const WipeCredentials&) = delete;
  WipeCredentials& operator=(const WipeCredentials&) = delete;

 private:
  ClientOptions& options_;
};

// InvalidArgument, never with the credential, unless it is "user:password".
absl::Status CheckDigestCredential(const std::string& text);
// InvalidArgument names the entry and the rule it breaks. `has_users`: the client has credentials.
absl::Status CheckAcl(const std::vector<Acl>& acls, bool has_users);
std::vector<zk::AclEntry> EntriesOf(const std::vector<Acl>& acls);
// Whether every client may delete the children of a node with this ACL, or give itself the right
// to.
bool StrangersMayTake(const std::vector<zk::AclEntry>& acl);

machine::ExpiryMargins MarginsOf(const LeaseOptions& lease);
machine::BeatPace::Kind KindOf(LeaseOptions::Pace pace);

// InvalidArgument for a negative timeout.
ZKRECIPES_SEAM absl::Status CheckWaitOptions(const WaitOptions& wait);

}  // namespace zkrecipes::session::client

#endif  // ZKRECIPES_LIB_SESSION_CLIENT_CLIENT_OPTIONS_H_
