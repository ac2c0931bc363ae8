// SPDX-License-Identifier: Apache-2.0

#include "lib/log/log_writer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "lib/base/executor.h"

namespace zkrecipes::internal {
namespace {

LogLevel LevelOf(ClientState state) {
  switch (state) {
    case ClientState::kSuspended:
      return LogLevel::kWarning;
    case ClientState::kExpired:
      return LogLevel::kError;
    case ClientState::kConnected:
    case ClientState::kClosed:
      break;
  }
  return LogLevel::kInfo;
}

}  // namespace

LogLevel LevelOf(LogEvent event) {
  switch (event) {
    case LogEvent::kQueued:
      return LogLevel::kDebug;
    case LogEvent::kPlaceLost:
    case LogEvent::kSuspect:
    case LogEvent::kHeldTooLong:
    case LogEvent::kOpenParent:
      return LogLevel::kWarning;
    case LogEvent::kLost:
      return LogLevel::kError;
    case LogEvent::kGranted:
    case LogEvent::kReleased:
    case LogEvent::kProven:
    case LogEvent::kNotGranted:
    case LogEvent::kSession:
    case LogEvent::kClient:
      break;
  }
  return LogLevel::kInfo;
}

LogWriter::LogWriter(LogOptions options, Clock clock)
    : options_(std::move(options)),
      clock_(std::move(clock)),
      kept_(std::make_shared<session::Subscriber<Kept>>(
          options_.executor ? options_.executor : base::SharedExecutor(base::Line::kCallbacks),
          [sink = options_.sink](const Kept& kept) {
            LogRecord record = kept.record;
            record.path = kept.path;
            record.node = kept.node;
            record.reason = kept.reason;
            sink(record);
          })),
      rate_(std::max(options_.most, 1), options_.per) {}

void LogWriter::Write(LogRecord record) {
  {
    base::MutexLock lock(mutex_);
    const std::optional<int64_t> dropped = rate_.Pass(record.event, clock_());
    if (!dropped) return;
    record.dropped = *dropped;
  }
  record.time = std::chrono::system_clock::now();
  kept_->Tell(Kept(record));
}

bool LogWriter::IsNew(const SessionReport& report) {
  base::MutexLock lock(mutex_);
  return std::exchange(sessions_[report.index], report.session) != report.session;
}

void LogWriter::OnReport(const SessionReport& report) {
  TellOwed();
  if (!IsNew(report) || !Wants(LogEvent::kSession)) return;
  Write({.event = LogEvent::kSession,
         .session = report.session,
         .lasted = absl::ToChronoNanoseconds(report.timeout)});
}

void LogWriter::OnState(ClientState state) {
  if (!Wants(LevelOf(state))) return;
  std::ostringstream text;
  text << state;
  const std::string reason = text.str();
  Write({.event = LogEvent::kClient, .level = LevelOf(state), .reason = reason});
}

void LogWriter::TellOwed() {
  while (true) {
    std::optional<LogEvent> event;
    {
      base::MutexLock lock(mutex_);
      event = rate_.Owed(clock_());
    }
    if (!event) return;
    Write({.event = *event, .level = LevelOf(*event)});
  }
}

}  // namespace zkrecipes::internal
