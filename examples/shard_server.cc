// SPDX-License-Identifier: Apache-2.0
//
// A server of five hundred shards, each served by the instance that holds its lock. One epoll loop
// does everything: no thread waits for a lock, and none of the server's own data needs a mutex. A
// second instance queues for every lock, and has them all once the first one is gone.
//
//   shard_server PORT [SERVERS]     PORT 0: a free one; or ZKR_SERVERS; "127.0.0.1:2181"
//
// A datagram that names a shard is answered by the shard's token, or by "elsewhere"; "all" by how
// many are served here.

#include <arpa/inet.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "zkrecipes/client.h"
#include "zkrecipes/executor.h"
#include "zkrecipes/lock.h"

namespace {

// The server's loop, and where the library's callbacks run. Nothing on it may block.
class EpollLoop : public zkrecipes::Executor {
 public:
  EpollLoop() {
    Watch(wakeups_, [this] { RunTasks(); });
  }
  void Watch(int fd, std::function<void()> on_readable) {
    handlers_[fd] = std::move(on_readable);
    epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  // The client's I/O thread calls this: the eventfd takes the task to the loop's thread.
  void Execute(absl::AnyInvocable<void() &&> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    eventfd_write(wakeups_, 1);
  }
  // Returns the status of Stop, which a handler or a task calls.
  int Run() {
    epoll_event event;
    while (!stopped_) {
      if (epoll_wait(epoll_, &event, 1, -1) == 1) handlers_[event.data.fd]();
    }
    return *stopped_;
  }
  void Stop(int status) { stopped_ = status; }

 private:
  void RunTasks() {
    eventfd_t ignored;
    eventfd_read(wakeups_, &ignored);
    std::vector<absl::AnyInvocable<void() &&>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (auto& task : tasks) {
      if (!stopped_) std::move(task)();
    }
  }

  const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  const int wakeups_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::optional<int> stopped_;
  std::map<int, std::function<void()>> handlers_;
  std::mutex mutex_;  // of the tasks
  std::vector<absl::AnyInvocable<void() &&>> tasks_;
};

// Acquires every shard's lock, and again after a loss. All of it runs on the loop.
class Shards {
 public:
  Shards(std::shared_ptr<zkrecipes::Client> client, EpollLoop& loop)
      : client_(std::move(client)), loop_(loop) {
    for (size_t i = 0; i < held_.size(); ++i) Acquire(i);
  }

  // believed() asks the clock, at each request: the notice of a loss is a task of this loop, and
  // comes behind those that are in front of it.
  std::string Answer(const std::string& request) const {
    if (request == "all") {
      int served = 0;
      for (const auto& held : held_) served += held && held->lease.believed();
      return std::to_string(served);
    }
    const auto& held = held_[std::strtoul(request.c_str(), nullptr, 10) % held_.size()];
    return held && held->lease.believed() ? held->lease.token().ToString() : "elsewhere";
  }

 private:
  struct Held {
    Held(zkrecipes::Lease granted, std::function<void()> on_end)
        : lease(std::move(granted)), end(lease.ended(), std::move(on_end)) {}
    const zkrecipes::Lease lease;
    const std::stop_callback<std::function<void()>> end;
  };

  void Acquire(size_t i) {
    held_[i].reset();
    // Without a timeout it waits over lost connections and sessions. All locks of a client share
    // its session and its connection, and each one that waits has a watch.
    zkrecipes::Lock(client_, "/examples/shards/" + std::to_string(i))
        .AcquireAsync({}, [this, i](absl::StatusOr<zkrecipes::Lease> lease) {
          if (lease.ok()) {
            // In a task of its own, since Acquire destroys the callback that calls it.
            held_[i].emplace(*std::move(lease),
                             [this, i] { loop_.Execute([this, i] { Acquire(i); }); });
          } else if (absl::IsAborted(lease.status()) || absl::IsUnavailable(lease.status())) {
            // An operator has deleted its node in the queue, or its session could not be proven.
            Acquire(i);
          } else {
            std::cerr << lease.status() << std::endl;  // lock.h: another try would not help
            loop_.Stop(1);
          }
        });
  }

  const std::shared_ptr<zkrecipes::Client> client_;
  EpollLoop& loop_;
  std::array<std::optional<Held>, 500> held_;
};

void AnswerOne(int fd, const Shards& shards) {
  std::array<char, 32> request;
  sockaddr_in from = {};
  socklen_t size = sizeof from;
  auto* const peer = reinterpret_cast<sockaddr*>(&from);
  const ssize_t length = recvfrom(fd, request.data(), request.size(), MSG_DONTWAIT, peer, &size);
  if (length < 0) return;
  const std::string answer = shards.Answer(std::string(request.data(), length));
  sendto(fd, answer.data(), answer.size(), MSG_DONTWAIT, peer, size);  // or the client asks again
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 2 ? argv[2] : std::getenv("ZKR_SERVERS");
  if (argc < 2 || servers == nullptr) return std::cerr << "usage: shard_server PORT SERVERS\n", 2;

  const auto loop = std::make_shared<EpollLoop>();
  sigset_t signals;  // blocked before there is a second thread: they come by the signalfd alone
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  loop->Watch(signalfd(-1, &signals, SFD_CLOEXEC), [&] { loop->Stop(0); });

  // Create, not Connect: that would block until there is a session. Until then all is elsewhere.
  auto client = zkrecipes::Client::Create(
      {.servers = servers, .session_timeout = absl::Seconds(4), .executor = loop});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  const Shards shards(*client, *loop);

  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::atoi(argv[1]));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, name, size) != 0 || getsockname(fd, name, &size) != 0) {
    return std::cerr << "cannot listen\n", 1;
  }
  loop->Watch(fd, [&] { AnswerOne(fd, shards); });
  std::cout << "serving at 127.0.0.1:" << ntohs(address.sin_port) << std::endl;

  const int status = loop->Run();
  // Nothing is served any more, so this may block. It ends the session, and with it all five
  // hundred locks at once; the next instance need not wait for a session timeout.
  return (*client)->Close({absl::Seconds(5)}).ok() ? status : 1;
}
