// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/log_listener.h"

#include <chrono>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/executor.h"
#include "lib/session/subscriber.h"

namespace zkrecipes {
namespace {

LogRecord RecordOf(LogEvent event, LogLevel level, std::string_view path,
                   absl::Duration lasted = absl::ZeroDuration()) {
  return {
      .event = event, .level = level, .path = path, .lasted = absl::ToChronoNanoseconds(lasted)};
}

// The recipe's path is the node's parent; it is not copied before a record is kept.
LogRecord RecordOf(LogEvent event, LogLevel level, const Sequencer& lease,
                   absl::Duration lasted = absl::ZeroDuration()) {
  const std::string_view node = lease.node;
  LogRecord record = RecordOf(event, level, node.substr(0, node.rfind('/')), lasted);
  record.token = lease.token.value();
  record.node = node;
  return record;
}

// The caller asked for these outcomes, or was answered: nobody has to look into them.
bool IsExpected(const absl::Status& why) {
  return absl::IsAlreadyExists(why) || absl::IsDeadlineExceeded(why) || absl::IsCancelled(why);
}

// A suspended client may come back in time; an expired one has lost its leases.
LogLevel LevelOf(ClientState state) {
  if (state == ClientState::kSuspended) return LogLevel::kWarning;
  return state == ClientState::kExpired ? LogLevel::kError : LogLevel::kInfo;
}

bool IsCalm(const PartitionsReport& r) {
  return r.owned == r.assigned && r.waited_for == 0 && r.lost == 0;
}

// A thousand partitions change a thousand times while a fleet starts. What is lost and not waited
// for was to go anyway: it is another member's by now, or this one stops.
LogLevel LevelOf(const PartitionsReport& now, const PartitionsReport& before) {
  const bool loses = now.lost > before.lost;
  const bool needed = now.waited_for > before.waited_for;
  if ((loses && needed) || now.other_lists > before.other_lists) return LogLevel::kWarning;
  const bool others = now.members != before.members || now.other_lists != before.other_lists;
  const bool tells = loses || others || (IsCalm(now) && !IsCalm(before));
  return tells ? LogLevel::kInfo : LogLevel::kDebug;
}

std::string TextOf(const PartitionsReport& r) {
  std::ostringstream text;
  text << "owns " << r.owned << ", assigned " << r.assigned << ", members " << r.members;
  if (r.other_lists > 0) text << ", with another list " << r.other_lists;
  if (r.lost > 0) text << ", lost with work that goes on " << r.lost;
  if (!r.connected) text << ", not connected";
  return text.str();
}

template <typename Value>
std::string TextOf(Value value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

namespace internal {

// Is called at once, on the thread that does the client's I/O: it copies what is to be written, and
// the executor calls the sink, which may block.
class LogWriter : public EventListener {
 public:
  explicit LogWriter(LogOptions options)
      : least_(options.least),
        kept_(std::make_shared<session::Subscriber<Kept>>(
            options.executor ? options.executor : base::SharedExecutor(),
            [sink = std::move(options.sink)](const Kept& kept) {
              LogRecord record = kept.record;
              // The views are set here, and not when the record is kept: a move of Kept moves the
              // texts.
              record.path = kept.path;
              record.node = kept.node;
              record.reason = kept.reason;
              if (sink) sink(record);
            })) {}

  void OnQueued(const std::string& path, int waits_for, const std::string& behind) override {
    LogRecord record = RecordOf(LogEvent::kQueued, LogLevel::kDebug, path);
    record.waits_for = waits_for;
    record.node = behind;
    Write(record);
  }
  void OnPlaceLost(const std::string& path) override {
    Write(RecordOf(LogEvent::kPlaceLost, LogLevel::kWarning, path));
  }
  void OnGranted(const Sequencer& lease, int64_t session, absl::Duration after) override {
    LogRecord record = RecordOf(LogEvent::kGranted, LogLevel::kInfo, lease, after);
    record.session = session;
    Write(record);
  }
  void OnNotGranted(const std::string& path, const absl::Status& why,
                    absl::Duration after) override {
    const LogLevel level = IsExpected(why) ? LogLevel::kInfo : LogLevel::kWarning;
    Write(RecordOf(LogEvent::kNotGranted, level, path, after), why.ToString());
  }
  void OnSuspect(const Sequencer& lease) override {
    Write(RecordOf(LogEvent::kSuspect, LogLevel::kWarning, lease));
  }
  void OnProven(const Sequencer& lease) override {
    Write(RecordOf(LogEvent::kProven, LogLevel::kInfo, lease));
  }
  void OnLost(const Sequencer& lease, LeaseEnd why) override {
    Write(RecordOf(LogEvent::kLost, LogLevel::kError, lease), TextOf(why));
  }
  void OnReleased(const Sequencer& lease, absl::Duration held) override {
    Write(RecordOf(LogEvent::kReleased, LogLevel::kInfo, lease, held));
  }
  void OnTurns(const Sequencer& lease, int64_t turns) override {
    LogRecord record = RecordOf(LogEvent::kTurns, LogLevel::kDebug, lease);
    record.turns = turns;
    Write(record);
  }
  void OnOpenParent(const std::string& path) override {
    Write(RecordOf(LogEvent::kOpenParent, LogLevel::kWarning, path));
  }
  void OnPartitions(const std::string& path, const PartitionsReport& now,
                    const PartitionsReport& before) override {
    const LogLevel level = LevelOf(now, before);
    if (level < least_) return;  // before the text is made
    LogRecord record = RecordOf(LogEvent::kPartitions, level, path);
    record.waits_for = now.waited_for;
    Write(record, TextOf(now));
  }

  void OnNewSession(const SessionReport& report) {
    Write({.event = LogEvent::kSession,
           .session = report.session,
           .lasted = absl::ToChronoNanoseconds(report.timeout)});
  }
  void OnNoConnection(const SessionReport& report) {
    Write({.event = LogEvent::kNoConnection,
           .level = LogLevel::kError,
           .session = report.session,
           .lasted = absl::ToChronoNanoseconds(report.cut_off)},
          report.trouble);
  }
  void OnState(ClientState state) {
    Write({.event = LogEvent::kClient, .level = LevelOf(state)}, TextOf(state));
  }

 private:
  // A record whose texts outlive the event that it was made of.
  struct Kept {
    LogRecord record;  // its texts are void
    std::string path, node, reason;
  };

  void Write(LogRecord record, std::string reason = "") {
    // Before any copy is made: a listener that leaves out most records costs next to nothing.
    if (record.level < least_) return;
    record.time = std::chrono::system_clock::now();
    kept_->Tell({record, std::string(record.path), std::string(record.node), std::move(reason)});
  }

  const LogLevel least_;
  const std::shared_ptr<session::Subscriber<Kept>> kept_;
};

}  // namespace internal

LogListener::LogListener(LogOptions options)
    : writer_(std::make_shared<internal::LogWriter>(std::move(options))) {}

LogListener::~LogListener() = default;

std::function<void(const SessionReport&)> LogListener::SessionReports() const {
  // The latest session of each index. Of this function's client alone: clients count their sessions
  // from 0 on, each by itself.
  std::map<int, int64_t> latest;
  return [writer = writer_, latest](const SessionReport& report) mutable {
    if (!report.trouble.empty()) return writer->OnNoConnection(report);
    // A session is reported several times in its timeout, and written once. The calls come in
    // order.
    const int64_t before = std::exchange(latest[report.index], report.session);
    if (before != report.session) writer->OnNewSession(report);
  };
}

Subscription LogListener::Follow(Client& client) const {
  return client.OnStateChange([writer = writer_](ClientState state) { writer->OnState(state); });
}

EventListener* LogListener::AtOnce(const std::string& /*path*/) { return writer_.get(); }

}  // namespace zkrecipes
