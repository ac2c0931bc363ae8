// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LOG_LISTENER_H_
#define ZKRECIPES_LOG_LISTENER_H_

#include <functional>
#include <memory>
#include <string>

#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/event_listener.h"
#include "zkrecipes/log_record.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class LogWriter;
}

// Where records go, which, and how many.
struct LogOptions {
  LogSink sink = LogToStderr();
  LogLevel least = LogLevel::kInfo;  // what is below is not even put together
  // Of each event at most so many records in `per`, which begins with the first; others are counted, and told by
  // the next record of the event (LogRecord::dropped), at the latest with the next report of a session after `per`.
  // 1 or more.
  int most = 20;
  Duration per = absl::Seconds(1);
  // Where the sink is called. Null: the library's own (executor.h). A sink that blocks holds up the records behind
  // it, which are kept meanwhile, and nothing else.
  std::shared_ptr<Executor> executor = {};
};

// What becomes of a client's acquires, leases and sessions, as records for a log.
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
// Thread-safe; does not block. One object may serve several clients: they share the rates, and the sink.
class LogListener : public EventListener {
 public:
  explicit LogListener(LogOptions options = {});
  ~LogListener() override;

  // For ClientOptions::on_session_report. May outlive this object.
  std::function<void(const SessionReport&)> SessionReports() const;
  // The client's state, until the subscription is destroyed.
  Subscription Follow(Client& client) const;

  EventListener* AtOnce(
      const std::string& path) override;  // this one: what is left out costs no task
  void OnQueued(const std::string& path, int waits_for, const std::string& behind) override;
  void OnPlaceLost(const std::string& path) override;
  void OnGranted(const Sequencer& lease, int64_t session, absl::Duration after) override;
  void OnNotGranted(const std::string& path, const absl::Status& why,
                    absl::Duration after) override;
  void OnSuspect(const Sequencer& lease) override;
  void OnProven(const Sequencer& lease) override;
  void OnHeldTooLong(const Sequencer& lease, absl::Duration held) override;
  void OnLost(const Sequencer& lease, LeaseEnd why) override;
  void OnReleased(const Sequencer& lease, absl::Duration held) override;
  void OnOpenParent(const std::string& path) override;

 private:
  const std::shared_ptr<internal::LogWriter> writer_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LOG_LISTENER_H_
