// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/log_listener.h"

#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "lib/log/log_writer.h"

namespace zkrecipes {
namespace {

// What nobody has to look into: the caller asked for it, or was answered.
bool IsExpected(const absl::Status& why) {
  return absl::IsAlreadyExists(why) || absl::IsDeadlineExceeded(why) || absl::IsCancelled(why);
}

LogRecord RecordOf(LogEvent event, std::string_view path) {
  return {.event = event, .level = internal::LevelOf(event), .path = path};
}

LogRecord RecordOf(LogEvent event, const Sequencer& lease) {
  const std::string_view node = lease.node;
  LogRecord record = RecordOf(event, node.substr(0, node.rfind('/')));
  record.token = lease.token.value();
  record.node = node;
  return record;
}

}  // namespace

LogListener::LogListener(LogOptions options)
    : writer_(std::make_shared<internal::LogWriter>(std::move(options))) {}

LogListener::~LogListener() = default;

std::function<void(const SessionReport&)> LogListener::SessionReports() const {
  return [writer = writer_](const SessionReport& report) { writer->OnReport(report); };
}

Subscription LogListener::Follow(Client& client) const {
  return client.OnStateChange([writer = writer_](ClientState state) { writer->OnState(state); });
}

EventListener* LogListener::AtOnce(const std::string& /*path*/) { return this; }

void LogListener::OnQueued(const std::string& path, int waits_for, const std::string& behind) {
  if (!writer_->Wants(LogEvent::kQueued)) return;
  LogRecord record = RecordOf(LogEvent::kQueued, path);
  record.waits_for = waits_for;
  record.node = behind;
  writer_->Write(record);
}

void LogListener::OnPlaceLost(const std::string& path) {
  if (writer_->Wants(LogEvent::kPlaceLost)) writer_->Write(RecordOf(LogEvent::kPlaceLost, path));
}

void LogListener::OnGranted(const Sequencer& lease, int64_t session, absl::Duration after) {
  if (!writer_->Wants(LogEvent::kGranted)) return;
  LogRecord record = RecordOf(LogEvent::kGranted, lease);
  record.session = session;
  record.lasted = absl::ToChronoNanoseconds(after);
  writer_->Write(record);
}

void LogListener::OnNotGranted(const std::string& path, const absl::Status& why,
                               absl::Duration after) {
  const LogLevel level = IsExpected(why) ? LogLevel::kInfo : LogLevel::kWarning;
  if (!writer_->Wants(level)) return;
  const std::string reason = why.ToString();
  LogRecord record = RecordOf(LogEvent::kNotGranted, path);
  record.level = level;
  record.lasted = absl::ToChronoNanoseconds(after);
  record.reason = reason;
  writer_->Write(record);
}

void LogListener::OnSuspect(const Sequencer& lease) {
  if (writer_->Wants(LogEvent::kSuspect)) writer_->Write(RecordOf(LogEvent::kSuspect, lease));
}

void LogListener::OnProven(const Sequencer& lease) {
  if (writer_->Wants(LogEvent::kProven)) writer_->Write(RecordOf(LogEvent::kProven, lease));
}

void LogListener::OnHeldTooLong(const Sequencer& lease, absl::Duration held) {
  if (!writer_->Wants(LogEvent::kHeldTooLong)) return;
  LogRecord record = RecordOf(LogEvent::kHeldTooLong, lease);
  record.lasted = absl::ToChronoNanoseconds(held);
  writer_->Write(record);
}

void LogListener::OnLost(const Sequencer& lease, LeaseEnd why) {
  if (!writer_->Wants(LogEvent::kLost)) return;
  std::ostringstream text;
  text << why;
  const std::string reason = text.str();
  LogRecord record = RecordOf(LogEvent::kLost, lease);
  record.reason = reason;
  writer_->Write(record);
}

void LogListener::OnReleased(const Sequencer& lease, absl::Duration held) {
  if (!writer_->Wants(LogEvent::kReleased)) return;
  LogRecord record = RecordOf(LogEvent::kReleased, lease);
  record.lasted = absl::ToChronoNanoseconds(held);
  writer_->Write(record);
}

void LogListener::OnOpenParent(const std::string& path) {
  if (writer_->Wants(LogEvent::kOpenParent)) writer_->Write(RecordOf(LogEvent::kOpenParent, path));
}

}  // namespace zkrecipes
