// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/probe.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/base/one_shot.h"
#include "lib/zk/loop/resolver.h"
#include "lib/zk/wire/answers.h"
#include "lib/zk/wire/jute_reader.h"
#include "testing/local/quorum.h"
#include "tools/zkr/doctor/server_words.h"

namespace zkrecipes::zkr::doctor {
namespace {

// The longest timeout that the C client can ask for.
constexpr absl::Duration kLongest = absl::Milliseconds(1 << 29);

absl::Status Failed(int error) {
  if (error == EAGAIN || error == EINPROGRESS) return absl::DeadlineExceededError("no answer");
  return absl::UnavailableError(std::strerror(error));  // NOLINT(concurrency-mt-unsafe)
}

absl::StatusOr<std::string> Receive(const base::UniqueFd& fd, std::size_t size,
                                    absl::Time deadline) {
  std::string bytes;
  while (bytes.size() < size) {
    if (absl::Now() > deadline) return Failed(EAGAIN);
    char buffer[512];
    testing::BlockUntil(deadline, fd);
    const ssize_t got =
        recv(fd.get(), buffer, std::min(sizeof(buffer), size - bytes.size()), /*flags=*/0);
    // A server with too many clients, or one that is starting, accepts and closes.
    if (got == 0) return absl::UnavailableError("it hangs up");
    if (got < 0 && errno != EINTR) return Failed(errno);
    bytes.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return bytes;
}

bool Say(const base::UniqueFd& fd, const std::string& bytes) {
  return send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

struct Opened {
  std::int64_t session = 0;
  absl::Duration granted = {};
};

// A new session, which is ended again once `meanwhile` has used it.
absl::StatusOr<Opened> Open(const std::string& address, absl::Duration asked,
                            const std::function<void(const Opened&)>& meanwhile) {
  const absl::Time deadline = absl::Now() + kPatience;
  const base::UniqueFd fd = testing::Dial(address, deadline);
  const auto asked_ms =
      static_cast<std::int32_t>(absl::ToInt64Milliseconds(std::min(asked, kLongest)));
  // By hand and not by a client of the library: a client would go to another server, and retry.
  if (!fd.valid() || !Say(fd, Handshake(asked_ms))) return Failed(errno);
  const auto length = Receive(fd, 4, deadline);
  if (!length.ok()) return length.status();
  const std::int32_t size = zk::wire::JuteReader(*length).Int();
  // Whatever listens there may say anything: HTTP servers read as an enormous length.
  if (size < 0 || size > 1024) return absl::UnavailableError("it does not speak ZooKeeper");
  const auto frame = Receive(fd, static_cast<std::size_t>(size), deadline);
  if (!frame.ok()) return frame.status();
  if (const std::string wrong = zk::wire::WrongWelcome(*frame, /*asked_session=*/0);
      !wrong.empty()) {
    return absl::UnavailableError(wrong);
  }
  zk::wire::JuteReader reader(*frame);
  reader.Int();  // the protocol's version
  Opened opened;
  opened.granted = absl::Milliseconds(reader.Int());
  opened.session = reader.Long();
  if (meanwhile) meanwhile(opened);
  // Closed, not dropped: a dropped session would stay until its timeout.
  if (Say(fd, Farewell())) Receive(fd, 4, absl::Now() + kPatience).IgnoreError();
  return opened;
}

// Also who is connected: by cons, in which a session of our own shows what the server's clock says
// now.
absl::StatusOr<Grants> GrantsOf(ServerFacts& server, absl::Duration asked) {
  const auto read_cons = [&server](const Opened& own) {
    const auto cons = testing::FourLetterWord(server.address, "cons", kPatience);
    server.connections = ReadCons(cons.value_or(""), own.session);
    if (server.connections) server.connections->erase(own.session);
  };
  const auto first = Open(server.address, asked, read_cons);
  if (!first.ok()) return first.status();
  const auto least = Open(server.address, absl::Milliseconds(1), {});
  if (!least.ok()) return least.status();
  const auto longest = Open(server.address, kLongest, {});
  if (!longest.ok()) return longest.status();
  return Grants{first->granted, least->granted, longest->granted};
}

// Without what FourLetterWord puts in front: "'srvr' to 127.0.0.1:2181: ".
std::string ReasonOf(const absl::Status& status) {
  const std::string message(status.message());
  const std::size_t at = message.rfind(": ");
  return at == std::string::npos ? message : message.substr(at + 2);
}

void Probe(ServerFacts& server, absl::Duration asked) {
  const auto srvr = testing::FourLetterWord(server.address, "srvr", kPatience);
  if (absl::IsDeadlineExceeded(srvr.status())) {  // silent: nothing else would be answered
    server.trouble = absl::StrCat("nothing comes within ", absl::FormatDuration(kPatience));
    return;
  }
  const auto grants = GrantsOf(server, asked);
  // A server may be closed to srvr and still serve.
  server.reachable = srvr.ok() || grants.ok();
  if (grants.ok()) server.grants = *grants;
  if (!grants.ok()) server.trouble = ReasonOf(srvr.ok() ? grants.status() : srvr.status());
  if (!srvr.ok()) return;
  if (ServesNobody(*srvr)) server.trouble = "it is not in the quorum";
  ReadSrvr(*srvr, server.words);
  // One that is closed to a word says so, which reads as nothing.
  ReadConf(testing::FourLetterWord(server.address, "conf", kPatience).value_or(""), server.words);
  ReadMntr(testing::FourLetterWord(server.address, "mntr", kPatience).value_or(""), server.words);
  // Only the leader knows all sessions' nodes, and the answer may be large.
  if (server.words.mode != "leader" && server.words.mode != "standalone") return;
  server.ephemeral_bytes =
      ReadDump(testing::FourLetterWord(server.address, "dump", kPatience).value_or(""));
}

// The server once for each of its addresses, or once with the reason why it has none.
std::vector<ServerFacts> Resolved(const zk::ServerAddress& server) {
  // An IPv6 address is written in brackets, as in the list of servers.
  const bool v6 = absl::StrContains(server.host, ':');
  const std::string name = absl::StrCat(v6 ? "[" : "", server.host, v6 ? "]:" : ":", server.port);
  using Answer = absl::StatusOr<zk::Resolution>;
  const auto shot = std::make_shared<base::OneShot<Answer>>();
  zk::loop::SystemResolver()->Resolve({server},
                                      [shot](Answer answer) { shot->Set(std::move(answer)); });
  // A resolver that hangs is left behind: its answer comes to an object that it keeps alive itself.
  const auto answer = shot->Take(base::BootNow() + kPatience);
  if (!answer) return {{.name = name, .trouble = "its name is not resolved in time"}};
  if (!answer->ok()) return {{.name = name, .trouble = std::string(answer->status().message())}};
  std::vector<ServerFacts> facts;
  // Two names of one server may be listed; one name's addresses are taken once each.
  const std::set<std::string> addresses((*answer)->addresses.begin(), (*answer)->addresses.end());
  for (const std::string& address : addresses) {
    const bool one = addresses.size() == 1;
    facts.push_back(
        {.name = one ? name : absl::StrCat(name, " (", address, ")"), .address = address});
  }
  return facts;
}

// On a thread for each.
template <typename T, typename Do>
void ForEachAtOnce(std::vector<T>& all, Do act) {
  std::vector<std::jthread> threads;
  for (T& one : all) threads.emplace_back([&one, &act] { act(one); });
}

}  // namespace

std::vector<ServerFacts> ProbeServers(const std::vector<zk::ServerAddress>& servers,
                                      absl::Duration asked) {
  std::vector<std::pair<zk::ServerAddress, std::vector<ServerFacts>>> resolved;
  // Names first: only then is the number of servers known.
  for (const zk::ServerAddress& server : servers) resolved.push_back({server, {}});
  ForEachAtOnce(resolved, [](auto& one) { one.second = Resolved(one.first); });
  std::vector<ServerFacts> facts;
  for (auto& [server, found] : resolved) facts.insert(facts.end(), found.begin(), found.end());
  ForEachAtOnce(facts, [asked](ServerFacts& server) {
    if (!server.address.empty()) Probe(server, asked);
  });
  return facts;
}

}  // namespace zkrecipes::zkr::doctor
