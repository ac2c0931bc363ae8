// SPDX-License-Identifier: Apache-2.0

#include "testing/local/quorum.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::testing {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return AddressList(found, [](addrinfo* list) {
    if (list != nullptr) freeaddrinfo(list);
  });
}

// From then on, calls on the socket fail with EAGAIN, and connect with EINPROGRESS.
void BlockUntil(absl::Time deadline, const base::UniqueFd& fd) {
  // Zero would be for ever.
  const timeval left = absl::ToTimeval(std::max(deadline - absl::Now(), absl::Milliseconds(1)));
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(fd.get(), SOL_SOCKET, option, &left, sizeof left);
  }
}

// A connection to "host:port" or "[::1]:port". Not valid, with a reason in errno, if there is none
// by `deadline`: then EINPROGRESS. Resolving a name may block longer.
base::UniqueFd Dial(const std::string& address, absl::Time deadline) {
  const AddressList list = Resolve(address);
  if (list == nullptr) {
    errno = EADDRNOTAVAIL;
    return base::UniqueFd();
  }
  base::UniqueFd fd(socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  BlockUntil(deadline, fd);
  if (connect(fd.get(), list->ai_addr, list->ai_addrlen) == 0) return fd;
  const int error = errno;
  fd = base::UniqueFd();
  errno = error;
  return fd;
}

// A server with many sessions says several megabytes to `cons`.
constexpr size_t kLongestAnswer = size_t{64} << 20;

bool Leads(ServerMode mode) {
  return mode == ServerMode::kLeader || mode == ServerMode::kStandalone;
}

}  // namespace

absl::StatusOr<std::string> FourLetterWord(const std::string& address, const std::string& word,
                                           absl::Duration timeout) {
  if (word.size() != 4 || !std::all_of(word.begin(), word.end(), absl::ascii_islower)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "'%s' is not a four letter word: it must have four lower-case letters", word));
  }
  const absl::Time deadline = absl::Now() + timeout;
  const auto failed = [&](int error) -> absl::Status {
    const std::string what = absl::StrFormat("'%s' to %s: ", word, address);
    if (error == EAGAIN || error == EINPROGRESS) {
      return absl::DeadlineExceededError(what + "no answer");
    }
    return absl::UnavailableError(what + strerror(error));  // NOLINT(concurrency-mt-unsafe)
  };
  const base::UniqueFd fd = Dial(address, deadline);
  if (!fd.valid() && (errno == EMFILE || errno == ENFILE)) {
    return absl::InternalError("cannot make a socket");
  }
  if (!fd.valid()) return failed(errno);
  if (send(fd.get(), word.data(), word.size(), MSG_NOSIGNAL) < 0) return failed(errno);
  std::string answer;
  for (char buffer[4096];;) {
    if (absl::Now() > deadline || answer.size() > kLongestAnswer) return failed(EAGAIN);
    BlockUntil(deadline, fd);
    const ssize_t n = recv(fd.get(), buffer, sizeof buffer, 0);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) return failed(errno);
    answer.append(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  if (answer.empty()) return failed(ECONNRESET);
  return answer;
}

bool Serves(ServerMode mode) { return Leads(mode) || mode == ServerMode::kFollower; }

std::string ToString(ServerMode mode) {
  static constexpr const char* kNames[] = {"no answer", "not serving", "standalone", "leader",
                                           "follower"};
  return kNames[static_cast<size_t>(mode)];
}

ServerMode AskMode(const std::string& address) {
  const absl::StatusOr<std::string> answer =
      FourLetterWord(address, "srvr", absl::Milliseconds(500));
  if (!answer.ok()) return ServerMode::kNoAnswer;
  for (const ServerMode mode :
       {ServerMode::kStandalone, ServerMode::kLeader, ServerMode::kFollower}) {
    if (absl::StrContains(*answer, "Mode: " + ToString(mode))) return mode;
  }
  return ServerMode::kNotServing;
}

absl::StatusOr<int> QuorumView::Leader() const {
  if (std::ranges::count_if(modes, Leads) != 1)
    return absl::NotFoundError(absl::StrCat("no one leader: ", Describe()));
  return static_cast<int>(std::ranges::find_if(modes, Leads) - modes.begin());
}

int QuorumView::FirstNotServing() const {
  const auto found = std::find_if_not(modes.begin(), modes.end(), Serves);
  return found == modes.end() ? 0 : static_cast<int>(found - modes.begin());
}

// A leader that has just lost its followers says for a while that it leads, and followers that have
// just lost their leader that they follow: only both together are a quorum.
bool QuorumView::HasQuorum() const {
  const auto serving = std::ranges::count_if(modes, Serves);
  return Leader().ok() && 2 * serving > static_cast<std::ptrdiff_t>(modes.size());
}

bool QuorumView::AllServe() const { return Leader().ok() && std::ranges::all_of(modes, Serves); }

std::string QuorumView::Describe() const {
  std::string text;
  for (size_t i = 0; i < modes.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", i, ": ", ToString(modes[i]));
  }
  return text;
}

QuorumView AskModes(const std::vector<std::string>& addresses) {
  QuorumView view;
  for (const std::string& address : addresses) view.modes.push_back(AskMode(address));
  return view;
}

absl::Status WaitForView(const std::function<absl::StatusOr<QuorumView>()>& look,
                         bool (QuorumView::*holds)() const, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    const absl::StatusOr<QuorumView> view = look();
    if (!view.ok() || ((*view).*holds)()) return view.status();
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrFormat("the ensemble is not whole after %s: %s",
                                                         absl::FormatDuration(timeout),
                                                         view->Describe()));
    }
    absl::SleepFor(absl::Milliseconds(25));
  }
}

}  // namespace zkrecipes::testing
