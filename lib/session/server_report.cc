// SPDX-License-Identifier: Apache-2.0

#include "lib/session/server_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace zkrecipes::session {
namespace {

constexpr size_t kMostServers = 8;
constexpr size_t kMostBytes = 200;  // about each

}  // namespace

void ServerReport::Refused(const std::string& address, zk::Code why) {
  refused_by_.insert(address);
  Note(address,
       {NoConnection::kRejected, absl::StrCat("refuses this client (", zk::CodeName(why), ")")});
}

bool ServerReport::AllRefuse(const zk::Resolution& servers) const {
  const zk::ServerCount count = zk::CountServers(
      servers, [this](const std::string& one) { return refused_by_.contains(one); });
  return count.counted == count.all;
}

bool ServerReport::MostRefuseTheSession() const {
  zk::Resolution servers;
  servers.listed = listed_;
  const zk::ServerCount count = zk::CountServers(servers, [this](const std::string& one) {
    const auto did = did_.find(one);
    return did != did_.end() && did->second.refuses_session;
  });
  return 2 * count.counted > count.all;
}

std::vector<NoConnection> ServerReport::Causes() const {
  std::set<NoConnection> causes;
  for (const zk::ListedServer& server : listed_) {
    if (server.addresses.empty()) causes.insert(NoConnection::kNameNotFound);
    for (const std::string& address : server.addresses) {
      if (const auto did = did_.find(address); did != did_.end()) causes.insert(did->second.cause);
    }
  }
  return {causes.begin(), causes.end()};
}

std::string ServerReport::Text() const {
  std::vector<std::string> parts;
  bool news = false;
  const auto add = [&parts](std::string part) {
    if (part.size() > kMostBytes) part = absl::StrCat(part.substr(0, kMostBytes), "...");
    parts.push_back(std::move(part));
  };
  for (const zk::ListedServer& server : listed_) {
    if (server.addresses.empty()) {
      news = true;
      add(absl::StrCat(server.name, " could not be resolved (", server.error, ")"));
    }
    for (const std::string& address : server.addresses) {
      const std::string name =
          address == server.name ? address : absl::StrCat(server.name, " (", address, ")");
      // What the last attempt met. An address without an attempt yet is listed too: "not answered
      // yet".
      const auto did = did_.find(address);
      news = news || did != did_.end();
      add(absl::StrCat(name, " ", did == did_.end() ? "has not answered yet" : did->second.what));
    }
  }
  if (!news) return "no server has answered yet";
  const size_t left_out = parts.size() - std::min(parts.size(), kMostServers);
  parts.resize(parts.size() - left_out);
  if (left_out > 0) parts.push_back(absl::StrCat("and ", left_out, " more"));
  return absl::StrJoin(parts, "; ");
}

}  // namespace zkrecipes::session
