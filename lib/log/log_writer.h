// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_LOG_LOG_WRITER_H_
#define ZKRECIPES_LIB_LOG_LOG_WRITER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/log/log_rate.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/log_listener.h"

namespace zkrecipes::internal {

// How serious an event is, where it depends on nothing else.
LogLevel LevelOf(LogEvent event);

// Hands records to the user's sink, as many as may be. Thread-safe; the sink is called without a lock, on the
// executor.
class LogWriter {
 public:
  using Clock = std::function<base::BootTime()>;
  explicit LogWriter(LogOptions options, Clock clock = base::BootNow);

  bool Wants(LogLevel level) const { return level >= options_.least && options_.sink != nullptr; }
  bool Wants(LogEvent event) const { return Wants(LevelOf(event)); }
  // REQUIRES: Wants(record.level).
  void Write(LogRecord record);

  void OnReport(const SessionReport& report);
  void OnState(ClientState state);

 private:
  struct Kept {
    explicit Kept(const LogRecord& r) : record(r), path(r.path), node(r.node), reason(r.reason) {}
    LogRecord record;  // its texts are void
    std::string path, node, reason;
  };
  void TellOwed();
  bool IsNew(const SessionReport& report);

  const LogOptions options_;
  const Clock clock_;
  const std::shared_ptr<session::Subscriber<Kept>> kept_;
  base::Mutex mutex_;
  LogRate rate_ ABSL_GUARDED_BY(mutex_);
  // The last session of each index: with one client per listener, what is current.
  std::map<int, int64_t> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_LOG_LOG_WRITER_H_
