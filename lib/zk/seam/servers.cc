// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/servers.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::zk::inline seam {
namespace {

// "zk1" of "zk1:2181", "::1" of "[::1]:2181".
std::string HostOf(const std::string& server) {
  std::string host = server.substr(0, server.rfind(':'));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

std::string ToNumeric(const sockaddr& address, socklen_t size) {
  if (address.sa_family != AF_INET && address.sa_family != AF_INET6) return "";
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(&address, size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  if (address.sa_family == AF_INET) return absl::StrCat(host, ":", port);
  return absl::StrCat("[", host, "]:", port);
}

socklen_t FromNumeric(const std::string& numeric, sockaddr_storage& address) {
  const size_t colon = numeric.rfind(':');
  if (colon == std::string::npos || colon + 1 == numeric.size()) return 0;
  const std::string host = HostOf(numeric);
  addrinfo hints{};
  hints.ai_family = numeric.front() == '[' ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), numeric.c_str() + colon + 1, &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(error == 0 ? found : nullptr,
                                                                &freeaddrinfo);
  if (list == nullptr || list->ai_addrlen > sizeof(address)) return 0;
  memcpy(&address, list->ai_addr, list->ai_addrlen);
  return list->ai_addrlen;
}

std::vector<std::string> HostsAt(const std::vector<ListedServer>& listed,
                                 const std::string& address) {
  std::vector<std::string> hosts;
  for (const ListedServer& server : listed) {
    if (std::ranges::count(server.addresses, address) > 0) hosts.push_back(HostOf(server.name));
  }
  return hosts;
}

ServerCount CountServers(const Resolution& servers,
                         absl::FunctionRef<bool(const std::string& address)> is) {
  ServerCount sum;
  for (const ListedServer& server : servers.listed) {
    ServerCount families[2];
    for (const std::string& address : server.addresses) {
      ServerCount& family = families[address.starts_with('[') ? 1 : 0];
      ++family.all;
      family.counted += is(address) ? 1 : 0;
    }
    const bool may_be_one = server.exists || server.known;
    sum.all += std::max({families[0].all, families[1].all, size_t{may_be_one}});
    sum.counted += std::max(families[0].counted, families[1].counted);
  }
  return sum;
}

NumericServers EachOnceShuffled(NumericServers addresses, uint64_t seed) {
  absl::flat_hash_set<std::string> seen;
  std::erase_if(addresses, [&seen](const std::string& a) { return !seen.insert(a).second; });
  // Each client in an order of its own: else all would try the same server first after an outage.
  if (seed == 0) return addresses;
  std::mt19937_64 random(seed);
  std::shuffle(addresses.begin(), addresses.end(), random);
  return addresses;
}

Resolution KeepingKnown(const Resolution& before, std::vector<ListedServer> latest, uint64_t seed) {
  Resolution result;
  for (ListedServer& server : latest) {
    const auto known = std::ranges::find(before.listed, server.name, &ListedServer::name);
    if (known != before.listed.end()) {
      server.known = known->known || !known->addresses.empty();
      if (server.addresses.empty() && server.exists) server.addresses = known->addresses;
    }
    result.addresses.insert(result.addresses.end(), server.addresses.begin(),
                            server.addresses.end());
  }
  result.addresses = EachOnceShuffled(std::move(result.addresses), seed);
  result.listed = std::move(latest);
  return result;
}

void Rotation::Replace(NumericServers servers) {
  std::rotate(servers_.begin(), servers_.begin() + static_cast<ptrdiff_t>(next_), servers_.end());
  // The turn that a server had; none: it is new, and comes before all of them.
  const auto turn = [this](const std::string& server) {
    const auto found = std::ranges::find(servers_, server);
    return found == servers_.end() ? -1 : found - servers_.begin();
  };
  std::ranges::stable_sort(servers, {}, turn);
  servers_ = std::move(servers);
  next_ = 0;
}

}  // namespace zkrecipes::zk::inline seam
