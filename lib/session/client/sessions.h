// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_CLIENT_SESSIONS_H_
#define ZKRECIPES_LIB_SESSION_CLIENT_SESSIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/session/client/config_follower.h"
#include "lib/session/session.h"
#include "zkrecipes/client.h"

namespace zkrecipes::session::client {

// A client's sessions, on one reactor: the first, and one more whenever a contender has no room in
// any of them (PathBudget). A contender stays in its session; what follows its lease belongs there,
// too. They go together, when the client is closed. Everything on the reactor; destroy it there
// too, after Close has reported.
class Sessions {
 public:
  // Each is a connection of its own, of which a server allows 60 to a host by default.
  static constexpr size_t kMost = 32;
  static constexpr size_t kMostApart = 1000;  // paths that are known

  struct Environment {
    std::shared_ptr<zk::Reactor> reactor;
    zk::HandleFactory* factory;
    std::shared_ptr<zk::loop::Resolver> resolver;
  };
  struct Options {
    // `servers` and `reach` are the first session's; `on_change` and `client_goes_on` are filled in
    // here.
    Session::Options each;
    bool follow_config = false;
    // After every change; `state`: of all together, unless it is as before. kConnected: all are.
    // The others: as the last one that changed. A further session counts from its first connection
    // on.
    absl::AnyInvocable<void(Change, std::optional<ClientState> state)> on_change;
  };

  Sessions(Environment environment, Options options);
  ~Sessions();

  void Start();
  // See Session::Close; of all of them, with the first status that is not OK.
  void Close(absl::AnyInvocable<void(absl::Status) &&> closed);

  Session* first() { return members_.front()->session.get(); }
  // One for a contender under `parent` in which so many bytes of paths fit. With kMost in use, a
  // path that is apart shares one with another such path, and any other path has any session that
  // does not end soon. Null if there is none.
  Session* WithRoom(const std::string& parent, size_t node_bytes, size_t watch_bytes);
  // The servers did not let a node under `parent` be deleted. Later contenders there have a session
  // apart: it ends for such nodes once no lease rests on it, and all that wait in it lose their
  // places.
  void SetApart(const std::string& parent);
  bool IsApart(const std::string& parent) const { return apart_.contains(parent); }
  // The one that now has this session, if any.
  Session* Of(zk::SessionId id);
  bool connected() const;  // all that count
  // Why one of them has no connection; OK while all have.
  absl::Status trouble() const;

  void SetServers(const std::vector<zk::ServerAddress>& servers);
  void SetCredentials(base::Secrets all);
  void AddCredential(const base::Secret& credential);

 private:
  struct Member {
    std::unique_ptr<Session> session;
    std::unique_ptr<ConfigFollower> follower;
    bool counts = false;
    std::string apart;  // for this path, whose nodes may not be deleted; "": for all others
  };

  Session* Add(std::string apart);
  Session* TryAgain(Session* refused);
  void OnChange(Member& member, Change change);
  ClientState StateAfter(const Member& member, Change change) const;
  void OnClosed(absl::Status status);
  // The index of the session that has had no connection for the longest time, if there is one.
  std::optional<size_t> LongestCutOff() const;
  void FollowOutage();
  void ReportOutage();

  const Environment environment_;
  Options options_;
  std::vector<std::unique_ptr<Member>> members_;
  absl::flat_hash_set<std::string> apart_;
  ClientState state_ = ClientState::kSuspended;
  size_t closing_ = 0;  // have not reported yet
  bool close_begun_ = false;
  absl::Status close_status_;
  absl::AnyInvocable<void(absl::Status) &&> closed_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  bool outage_timer_runs_ = false;
  base::BootTime outage_reported_;
};

}  // namespace zkrecipes::session::client

#endif  // ZKRECIPES_LIB_SESSION_CLIENT_SESSIONS_H_
