// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client_options.h"

#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/path.h"

namespace zkrecipes {

std::vector<Acl> OpenAcl() { return {Acl{31, "world", "anyone"}}; }
std::vector<Acl> CreatorOnlyAcl() { return {Acl{31, "auth", ""}}; }

namespace internal {
namespace {

constexpr size_t kMaxOwnerId = 512;

absl::Status CheckTimeout(absl::Duration timeout) {
  if (timeout >= absl::Milliseconds(1) &&
      timeout <= absl::Milliseconds(std::numeric_limits<int32_t>::max())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "session timeout \"", absl::FormatDuration(timeout), "\": must be from 1ms to 2147483647ms"));
}

// The message never shows the credentials.
absl::Status CheckCredentials(const ClientOptions& options) {
  const std::string& text = options.digest_credentials;
  if (!text.empty() && (text.find(':') == std::string::npos || text.front() == ':')) {
    return absl::InvalidArgumentError("digest credentials: must be \"user:password\"");
  }
  for (const Acl& acl : options.acl) {
    if (acl.scheme == "auth" && text.empty()) {
      return absl::InvalidArgumentError("acl: scheme \"auth\" needs digest credentials");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAcl(const std::vector<Acl>& acls) {
  if (acls.empty()) return absl::InvalidArgumentError("acl: must not be empty");
  for (const Acl& acl : acls) {
    if (acl.permissions < 1 || acl.permissions > 31 || acl.scheme.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("acl entry \"", acl.scheme, ":", acl.id, "\" with permissions ",
                       acl.permissions, ": needs a scheme and permissions from 1 to 31"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOwnerId(const std::string& id) {
  if (id.size() > kMaxOwnerId) {
    return absl::InvalidArgumentError(
        absl::StrCat("owner id of ", id.size(), " bytes: must be at most ", kMaxOwnerId));
  }
  if (!zk::IsUtf8(id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("owner id \"", absl::CHexEscape(id), "\": must be UTF-8"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<zk::ServerList> CheckClientOptions(const ClientOptions& options) {
  for (const absl::Status& status :
       {CheckTimeout(options.session_timeout), CheckCredentials(options), CheckAcl(options.acl),
        CheckOwnerId(options.owner_id)}) {
    if (!status.ok()) return status;
  }
  return zk::ParseServerList(options.servers);
}

absl::Status CheckWaitOptions(const WaitOptions& wait) {
  if (wait.timeout >= absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("timeout \"", absl::FormatDuration(wait.timeout), "\": must not be negative"));
}

}  // namespace internal
}  // namespace zkrecipes
