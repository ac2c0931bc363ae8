// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_PROXY_H_
#define ZKRECIPES_BENCH_PROXY_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "integration/servers/tcp_proxy.h"

namespace bench {

using Clock = std::chrono::steady_clock;

// The traffic so far, in both directions.
struct Traffic {
  int64_t requests = 0;  // frames of ZooKeeper's protocol from clients, but not pings
  int64_t bytes = 0;
};

// Stands between clients and servers, forwards with a delay each way, and counts.
class Proxy {
 public:
  explicit Proxy(const std::string& servers, absl::Duration each_way = absl::ZeroDuration()) {
    for (const absl::string_view server : absl::StrSplit(servers, ',')) {
      const auto& one = ones_.emplace_back(std::string(server),
                                           zkrecipes::servers::Slowness{.each_way = each_way});
      absl::StrAppend(&here_, here_.empty() ? "" : ",", one.address());
    }
  }

  const std::string& servers() const { return here_; }  // to connect to instead
  Traffic traffic() const {
    Traffic sum;
    for (const auto& one : ones_) {
      sum.requests += one.traffic().requests;
      sum.bytes += one.traffic().bytes;
    }
    return sum;
  }

 private:
  std::list<zkrecipes::servers::TcpProxy> ones_;  // of each server
  std::string here_;
};

}  // namespace bench

#endif  // ZKRECIPES_BENCH_PROXY_H_
