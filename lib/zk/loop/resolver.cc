// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"

#include "lib/base/mutex.h"
#include "lib/base/process.h"
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

// A family that this machine lacks is of no use, unless that leaves no address: loopback alone does
// not count.
int LookTwice(const ServerAddress& server, AddressList& result) {
  const int error = Look(server, AI_ADDRCONFIG, result);
  return error == 0 || error == EAI_AGAIN ? error : Look(server, 0, result);
}

// Blocks, unless only a numeric address counts.
ListedServer LookUp(const ServerAddress& server, bool only_numeric) {
  ListedServer listed{NameOf(server), {}, ""};
  AddressList list(nullptr, &freeaddrinfo);
  const int error = only_numeric ? Look(server, AI_NUMERICHOST, list) : LookTwice(server, list);
  listed.exists = error != EAI_NONAME && error != EAI_NODATA;
  if (error != 0) listed.error = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
  for (const addrinfo* a = list.get(); a != nullptr; a = a->ai_next) {
    std::string numeric = ToNumeric(*a->ai_addr, a->ai_addrlen);
    if (!numeric.empty()) listed.addresses.push_back(std::move(numeric));
  }
  // getaddrinfo does not say that the process has no descriptors left, but that there is no such
  // name.
  const int shortage = error == 0 ? 0 : base::SocketShortage();
  if (shortage != 0) {
    listed.error = std::string(base::Shortage("resolve a name", shortage).message());
    listed.exists = true;
  }
  return listed;
}

// The process's look-ups that block.
class LookUps {
 public:
  void Add(const ServerAddress& server, Resolver::Each each) {
    {
      base::MutexLock lock(mutex_);
      std::vector<Resolver::Each>& waiting = waiting_[{server.host, server.port}];
      waiting.push_back(std::move(each));
      if (waiting.size() > 1) return;
      queue_.push_back(server);
      if (threads_ == kMostThreads) return;
      ++threads_;
    }
    const auto started = base::StartDetached("a thread to resolve names", [this] { Run(); });
    if (!started.ok()) GiveUp(std::string(started.status().message()));
  }

 private:
  static constexpr int kMostThreads = 8;

  void Run() {
    while (const std::optional<ServerAddress> server = Next()) {
      Answer(*server, LookUp(*server, /*only_numeric=*/false));
    }
  }

  // Nullopt: the calling thread is to end.
  std::optional<ServerAddress> Next() {
    base::MutexLock lock(mutex_);
    if (queue_.empty()) {
      --threads_;
      return std::nullopt;
    }
    ServerAddress server = std::move(queue_.front());
    queue_.pop_front();
    return server;
  }

  void Answer(const ServerAddress& server, const ListedServer& listed) {
    std::vector<Resolver::Each> waiting;
    {
      base::MutexLock lock(mutex_);
      waiting = std::move(waiting_.extract({server.host, server.port}).mapped());
    }
    for (const Resolver::Each& each : waiting) each(listed);
  }

  // No thread could be started: if none runs, the queue would wait for ever.
  void GiveUp(const std::string& why) {
    std::deque<ServerAddress> left;
    {
      base::MutexLock lock(mutex_);
      if (--threads_ == 0) left = std::exchange(queue_, {});
    }
    for (const ServerAddress& server : left) Answer(server, {NameOf(server), {}, why});
  }

  base::Mutex mutex_;
  std::deque<ServerAddress> queue_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, uint16_t>, std::vector<Resolver::Each>> waiting_
      ABSL_GUARDED_BY(mutex_);
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
};

class GetaddrinfoResolver : public Resolver {
 public:
  void Resolve(const std::vector<ServerAddress>& servers, Each each) override {
    for (const ServerAddress& server : servers) {
      // An address needs no thread, and no name server that may be down.
      ListedServer numeric = LookUp(server, /*only_numeric=*/true);
      if (!numeric.addresses.empty()) {
        each(std::move(numeric));
      } else {
        base::OfThisProcess<LookUps>().Add(server, each);
      }
    }
  }
  uint64_t Order() override { return base::RandomBits(); }
};

}  // namespace

std::shared_ptr<Resolver> SystemResolver() { return std::make_shared<GetaddrinfoResolver>(); }

}  // namespace zkrecipes::zk::loop
