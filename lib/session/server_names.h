// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SERVER_NAMES_H_
#define ZKRECIPES_LIB_SESSION_SERVER_NAMES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "lib/session/look_up.h"
#include "lib/zk/loop/resolver.h"
#include "lib/zk/seam/reactor.h"
#include "lib/zk/seam/servers.h"

namespace zkrecipes::session {

// Looks up the servers' names, one look-up after another, and knows the addresses that were found.
// On the reactor.
class ServerNames {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // There is no open handle, which would have what was known before: any address will do.
    virtual bool NeedsAddresses() const = 0;
    // Of the latest look-up. Not `complete`: it comes again when more names are known. `unsure`: it
    // does not, though some name could not be resolved.
    virtual void OnNamesKnown(bool complete, bool unsure) = 0;
    virtual void OnNamesFailed(const absl::Status& why) = 0;
  };

  // `owner` outlives it.
  ServerNames(std::shared_ptr<zk::Reactor> reactor, Owner* owner,
              std::shared_ptr<zk::loop::Resolver> resolver);

  void LookUp(const std::vector<zk::ServerAddress>& servers, absl::Duration session_timeout);
  // An answer that is still under way is ignored.
  void Forget() { ++number_; }

  const zk::Resolution& known() const { return known_; }

 private:
  void OnAnswers(const std::vector<zk::ListedServer>& answers);
  void Expect();
  void Take();

  const std::shared_ptr<zk::Reactor> reactor_;
  Owner* const owner_;
  const std::shared_ptr<zk::loop::Resolver> resolver_;
  uint64_t number_ = 0;  // of the latest look-up
  session::LookUp latest_;
  absl::Duration patience_;
  zk::Resolution known_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SERVER_NAMES_H_
