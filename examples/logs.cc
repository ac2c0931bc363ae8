// SPDX-License-Identifier: Apache-2.0
//
// The log of a lock, written by the service's own logger: logs SERVERS, or ZKR_SERVERS.

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "zkrecipes/lock.h"
#include "zkrecipes/log_listener.h"

namespace {

// Stands for the logger that the service has.
class ServicesLogger {
 public:
  void Write(std::string_view level, std::string_view text) const {
    std::cout << "service: " << level << ": " << text << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 1 ? argv[1] : std::getenv("ZKR_SERVERS");
  if (servers == nullptr) return std::cerr << "usage: logs SERVERS\n", 2;

  std::atomic<bool> released = false;
  const auto logger = std::make_shared<ServicesLogger>();
  const auto log = std::make_shared<zkrecipes::LogListener>(
      zkrecipes::LogOptions{.sink = [logger, &released](const zkrecipes::LogRecord& record) {
        logger->Write(ToString(record.level), ToText(record));
        if (record.event == zkrecipes::LogEvent::kReleased) released = true;
      }});
  // Beside it, for this one lock, each event as a line of JSON on stderr.
  const auto lines = std::make_shared<zkrecipes::LogListener>(zkrecipes::LogOptions{
      .sink = LogToStderr(zkrecipes::LogFormat::kJson), .least = zkrecipes::LogLevel::kDebug});

  auto client = zkrecipes::Client::Connect(
      {.servers = servers, .listener = log, .on_session_report = log->SessionReports()},
      {absl::Seconds(10)});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  const auto states = log->Follow(**client);
  const zkrecipes::Lock lock(*client, "/examples/logged", {.listener = lines});
  auto lease = lock.Acquire({absl::Seconds(30)});
  if (!lease.ok()) return std::cerr << lease.status() << "\n", 1;
  (void)std::move(*lease).Release();
  // Events are told a moment after the fact; a service lives longer than this.
  for (int i = 0; i < 1000 && !released; ++i) absl::SleepFor(absl::Milliseconds(10));
}
