// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_NARRATOR_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_NARRATOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "lib/base/mutex.h"
#include "lib/session/client/client_core.h"
#include "tools/zkr/commands/commands.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::zkr::commands {

// False if `stop` came before.
bool SleepFor(absl::Duration time, const std::stop_token& stop);

// Tells people on stderr why nothing happens: a wait or an outage that lasts for over a second is
// told once; with --quiet it is not, with --verbose at once. A narrator that gets no thread is
// silent.

// Calls `tell` on a thread of its own, if it lives that long. Its destructor stops the token that
// `tell` gets, and waits until it has returned.
class Late {
 public:
  Late(const GlobalFlags& flags, std::function<void(std::stop_token)> tell);
  Late(absl::Duration patience, std::function<void(std::stop_token)> tell);

 private:
  std::jthread thread_;
};

// While it lives, tells of `client`'s outages, and when each is over: also `notify`, if it is
// given, with --quiet, too (true: it has begun).
class OutageNotice {
 public:
  OutageNotice(const GlobalFlags& flags, Client& client, std::function<void(bool)> notify = {});

 private:
  void On(ClientState state);
  void Tell(bool outage);
  void TellOfRefusal(const std::stop_token& stop);

  const GlobalFlags& flags_;
  const std::function<void(bool)> notify_;
  const std::shared_ptr<internal::ClientCore> core_;
  base::Mutex mutex_;
  bool told_ ABSL_GUARDED_BY(mutex_) = false;  // of an outage, and not yet of its end
  std::optional<Late> late_;  // of an outage that is under way; the subscription's callbacks only
  Subscription states_;       // last: its callbacks use the others
};

// "waiting for /locks/a: 2 in front, the next is job@host:17; held by job@host:12 since 10:03:07".
// `session`: the waiter's. Empty if its node is not among them, or holds.
std::string WhyItWaits(const std::string& path, std::vector<ContenderInfo> queue,
                       std::int64_t session);

// For as long as `client` waits in the queue of `path`.
Late NoticeOfWait(const GlobalFlags& flags, std::shared_ptr<Client> client,
                  const std::string& path);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_NARRATOR_H_
