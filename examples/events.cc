// SPDX-License-Identifier: Apache-2.0
//
// The events of a client's acquires and leases, in the service's own log and as
// spans for OpenTelemetry: events SERVERS, or ZKR_SERVERS. A wait and the hold that comes of it are
// one trace. Each line of standard output is OTLP/JSON, as the collector's receiver `otlpjsonfile`
// reads it, or as it is posted to :4318/v1/traces.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

#include "zkrecipes/event_listener.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/log_listener.h"

namespace {

// Stands for the logger that the service has.
void WriteToServicesLog(std::string_view level, std::string_view text) {
  std::cerr << "service: " << level << ": " << text << std::endl;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

// Thread-safe: calls about different acquires may overlap.
class Spans : public zkrecipes::EventListener {
 public:
  void OnGranted(const zkrecipes::Sequencer& lease, int64_t /*session*/,
                 absl::Duration after) override {
    std::lock_guard lock(mutex_);
    const Hold hold = {RandomHex() + RandomHex(), RandomHex(), absl::Now()};
    holds_[lease.node] = hold;
    Write("wait", hold.trace, hold.wait, "", hold.since - after, lease.path(), &lease, "");
  }
  void OnNotGranted(const std::string& path, const absl::Status& why,
                    absl::Duration after) override {
    std::lock_guard lock(mutex_);
    Write("wait", RandomHex() + RandomHex(), RandomHex(), "", absl::Now() - after, path, nullptr,
          why.ToString());
  }
  void OnReleased(const zkrecipes::Sequencer& lease, absl::Duration /*held*/) override {
    EndHold(lease, "");
  }
  void OnLost(const zkrecipes::Sequencer& lease, zkrecipes::LeaseEnd why) override {
    std::ostringstream text;
    text << why;
    EndHold(lease, "lost: " + text.str());
  }
  int written() const {
    std::lock_guard lock(mutex_);
    return written_;
  }

 private:
  struct Hold {
    std::string trace, wait;
    absl::Time since;
  };

  void EndHold(const zkrecipes::Sequencer& lease, const std::string& error) {
    std::lock_guard lock(mutex_);
    const auto hold = holds_.extract(lease.node).mapped();
    Write("hold", hold.trace, RandomHex(), hold.wait, hold.since, lease.path(), &lease, error);
  }

  void Write(const char* name, const std::string& trace, const std::string& span,
             const std::string& parent, absl::Time begin, const std::string& path,
             const zkrecipes::Sequencer* lease, const std::string& error) {
    std::cout
        << R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",)"
        << R"("value":{"stringValue":"ledger"}}]},"scopeSpans":[{"scope":{"name":"zkrecipes"},)"
        << R"("spans":[{"traceId":")" << trace << R"(","spanId":")" << span
        << R"(","parentSpanId":")" << parent << R"(","name":")" << name
        << R"(","kind":1,"startTimeUnixNano":")" << absl::ToUnixNanos(begin)
        << R"(","endTimeUnixNano":")" << absl::ToUnixNanos(absl::Now())
        << R"(","attributes":[{"key":"lock.path","value":{"stringValue":)" << Quoted(path) << "}}";
    if (lease != nullptr) {
      std::cout << R"(,{"key":"lock.token","value":{"intValue":")" << lease->token << "\"}}";
    }
    std::cout << R"(],"status":{"code":)" << (error.empty() ? 1 : 2) << R"(,"message":)"
              << Quoted(error) << "}}]}]}]}" << std::endl;
    ++written_;
  }

  std::string RandomHex() {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (int i = 0; i < 16; ++i) hex += kDigits[random_() % 16];
    return hex;
  }

  mutable std::mutex mutex_;
  std::mt19937_64 random_{std::random_device()()};
  std::map<std::string, Hold> holds_;  // by node
  int written_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 1 ? argv[1] : std::getenv("ZKR_SERVERS");
  if (servers == nullptr) return std::cerr << "usage: events SERVERS\n", 2;
  std::atomic<bool> has_session = false, connected = false, released = false;
  const auto log = std::make_shared<zkrecipes::LogListener>(
      zkrecipes::LogOptions{.sink = [&](const zkrecipes::LogRecord& record) {
        WriteToServicesLog(ToString(record.level), ToText(record));
        if (record.event == zkrecipes::LogEvent::kSession) has_session = true;
        if (record.event == zkrecipes::LogEvent::kClient) connected = true;
        if (record.event == zkrecipes::LogEvent::kReleased) released = true;
      }});
  auto client = zkrecipes::Client::Connect(
      {.servers = servers, .listener = log, .on_session_report = log->SessionReports()},
      {absl::Seconds(10)});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  const auto states = log->Follow(**client);

  const auto spans = std::make_shared<Spans>();  // of this one lock
  const zkrecipes::Lock lock(*client, "/examples/traced", {.listener = spans});
  auto lease = lock.Acquire({absl::Seconds(30)});
  if (!lease.ok()) return std::cerr << lease.status() << "\n", 1;
  (void)lock.Acquire({absl::Milliseconds(100)});  // in vain: it is held
  (void)std::move(*lease).Release();
  // Events are told a moment after the fact; a service lives longer than this.
  const auto told = [&] { return has_session && connected && released && spans->written() == 3; };
  for (int i = 0; i < 1000 && !told(); ++i) absl::SleepFor(absl::Milliseconds(10));
}
