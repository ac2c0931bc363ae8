// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
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

// The addresses of all servers, if none needs a lookup.
std::optional<NumericServers> AllNumeric(const std::vector<ServerAddress>& servers) {
  NumericServers result;
  for (const ServerAddress& server : servers) {
    AddressList list(nullptr, &freeaddrinfo);
    if (Look(server, AI_NUMERICHOST, list) != 0) return std::nullopt;
    Append(list, result);
  }
  return result;
}

std::string ErrorText(int error) {
  return error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
}

// Blocks.
absl::StatusOr<NumericServers> LookUp(const std::vector<ServerAddress>& servers) {
  NumericServers result;
  std::vector<std::string> failures;
  for (const ServerAddress& server : servers) {
    AddressList list(nullptr, &freeaddrinfo);
    // Only families that this machine has, unless that leaves none: loopback alone does not count.
    int error = Look(server, AI_ADDRCONFIG, list);
    if (error != 0 && error != EAI_AGAIN) error = Look(server, 0, list);
    if (error != 0) failures.push_back(absl::StrCat(server.host, ": ", ErrorText(error)));
    Append(list, result);
  }
  if (!result.empty()) return result;
  if (const int error = SocketShortage(); error != 0) {
    return Shortage("resolve the servers' names", error);
  }
  return absl::UnavailableError(
      absl::StrCat("no server's name could be resolved (", absl::StrJoin(failures, "; "), ")"));
}

void Finish(Resolver::Done done, absl::StatusOr<NumericServers> result) {
  if (result.ok()) result = PrepareForClient(*std::move(result), base::RandomBits());
  std::move(done)(std::move(result));
}

class GetaddrinfoResolver : public Resolver {
 public:
  void Resolve(const std::vector<ServerAddress>& servers, Done done) override {
    if (std::optional<NumericServers> numeric = AllNumeric(servers)) {
      return Finish(std::move(done), *std::move(numeric));
    }
    // The thread owns all that it touches: it may outlive this object, and main().
    auto shared_done = std::make_shared<Done>(std::move(done));
    try {
      std::thread([servers, shared_done] {
        Finish(std::move(*shared_done), LookUp(servers));
      }).detach();
    } catch (const std::system_error& error) {
      Finish(std::move(*shared_done),
             absl::ResourceExhaustedError(absl::StrCat("cannot start a thread to resolve the "
                                                       "servers' names: ",
                                                       error.what())));
    }
  }
};

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

std::string PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  auto& generic = reinterpret_cast<sockaddr&>(address);
  return getpeername(fd, &generic, &size) == 0 ? ToNumeric(generic, size) : "";
}

std::shared_ptr<Resolver> SystemResolver() { return std::make_shared<GetaddrinfoResolver>(); }

NumericServers PrepareForClient(NumericServers addresses, uint64_t seed) {
  assert(!addresses.empty());
  absl::flat_hash_set<std::string> seen;
  const auto repeated = [&seen](const std::string& a) { return !seen.insert(a).second; };
  addresses.erase(std::remove_if(addresses.begin(), addresses.end(), repeated), addresses.end());
  std::mt19937_64 random(seed);
  std::shuffle(addresses.begin(), addresses.end(), random);
  if (addresses.size() % 2 == 0) addresses.push_back(addresses.front());
  return addresses;
}

}  // namespace zkrecipes::zk
