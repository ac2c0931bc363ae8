// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/client_options.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/seam/path.h"

namespace zkrecipes {

std::vector<Acl> OpenAcl() { return {Acl{31, "world", "anyone"}}; }
std::vector<Acl> CreatorOnlyAcl() { return {Acl{31, "auth", ""}}; }

namespace session::client {
namespace {

constexpr size_t kMaxOwnerId = 512;
constexpr int32_t kMostTimeoutMs = 1 << 30;
constexpr int32_t kToQueue = 1 | 4 | 8;  // the permissions read, create, delete

// In less than the lower limit no handshake is sure to end, and no server grants so little. The
// upper one is the C client's, which adds such numbers of milliseconds as int32.
absl::Status CheckTimeout(absl::Duration timeout) {
  if (timeout >= absl::Milliseconds(100) && timeout <= absl::Milliseconds(kMostTimeoutMs)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("session timeout \"", absl::FormatDuration(timeout),
                   "\": must be from 100ms to ", kMostTimeoutMs, "ms"));
}

absl::Status CheckCredentials(const ClientOptions& options) {
  for (const std::string& text : options.digest_credentials) {
    if (absl::Status status = CheckDigestCredential(text); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool IsHost(const std::string& name) {
  if (name.find(':') != std::string::npos) {
    in6_addr any;
    return inet_pton(AF_INET6, name.c_str(), &any) == 1;
  }
  const auto list = zk::ParseServerList(name);
  return list.ok() && list->servers.size() == 1 && list->servers.front().host == name;
}

// Of what stands in the options; the files are read later.
absl::Status CheckTls(const ClientOptions& options) {
  if (!options.tls.has_value()) return absl::OkStatus();
  const TlsOptions& tls = *options.tls;
  if (tls.ca_file.empty()) {
    return absl::InvalidArgumentError("tls: ca_file must name the authorities' certificates");
  }
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return absl::InvalidArgumentError("tls: certificate_file and key_file go together");
  }
  if (!tls.server_name.empty() && !IsHost(tls.server_name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: server_name \"", absl::CHexEscape(tls.server_name),
                     "\": must be a host's name or address, without a port"));
  }
  if (options.follow_config) {
    return absl::InvalidArgumentError(
        "follow_config: not with tls, since the ensemble's config has no secure ports");
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

absl::Status CheckLease(const LeaseOptions& lease) {
  // Written so that a NaN is refused.
  if (!(lease.clock_rate_bound >= 0 && lease.clock_rate_bound < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lease clock rate bound ", lease.clock_rate_bound, ": must be in [0, 1)"));
  }
  for (const auto& [name, margin] :
       {std::pair("ping gap", lease.ping_gap), {"slack", lease.slack}}) {
    if (margin >= absl::ZeroDuration() && margin < absl::InfiniteDuration()) continue;
    return absl::InvalidArgumentError(absl::StrCat("lease ", name, " \"",
                                                   absl::FormatDuration(margin),
                                                   "\": must be finite and not negative"));
  }
  return absl::OkStatus();
}

// A digest whose hash is "x" would be any user of that name, as servers show it to strangers.
absl::Status CheckEpoch(const EpochOptions& epoch) {
  for (const std::string& writer : epoch.writers) {
    const size_t colon = writer.find(':');
    const bool whole = colon != std::string::npos && colon > 0 && colon + 1 < writer.size();
    const std::string scheme = writer.substr(0, colon);
    const bool digest = scheme == "digest";
    const size_t hash = writer.rfind(':') + 1;
    const bool hashed = hash > colon + 1 && hash < writer.size() && writer.substr(hash) != "x";
    if (whole && scheme != "world" && scheme != "auth" && (!digest || hashed)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "epoch writer \"", absl::CHexEscape(writer),
        "\": must be one user as an ACL shows it, such as x509:CN=name or digest:name:HASH"));
  }
  if (epoch.use_record || epoch.writers.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("epoch writers: there are none of a record that is not read");
}

// The C client ends a text at a NUL, and servers replace what is not UTF-8: another would be named.
bool NamesOne(const std::string& text) {
  return zk::IsUtf8(text) && text.find('\0') == std::string::npos;
}

}  // namespace

// A node that its own creator may not delete, or list, would block the path until its session ends.
absl::Status CheckAcl(const std::vector<Acl>& acls, bool has_users) {
  if (acls.empty()) return absl::InvalidArgumentError("acl: must not be empty");
  int32_t granted = 0;
  for (const Acl& acl : acls) {
    granted |= acl.permissions;
    if (!NamesOne(acl.scheme) || !NamesOne(acl.id)) {
      return absl::InvalidArgumentError(absl::StrCat("acl entry \"", absl::CHexEscape(acl.scheme),
                                                     ":", absl::CHexEscape(acl.id),
                                                     "\": must be UTF-8 without a NUL"));
    }
    if (acl.scheme == "auth" && !has_users) {
      return absl::InvalidArgumentError("acl: scheme \"auth\" needs digest credentials");
    }
    if (acl.permissions < 1 || acl.permissions > 31 || acl.scheme.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("acl entry \"", acl.scheme, ":", acl.id, "\" with permissions ",
                       acl.permissions, ": needs a scheme and permissions from 1 to 31"));
    }
  }
  if ((granted & kToQueue) != kToQueue) {
    return absl::InvalidArgumentError(
        "acl: must grant read, create and delete (13), or no client could queue below such a node");
  }
  return absl::OkStatus();
}

std::vector<zk::AclEntry> EntriesOf(const std::vector<Acl>& acls) {
  std::vector<zk::AclEntry> entries;
  entries.reserve(acls.size());
  for (const Acl& acl : acls) entries.push_back({acl.permissions, acl.scheme, acl.id});
  return entries;
}

// Who may delete children, or change the ACL and then delete them, can take a lock from its holder.
bool StrangersMayTake(const std::vector<zk::AclEntry>& acl) {
  return std::ranges::any_of(acl, [](const zk::AclEntry& entry) {
    return (entry.permissions & (kDelete | kAdmin)) != 0 && entry.scheme == "world";
  });
}

absl::Status CheckDigestCredential(const std::string& text) {
  if (text.find(':') != std::string::npos && text.front() != ':') return absl::OkStatus();
  return absl::InvalidArgumentError("digest credentials: must be \"user:password\"");
}

absl::StatusOr<zk::ServerList> CheckClientOptions(const ClientOptions& options) {
  for (const absl::Status& status :
       {CheckTimeout(options.session_timeout), CheckCredentials(options),
        CheckAcl(options.acl, !options.digest_credentials.empty()), CheckOwnerId(options.owner_id),
        CheckLease(options.lease), CheckEpoch(options.epoch), CheckTls(options)}) {
    if (!status.ok()) return status;
  }
  return zk::ParseServerList(options.servers);
}

machine::ExpiryMargins MarginsOf(const LeaseOptions& lease) {
  return {lease.clock_rate_bound, lease.ping_gap, lease.slack};
}

machine::BeatPace::Kind KindOf(LeaseOptions::Pace pace) {
  using Kind = machine::BeatPace::Kind;
  return pace == LeaseOptions::Pace::kSparse ? Kind::kSparse : Kind::kSteady;
}

absl::Status CheckWaitOptions(const WaitOptions& wait) {
  if (wait.timeout >= absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("timeout \"", absl::FormatDuration(wait.timeout), "\": must not be negative"));
}

}  // namespace session::client
}  // namespace zkrecipes
