// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/seam/path.h"

namespace zkrecipes::testing::memory {

bool IsFormatted(const std::string& path) {
  return path.size() > 1 && path.front() == '/' && path.back() != '/' &&
         path.find("//") == std::string::npos;
}

zk::Stat StatOf(const Node& node) {
  zk::Stat stat;
  stat.czxid = node.czxid;
  stat.ephemeral_owner = node.owner;
  stat.ctime_ms = node.ctime_ms;
  stat.version = node.version;
  // In unsigned arithmetic: it wraps, as Java's does.
  stat.cversion = static_cast<int32_t>(2u * static_cast<uint32_t>(node.cversion) -
                                       static_cast<uint32_t>(node.children));
  stat.aversion = node.aversion;
  stat.num_children = node.children;
  return stat;
}

const Node* Tree::Find(const std::string& path) const {
  const auto it = nodes_.find(path);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::vector<std::string> Tree::Children(const std::string& path) const {
  const std::string prefix = path == "/" ? path : path + "/";
  std::vector<std::string> names;
  for (auto it = nodes_.upper_bound(prefix); it != nodes_.end(); ++it) {
    if (it->first.compare(0, prefix.size(), prefix) != 0) break;
    if (it->first.find('/', prefix.size()) != std::string::npos) continue;
    names.push_back(it->first.substr(prefix.size()));
  }
  return names;
}

std::vector<std::string> Tree::OwnedBy(zk::SessionId session) const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : nodes_) {
    if (node.owner == session) paths.push_back(path);
  }
  return paths;
}

void Tree::Create(const std::string& path, const Node& node, int32_t parent_cversion) {
  Node& parent = nodes_.at(zk::ParentPath(path));
  ++parent.children;
  if (parent_cversion > parent.cversion) {
    parent.cversion = parent_cversion;
    parent.pzxid = node.czxid;
  }
  nodes_.emplace(path, node);
}

void Tree::SetData(const std::string& path, const std::string& data, int64_t zxid) {
  Node& node = nodes_.at(path);
  node.data = data;
  node.mzxid = zxid;
  ++node.version;
}

void Tree::Delete(const std::string& path, int64_t zxid) {
  Node& parent = nodes_.at(zk::ParentPath(path));
  --parent.children;
  parent.pzxid = std::max(parent.pzxid, zxid);
  nodes_.erase(path);
}

namespace {

using Words = std::array<uint32_t, 5>;

// SHA-1, FIPS 180-4.
void AddBlock(Words& hash, const uint8_t* block) {
  std::array<uint32_t, 80> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
           uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
  }
  for (size_t i = 16; i < 80; ++i) {
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  }
  auto [a, b, c, d, e] = hash;
  for (size_t i = 0; i < 80; ++i) {
    const uint32_t f = i < 20   ? (b & c) | (~b & d)
                       : i < 40 ? b ^ c ^ d
                       : i < 60 ? (b & c) | (b & d) | (c & d)
                                : b ^ c ^ d;
    constexpr std::array<uint32_t, 4> kRound = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    const uint32_t next = std::rotl(a, 5) + f + e + kRound[i / 20] + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const Words add = {a, b, c, d, e};
  for (size_t i = 0; i < 5; ++i) hash[i] += add[i];
}

std::string Sha1(const std::string& text) {
  std::string padded = text + '\x80';
  padded.resize((padded.size() + 8 + 63) / 64 * 64, '\0');
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (size_t i = 0; i < 8; ++i) {
    padded[padded.size() - 1 - i] = static_cast<char>(bits >> (8 * i) & 0xff);
  }
  Words hash = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t at = 0; at < padded.size(); at += 64) {
    AddBlock(hash, reinterpret_cast<const uint8_t*>(padded.data()) + at);
  }
  std::string bytes;
  for (const uint32_t word : hash) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift & 0xff);
  }
  return bytes;
}

}  // namespace

std::string DigestId(const std::string& credentials) {
  const std::string user = credentials.substr(0, credentials.find(':'));
  return absl::StrCat(user, ":", absl::Base64Escape(Sha1(credentials)));
}

bool Allows(const std::vector<zk::AclEntry>& acl, int32_t permission,
            const std::vector<std::string>& digest_ids) {
  if (acl.empty()) return true;
  return std::any_of(acl.begin(), acl.end(), [&](const zk::AclEntry& entry) {
    if ((entry.permissions & permission) == 0) return false;
    if (entry.scheme == "world") return entry.id == "anyone";
    return entry.scheme == "digest" &&
           std::find(digest_ids.begin(), digest_ids.end(), entry.id) != digest_ids.end();
  });
}

std::vector<zk::AclEntry> ShownAcl(std::vector<zk::AclEntry> acl,
                                   const std::vector<std::string>& digest_ids) {
  if (acl.empty()) return {{31, "world", "anyone"}};
  if (Allows(acl, kMayAdminister, digest_ids)) return acl;
  for (zk::AclEntry& entry : acl) {
    if (entry.scheme == "digest") entry.id = entry.id.substr(0, entry.id.find(':')) + ":x";
  }
  return acl;
}

bool FixAcl(std::vector<zk::AclEntry>& acl, const std::vector<std::string>& digest_ids) {
  std::vector<zk::AclEntry> stored;
  for (const zk::AclEntry& entry : std::exchange(acl, {})) {
    if (entry.scheme == "auth") {
      if (digest_ids.empty()) return false;
      for (const std::string& id : digest_ids) stored.push_back({entry.permissions, "digest", id});
      continue;
    }
    if (entry.scheme == "world" ? entry.id != "anyone" : entry.scheme != "digest") return false;
    stored.push_back(entry);
  }
  acl = std::move(stored);
  return true;
}

}  // namespace zkrecipes::testing::memory
