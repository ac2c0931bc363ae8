// SPDX-License-Identifier: Apache-2.0
//
// Locks in coroutines: a hundred of them wait without needing a thread each. Any task type will
// do that accepts foreign awaitables (asio's does not: async_acquire.h); this one is the smallest
// possible.
//
//   coroutine SERVERS      or ZKR_SERVERS; "127.0.0.1:2181"

#include <coroutine>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <latch>

#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"

namespace {

// Starts at once; its frame is destroyed at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// The data that the lock guards, in this process and in all others.
struct Account {
  int entries = 0;
  zkrecipes::FencingToken last;
};

// One step under the lock; the code after the co_await runs on the client's executor.
Detached Enter(zkrecipes::Lock lock, Account& account, std::latch& done) {
  {
    absl::StatusOr<zkrecipes::Lease> lease = co_await lock.CoAcquire(absl::Seconds(60));
    if (!lease.ok()) {
      std::cerr << lease.status() << std::endl;
    } else if (lease->token() > account.last) {
      account.last = lease->token();
      ++account.entries;
    }
  }  // released
  done.count_down();
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 1 ? argv[1] : std::getenv("ZKR_SERVERS");
  if (servers == nullptr) {
    std::cerr << "usage: coroutine SERVERS\n";
    return 2;
  }
  auto client = zkrecipes::Client::Connect({.servers = servers}, {absl::Seconds(10)});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 1;
  }
  constexpr int kCoroutines = 100;
  Account account;
  std::latch done(kCoroutines);
  for (int i = 0; i < kCoroutines; ++i) {
    Enter(zkrecipes::Lock(*client, "/examples/account"), account, done);
  }
  done.wait();
  std::cout << account.entries << " entries, each with a larger token than the one before"
            << std::endl;
  return account.entries == kCoroutines ? 0 : 1;
}
