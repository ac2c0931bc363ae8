// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "bench/contestant.h"
#include "zkrecipes/read_write_lock.h"

namespace bench {
namespace {

template <typename T>
T OrEnd(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "ours: %s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

class Ours : public Contestant {
 public:
  Ours(const std::string& servers, const std::string& path)
      : client_(OrEnd(zkrecipes::Client::Connect(
            {.servers = servers, .session_timeout = absl::Seconds(40)}, {absl::Seconds(60)}))),
        lock_(client_, path) {}

  void Acquire(Mode mode) override {
    lease_ =
        OrEnd(mode == Mode::kShared ? lock_.AcquireShared(kLong) : lock_.AcquireExclusive(kLong));
  }
  void Release() override {
    if (!std::move(*lease_).Release(kLong).ok()) std::exit(1);
    lease_.reset();
  }

 private:
  const zkrecipes::WaitOptions kLong = {absl::Minutes(10)};
  std::shared_ptr<zkrecipes::Client> client_;
  zkrecipes::ReadWriteLock lock_;
  std::optional<zkrecipes::Lease> lease_;
};

}  // namespace

std::unique_ptr<Contestant> ConnectOurs(const std::string& servers, const std::string& path) {
  return std::make_unique<Ours>(servers, path);
}

}  // namespace bench
