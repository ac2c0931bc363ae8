// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "testing/local/server_start.h"

namespace zkrecipes::testing {
namespace {

absl::Status Bad(const std::string& option, const std::string& value, const std::string& rule) {
  return absl::InvalidArgumentError(
      absl::StrFormat("LocalEnsembleOptions.%s is %s: it must be %s", option, value, rule));
}

absl::Status CheckRange(const std::string& option, int value, int least, int most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return Bad(option, absl::StrCat(value), absl::StrFormat("%d to %d", least, most));
}

// ZooKeeper reads an int32 of milliseconds.
absl::Status CheckMilliseconds(const std::string& option, absl::Duration value) {
  const bool whole = absl::Trunc(value, absl::Milliseconds(1)) == value;
  if (whole && value > absl::ZeroDuration() &&
      value <= absl::Milliseconds(std::numeric_limits<int>::max())) {
    return absl::OkStatus();
  }
  return Bad(option, absl::FormatDuration(value), "whole milliseconds, positive, below 24 days");
}

absl::Status CheckPositive(const std::string& option, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return Bad(option, absl::FormatDuration(value), "positive");
}

absl::Status CheckSessionTimeouts(const LocalEnsembleOptions& options) {
  absl::Duration least = options.tick * 2;
  if (options.min_session_timeout != absl::ZeroDuration()) {
    if (auto s = CheckMilliseconds("min_session_timeout", options.min_session_timeout); !s.ok()) {
      return s;
    }
    least = options.min_session_timeout;
  }
  if (auto s = CheckMilliseconds("max_session_timeout", options.max_session_timeout); !s.ok()) {
    return s;
  }
  if (options.max_session_timeout >= least) return absl::OkStatus();
  return Bad("max_session_timeout", absl::FormatDuration(options.max_session_timeout),
             absl::StrCat("at least the minimum, ", absl::FormatDuration(least)));
}

absl::Status CheckAddresses(const LocalEnsembleOptions& options) {
  const std::vector<std::string>& all = options.addresses;
  if (!all.empty() && all.size() != static_cast<size_t>(options.servers)) {
    return Bad("addresses", absl::StrCat("of ", all.size(), " members"),
               absl::StrCat("of all ", options.servers, ", or empty"));
  }
  for (const std::string& address : all) {
    in_addr parsed{};
    if (inet_pton(AF_INET, address.c_str(), &parsed) == 1) continue;
    return Bad("addresses", absl::StrCat("given '", address, "'"), "numeric IPv4 addresses");
  }
  return absl::OkStatus();
}

absl::Status CheckExtraConfig(const std::map<std::string, std::string>& extra) {
  for (const auto& [key, value] : extra) {
    if (key.empty() || key.find_first_of(" \t\r\n=:#!\\") != std::string::npos) {
      return Bad("extra_config", absl::StrCat("given the key '", key, "'"),
                 "keys of a properties file without blanks, '=', ':', '#', '!' and '\\'");
    }
    if (value.find_first_of("\r\n\\") != std::string::npos) {
      return Bad("extra_config", absl::StrCat("given a value for '", key, "'"),
                 "values of one line, without '\\'");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const LocalEnsembleOptions& options) {
  constexpr int kManyTicks = 1'000'000;
  for (const absl::Status& status :
       {CheckRange("servers", options.servers, 1, 9), CheckAddresses(options),
        CheckMilliseconds("tick", options.tick),
        CheckRange("init_limit", options.init_limit, 1, kManyTicks),
        CheckRange("sync_limit", options.sync_limit, 1, kManyTicks), CheckSessionTimeouts(options),
        CheckMilliseconds("container_check_interval", options.container_check_interval),
        CheckExtraConfig(options.extra_config),
        CheckRange("max_heap_megabytes", options.max_heap_megabytes, 32, 65536),
        CheckPositive("start_timeout", options.start_timeout),
        CheckPositive("max_lifetime", options.max_lifetime)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace zkrecipes::testing
