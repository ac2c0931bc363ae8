// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LOG_LISTENER_H_
#define ZKRECIPES_LOG_LISTENER_H_

#include <functional>
#include <memory>
#include <string>

#include "zkrecipes/client.h"
#include "zkrecipes/event_listener.h"
#include "zkrecipes/log_record.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class LogWriter;
}

// Which records are written, and where.
struct LogOptions {
  LogSink sink = LogToStderr();
  LogLevel least = LogLevel::kInfo;  // records below this level are left out, and cost no task
  // Where the sink is called. Null: the library's own (executor.h). A sink that blocks holds up
  // only the records behind it; they are kept in memory meanwhile.
  std::shared_ptr<Executor> executor = {};
};

// Writes the events of a client's acquires, leases and sessions to a log, one record per event.
//
//   auto log = std::make_shared<LogListener>();
//   auto client = Client::Connect({.servers = "zk1:2181",
//                                  .listener = log,
//                                  .on_session_report = log->SessionReports()});
//   const Subscription states = log->Follow(**client);
//
// With a logger of your own:
//
//   LogListener({.sink = [logger](const LogRecord& record) { logger->Write(ToText(record)); }})
//
// A thousand leases that end with one session make a thousand records. A sink can limit them with
// counts of its own, and needs no mutex, since its calls never overlap:
//
//   if (record.time >= begun + 1s) begun = record.time, written.clear();
//   if (++written[record.event] <= 20) logger->Write(ToText(record));
//
// Thread-safe; does not block. One object may serve several clients.
class LogListener : public EventListener {
 public:
  explicit LogListener(LogOptions options = {});
  ~LogListener() override;

  // For one client's ClientOptions::on_session_report. May outlive this object.
  std::function<void(const SessionReport&)> SessionReports() const;
  // Writes the client's changes of state, until the subscription is destroyed.
  Subscription Follow(Client& client) const;

  EventListener* AtOnce(const std::string& path) override;  // what makes the records

 private:
  const std::shared_ptr<internal::LogWriter> writer_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LOG_LISTENER_H_
