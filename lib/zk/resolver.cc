// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

#include "lib/base/block_signals.h"
#include "lib/base/random.h"
#include "lib/zk/shortage.h"

namespace zkrecipes::zk {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// getaddrinfo with `flags`. Its error, or 0.
int Look(const ServerAddress& server, int flags, AddressList& result) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(server.host.c_str(), absl::StrCat(server.port).c_str(), &hints, &list);
  result.reset(list);
  return error;
}

void Append(const AddressList& list, NumericServers& servers) {
  for (const addrinfo* a = list.get(); a != nullptr; a = a->ai_next) {
    std::string numeric = ToNumeric(*a->ai_addr, a->ai_addrlen);
    if (!numeric.empty()) servers.push_back(std::move(numeric));
  }
}

std::string NameOf(const ServerAddress& server) {
  const bool v6 = server.host.find(':') != std::string::npos;
  return absl::StrCat(v6 ? "[" : "", server.host, v6 ? "]:" : ":", server.port);
}

// All servers, if none needs a lookup.
std::optional<std::vector<ListedServer>> AllNumeric(const std::vector<ServerAddress>& servers) {
  std::vector<ListedServer> listed;
  for (const ServerAddress& server : servers) {
    AddressList list(nullptr, &freeaddrinfo);
    if (Look(server, AI_NUMERICHOST, list) != 0) return std::nullopt;
    Append(list, listed.emplace_back(ListedServer{NameOf(server), {}, ""}).addresses);
  }
  return listed;
}

std::string ErrorText(int error) {
  return error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
}

// Blocks.
std::vector<ListedServer> LookUp(const std::vector<ServerAddress>& servers) {
  std::vector<ListedServer> listed;
  for (const ServerAddress& server : servers) {
    ListedServer& it = listed.emplace_back(ListedServer{NameOf(server), {}, ""});
    AddressList list(nullptr, &freeaddrinfo);
    // Only families that this machine has, unless that leaves none: loopback alone does not count.
    int error = Look(server, AI_ADDRCONFIG, list);
    if (error != 0 && error != EAI_AGAIN) error = Look(server, 0, list);
    if (error != 0) it.error = ErrorText(error);
    Append(list, it.addresses);
  }
  return listed;
}

absl::StatusOr<Resolution> Resolved(std::vector<ListedServer> listed) {
  Resolution result;
  for (const ListedServer& server : listed) {
    result.addresses.insert(result.addresses.end(), server.addresses.begin(),
                            server.addresses.end());
  }
  if (result.addresses.empty()) {
    if (const int error = SocketShortage(); error != 0) {
      return Shortage("resolve the servers' names", error);
    }
    const auto failure = [](std::string* out, const ListedServer& server) {
      absl::StrAppend(out, server.name, ": ", server.error);
    };
    return absl::UnavailableError(absl::StrCat("no server's name could be resolved (",
                                               absl::StrJoin(listed, "; ", failure), ")"));
  }
  result.addresses = EachOnceShuffled(std::move(result.addresses), base::RandomBits());
  result.listed = std::move(listed);
  return result;
}

class GetaddrinfoResolver : public Resolver {
 public:
  void Resolve(const std::vector<ServerAddress>& servers, Done done) override {
    if (auto numeric = AllNumeric(servers)) {
      return std::move(done)(Resolved(*std::move(numeric)));
    }
    // The thread owns all that it touches: it may outlive this object, and main().
    auto shared_done = std::make_shared<Done>(std::move(done));
    try {
      const base::BlockSignals block;
      std::thread([servers, shared_done] {
        std::move (*shared_done)(Resolved(LookUp(servers)));
      }).detach();
    } catch (const std::system_error& error) {
      std::move (*shared_done)(absl::ResourceExhaustedError(
          absl::StrCat("cannot start a thread to resolve the servers' names: ", error.what())));
    }
  }
};

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
  const AddressList list(error == 0 ? found : nullptr, &freeaddrinfo);
  if (list == nullptr || list->ai_addrlen > sizeof(address)) return 0;
  memcpy(&address, list->ai_addr, list->ai_addrlen);
  return list->ai_addrlen;
}

std::vector<std::string> HostsAt(const std::vector<ListedServer>& listed,
                                 const std::string& address) {
  std::vector<std::string> hosts;
  for (const ListedServer& server : listed) {
    const NumericServers& all = server.addresses;
    if (std::find(all.begin(), all.end(), address) != all.end()) {
      hosts.push_back(HostOf(server.name));
    }
  }
  if (hosts.empty()) hosts.push_back(HostOf(address));
  return hosts;
}

std::shared_ptr<Resolver> SystemResolver() { return std::make_shared<GetaddrinfoResolver>(); }

NumericServers EachOnceShuffled(NumericServers addresses, uint64_t seed) {
  absl::flat_hash_set<std::string> seen;
  const auto repeated = [&seen](const std::string& a) { return !seen.insert(a).second; };
  addresses.erase(std::remove_if(addresses.begin(), addresses.end(), repeated), addresses.end());
  std::mt19937_64 random(seed);
  std::shuffle(addresses.begin(), addresses.end(), random);
  return addresses;
}

}  // namespace zkrecipes::zk
