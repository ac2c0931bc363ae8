// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#ifdef ZKRECIPES_WITH_PROMETHEUS
#include <prometheus/registry.h>

#include "zkrecipes/prometheus_metrics.h"
#endif

#include "bench/contestant.h"
#include "bench/or_end.h"
#include "zkrecipes/cached_lock.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/log_listener.h"
#include "zkrecipes/read_write_lock.h"

namespace bench {
namespace {

std::shared_ptr<zkrecipes::Client> ConnectTo(const Place& place,
                                             zkrecipes::ClientOptions options = {}) {
  options.servers = place.servers;
  options.session_timeout = absl::Milliseconds(place.session_ms);
  return OrEnd(zkrecipes::Client::Connect(std::move(options), {absl::Seconds(60)}));
}

class Ours : public Contestant {
 public:
  explicit Ours(const Place& place, zkrecipes::ClientOptions options = {})
      : client_(ConnectTo(place, std::move(options))),
        lock_(client_, place.path),
        both_(client_, place.path),
        readers_(place.readers) {}

  void Acquire(Mode mode) override {
    if (mode == Mode::kShared) {
      lease_ = OrEnd(both_.AcquireShared(kLong));
    } else {
      lease_ = OrEnd(readers_ ? both_.AcquireExclusive(kLong) : lock_.Acquire(kLong));
    }
  }
  void Release() override {
    if (!std::move(*lease_).Release(kLong).ok()) std::exit(1);
    lease_.reset();
  }

 private:
  const zkrecipes::WaitOptions kLong = {absl::Minutes(10)};
  const std::shared_ptr<zkrecipes::Client> client_;
  const zkrecipes::Lock lock_;
  const zkrecipes::ReadWriteLock both_;
  const bool readers_;
  std::optional<zkrecipes::Lease> lease_;
};

// What the contestants of a process share: a lock, with its client.
struct Process {
  explicit Process(const Place& place) : lock(ConnectTo(place), place.path) {}

  static std::shared_ptr<Process> Of(const Place& place) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, int>, std::weak_ptr<Process>> all;
    const std::lock_guard guard(mutex);
    auto& known = all[{place.path, place.process}];
    std::shared_ptr<Process> process = known.lock();
    if (process == nullptr) known = process = std::make_shared<Process>(place);
    return process;
  }

  const zkrecipes::CachedLock lock;
};

class Kept : public Contestant {
 public:
  explicit Kept(const Place& place) : process_(Process::Of(place)) {}
  void Acquire(Mode) override { lease_.emplace(OrEnd(process_->lock.Acquire())); }
  void Release() override { lease_.reset(); }

 private:
  const std::shared_ptr<Process> process_;
  std::optional<zkrecipes::CachedLease> lease_;
};

class OurCrowd : public Crowd {
 public:
  OurCrowd(const Place& place, std::shared_ptr<Turns> turns)
      : shared_(std::make_shared<Shared>(std::move(turns))),
        client_(ConnectTo(place)),
        lock_(client_, place.path) {}
  ~OurCrowd() override {
    shared_->over = true;
    client_->Close().IgnoreError();
  }

  void Add() override {
    lock_.AcquireAsync({}, [shared = shared_](absl::StatusOr<zkrecipes::Lease> lease) {
      if (!lease.ok() && shared->over) return;
      zkrecipes::Lease granted = OrEnd(std::move(lease));
      if (++shared->turns->granted < shared->turns->most) return;  // its destruction releases it
      shared->kept = std::move(granted);
    });
  }

 private:
  struct Shared {  // with callbacks that run after the client is closed
    explicit Shared(std::shared_ptr<Turns> t) : turns(std::move(t)) {}
    const std::shared_ptr<Turns> turns;
    std::atomic<bool> over = false;
    std::optional<zkrecipes::Lease> kept;  // set by one callback
  };

  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<zkrecipes::Client> client_;
  const zkrecipes::Lock lock_;
};

}  // namespace

std::unique_ptr<Contestant> ConnectOurs(const Place& place) {
  return std::make_unique<Ours>(place);
}

#ifdef ZKRECIPES_WITH_PROMETHEUS
std::unique_ptr<Contestant> ConnectMetered(const Place& place) {
  const auto metrics =
      std::make_shared<zkrecipes::PrometheusMetrics>(std::make_shared<prometheus::Registry>());
  return std::make_unique<Ours>(
      place, zkrecipes::ClientOptions{.listener = metrics,
                                      .on_session_report = metrics->SessionReports()});
}
#endif

std::unique_ptr<Contestant> ConnectLogged(const Place& place) {
  const auto log = std::make_shared<zkrecipes::LogListener>(
      zkrecipes::LogOptions{.least = zkrecipes::LogLevel::kWarning});
  return std::make_unique<Ours>(
      place, zkrecipes::ClientOptions{.listener = log, .on_session_report = log->SessionReports()});
}

std::unique_ptr<Contestant> ConnectKept(const Place& place) {
  return std::make_unique<Kept>(place);
}

std::unique_ptr<Crowd> GatherOurs(const Place& place, std::shared_ptr<Turns> turns) {
  return std::make_unique<OurCrowd>(place, std::move(turns));
}

}  // namespace bench
