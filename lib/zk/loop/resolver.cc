// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/resolver.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

#include "lib/base/block_signals.h"
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

}  // namespace

std::shared_ptr<Resolver> SystemResolver() { return std::make_shared<GetaddrinfoResolver>(); }

}  // namespace zkrecipes::zk::loop
