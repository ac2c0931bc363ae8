// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/resolver.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

#include "lib/base/random.h"
#include "lib/base/shortage.h"

namespace zkrecipes::zk::loop {
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

// A family that this machine lacks is of no use, unless that leaves no address: loopback alone does
// not count.
int LookTwice(const ServerAddress& server, AddressList& result) {
  const int error = Look(server, AI_ADDRCONFIG, result);
  return error == 0 || error == EAI_AGAIN ? error : Look(server, 0, result);
}

// Blocks, unless only numeric addresses count.
std::vector<ListedServer> LookUp(const std::vector<ServerAddress>& servers, bool only_numeric) {
  std::vector<ListedServer> listed;
  for (const ServerAddress& server : servers) {
    ListedServer& it = listed.emplace_back(ListedServer{NameOf(server), {}, ""});
    AddressList list(nullptr, &freeaddrinfo);
    const int error = only_numeric ? Look(server, AI_NUMERICHOST, list) : LookTwice(server, list);
    if (error != 0) it.error = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
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
  // One name that resolves is enough to go on: the others are tried again in the next round.
  if (result.addresses.empty()) {
    if (const int error = base::SocketShortage(); error != 0) {
      return base::Shortage("resolve the servers' names", error);
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
    // A list of addresses needs no thread, and no resolver that may be down.
    std::vector<ListedServer> numeric = LookUp(servers, /*only_numeric=*/true);
    if (absl::c_all_of(numeric, [](const ListedServer& server) { return server.error.empty(); })) {
      return std::move(done)(Resolved(std::move(numeric)));
    }
    // The thread owns all that it touches: it may outlive this object, and main().
    auto shared_done = std::make_shared<Done>(std::move(done));
    const auto started = base::StartDetached("a thread to resolve the servers' names", [=] {
      std::move (*shared_done)(Resolved(LookUp(servers, /*only_numeric=*/false)));
    });
    if (!started.ok()) std::move (*shared_done)(started.status());
  }
};

}  // namespace

std::shared_ptr<Resolver> SystemResolver() { return std::make_shared<GetaddrinfoResolver>(); }

}  // namespace zkrecipes::zk::loop
