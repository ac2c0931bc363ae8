// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/result.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

#include "lib/base/unique_fd.h"
#include "tools/zkr/output.h"
#include "tools/zkr/supervisor/diagnostic.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:  // a path that cannot have children
      return kUsage;
    // A wait that ended: at its limit, by a signal, or because the node was deleted.
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
      return kNotAcquired;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kDenied;
    case absl::StatusCode::kResourceExhausted:
      return kExhausted;
    default:
      return kUnavailable;
  }
}

absl::Status EndOfWait(const absl::Status& why, bool over) {
  return over && absl::IsUnavailable(why) ? absl::DeadlineExceededError(why.message()) : why;
}

void LogAsJson() {
  supervisor::SetDiagnosticForm([](const std::string& message, const std::string& code) {
    return LogJson(absl::Now(), message, code);
  });
}

namespace {

// Others have written what some messages quote: names, owners, data.
void Say(absl::string_view message, const std::string& code) {
  supervisor::Diagnose(Printable(message, absl::string_view::npos), code);
}

}  // namespace

void Complain(const std::string& message) { Say(message, ""); }
void Complain(const absl::Status& status) {
  // The library names its own options: here they are flags.
  const std::string message = absl::StrReplaceAll(
      status.message(),
      {{"write kazoo's names (NameDialect::kKazoo)", "use --dialect kazoo"},
       {"write Curator's names with NodeMarker::kLock",
        "use --dialect curator and neither --shared nor --exclusive (zkr elect: --as-lock)"},
       {"write Curator's names with NodeMarker::kWriter, or use a ReadWriteLock",
        "use --dialect curator and zkr lock --exclusive, or --shared"},
       {"write Curator's names with NodeMarker::kLatch",
        "use --dialect curator and zkr elect without --as-lock"},
       {"and this contender comes with ", "and --permits is "},
       {"set beside_blind", "use --beside-blind"},
       {"Ask for a longer timeout, set LeaseOptions::ping_gap if it is known to be less, or use a "
        "lock delay",
        "So ask for a longer --session-timeout"},
       {"give digest_credentials if", "use --digest-file if"},
       {"tls: ca_file ", "tls: --tls-ca "},
       {"tls: crl_file ", "tls: --tls-crl "},
       {"tls: certificate_file ", "tls: --tls-cert "},
       {"tls: certificate_file and key_file go", "tls: --tls-cert and --tls-key go"},
       {"tls: key_file ", "tls: --tls-key "},
       {"to the certificate in certificate_file", "to the certificate of --tls-cert"},
       {"tls: server_name ", "tls: --tls-server-name "}});
  Say(message, absl::StatusCodeToString(status.code()));
  // The library names ACL and path; how zkr is given other rights is for zkr to say.
  if (ExitCodeFor(status) != kDenied) return;
  Complain("name a user who may: --digest-file FILE or ZKR_DIGEST_FILE, one user:password a line");
}

namespace {

// Flushed here, since an error at exit would come after the exit status is chosen.
int WriteOut(const std::string& text) {
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : errno;
}

// In pieces that a pipe with room for any takes at once. A terminal takes what it has room for, and
// would have the rest wait for its reader.
int WriteUnless(const std::stop_token& cancel, absl::string_view text) {
  const supervisor::LossWatch cancelled(cancel);
  const base::UniqueFd terminal =
      isatty(STDOUT_FILENO) ? supervisor::OpenAnew(STDOUT_FILENO) : base::UniqueFd();
  const int out = terminal.valid() ? terminal.get() : STDOUT_FILENO;
  while (!text.empty()) {
    pollfd fds[] = {{out, POLLOUT, 0}, {cancelled.fd(), POLLIN, 0}};
    const bool polled = poll(fds, 2, cancelled.MillisecondsTo()) >= 0;
    if (polled && fds[0].revents == 0) {
      if (cancelled.lost()) return ECANCELED;
      continue;
    }
    const ssize_t written = write(out, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno == EAGAIN) {  // room for less than a line's end
      if (cancelled.lost()) return ECANCELED;
      poll(nullptr, 0, /*milliseconds=*/10);
    } else if (written < 0 && errno != EINTR) {
      return errno;
    }
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int Write(const std::string& text, const std::stop_token& cancel) {
  // Not ignored: CMD would inherit that.
  sigset_t before;
  const sigset_t pipe_signal = supervisor::SignalSet({SIGPIPE});
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const int error = cancel.stop_possible() ? WriteUnless(cancel, text) : WriteOut(text);
  // The pending SIGPIPE is taken, or it would end zkr once it is unblocked.
  const timespec at_once{};
  if (error == EPIPE) sigtimedwait(&pipe_signal, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

int CannotPrint(int error) {
  Complain(std::string("cannot print: ") + std::strerror(error));
  return kInternal;
}

bool Print(const std::string& text) {
  const int error = Write(text);
  if (error != 0) CannotPrint(error);
  return error == 0;
}

int Refuse(const absl::Status& status) {
  Complain(status);
  // 75 is for a lock that is not granted in time; a question that is not answered in time is 69.
  return absl::IsDeadlineExceeded(status) ? kUnavailable : ExitCodeFor(status);
}

Result ResultOf(const supervisor::Outcome& outcome, std::int64_t token) {
  if (outcome.lost) return {"lost", kLost, token};
  switch (outcome.end) {
    case supervisor::Outcome::End::kExited:
      return {"ran", outcome.code, token};
    case supervisor::Outcome::End::kKilled:
      return {"ran", kSignalBase + outcome.code, token};
    case supervisor::Outcome::End::kNotRun:
      break;
  }
  // Another attempt may succeed: not the user's mistake.
  if (outcome.ShortOfResources()) return {"unavailable", kExhausted, token};
  return {"usage", outcome.code == ENOENT ? kNotFound : kCannotRun, token};
}

Result ResultOf(const absl::Status& error, int conflict_status) {
  switch (const ExitCode code = ExitCodeFor(error)) {
    case kNotAcquired:
      return {"not_acquired", conflict_status};
    case kDenied:
      return {"denied", code};
    case kUsage:
      return {"usage", code};
    default:
      return {"unavailable", code};
  }
}

bool WriteResult(int fd, const Result& result) {
  // One write of one line: a reader of the pipe sees all of it or nothing.
  const std::string line = ResultJson(result.word, result.status, result.token);
  return write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

int FindStatusFd(const std::vector<std::string>& words) {
  int fd = -1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    absl::string_view text = words[i];
    // CLI11 has refused the line, so its own reading of the option cannot be used.
    const bool found = absl::ConsumePrefix(&text, "--status-fd");
    if (found && text.empty() && i + 1 < words.size()) text = words[i + 1];
    absl::ConsumePrefix(&text, "=");
    if (found && absl::SimpleAtoi(text, &fd) && fd >= 0) return fd;
  }
  return -1;
}

}  // namespace zkrecipes::zkr
