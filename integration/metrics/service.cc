// SPDX-License-Identifier: Apache-2.0
//
// A service of which dashboard_test.py has Prometheus scrape the metrics.

#include <prometheus/exposer.h>
#include <prometheus/registry.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "zkrecipes/cached_lock.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/partitions.h"
#include "zkrecipes/prometheus_metrics.h"

namespace {

// Takes turns at the lock with the others, for a few milliseconds each.
template <typename Lock>
void Work(const Lock& lock) {
  while (true) {
    auto lease = lock.Acquire({std::chrono::seconds(5)});
    if (!lease.ok()) {
      std::cerr << lease.status() << "\n";
      if (absl::IsUnauthenticated(lease.status())) return;
      continue;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)std::move(*lease).Release();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: zkrecipes-metrics-service SERVERS PORT\n", 64;
  prometheus::Exposer exposer("127.0.0.1:" + std::string(argv[2]));
  auto registry = std::make_shared<prometheus::Registry>();
  exposer.RegisterCollectable(registry);

  auto metrics = std::make_shared<zkrecipes::PrometheusMetrics>(registry);
  auto client = zkrecipes::Client::Connect(
      {.servers = argv[1], .listener = metrics, .on_session_report = metrics->SessionReports()},
      {std::chrono::seconds(10)});
  if (!client.ok()) return std::cerr << client.status() << "\n", 69;
  const auto states = metrics->Follow(**client);
  const zkrecipes::Partitions shards(*client, "/services/ledger", 4);
  const zkrecipes::Lock ledger(*client, "/locks/ledger");
  const zkrecipes::CachedLock cache(*client, "/locks/cache",
                                    {.keep_idle_for = std::chrono::seconds(1)});
  std::vector<std::jthread> workers;
  workers.emplace_back([&shards] {
    std::cerr << shards.Run({}, [](const auto&, const auto&, const std::stop_token& end) {
      while (!end.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
  });
  for (int i = 0; i < 3; ++i) workers.emplace_back([&ledger] { Work(ledger); });
  workers.emplace_back([&cache] { Work(cache); });
}
