// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_REFUSALS_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_REFUSALS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/zk/seam/servers.h"

namespace zkrecipes::zk::c_client {

// What the servers of a list say of a session that none of them serves any more. Pure value.
//
// A server that has seen less than the client hangs up in the handshake, as one without a quorum
// does. The two are told apart by a question: a handshake for a session that does not exist, of a
// client that has seen nothing. A server that serves answers it, and nothing is made by it. It is
// asked only once the session has not been served for its timeout, when no lease can be saved: the
// attempt that it takes is not missed then.
//
//   hung up --Asks--> (question) --answered--> refuses
//      ^                         --anything else--> -
//      +---- an attempt that it hangs up on
//
// After a timeout in which most servers of the list refuse it the session is to be given up: most
// of the ensemble has had all that the client saw, so the others cannot save it. Of fewer, one may
// be of another ensemble, at an address that it was given anew.
class Refusals {
 public:
  // A request was answered in the session.
  void Served() { *this = {}; }

  enum class Did {
    kHungUp,   // in the handshake, for a reason that it did not give
    kRefused,  // it serves, but not this session
    kOther,
  };
  // How an attempt at `server` has ended, or its connection. `asked`: the attempt was a question.
  void Note(const std::string& server, Did did, bool asked, base::BootTime now) {
    if (!unserved_since_.has_value()) unserved_since_ = now;
    Of& of = of_[server];
    of.hung_up = did == Did::kHungUp && !asked;
    if (did == Did::kRefused) {
      if (!of.refuses_since.has_value()) of.refuses_since = now;
    } else if (asked || did == Did::kOther) {
      of.refuses_since.reset();
    }
  }

  // Whether the next attempt at `server` is to be a question. T: the session timeout.
  bool Asks(const std::string& server, base::BootTime now, absl::Duration t) const {
    const auto of = of_.find(server);
    return of != of_.end() && of->second.hung_up && now - *unserved_since_ >= t;
  }

  // Since it was asked it has done nothing else.
  bool Refuses(const std::string& server) const {
    const auto of = of_.find(server);
    return of != of_.end() && of->second.refuses_since.has_value();
  }

  bool MostRefuse(const Resolution& servers, base::BootTime now, absl::Duration t) const {
    const ServerCount count = CountServers(servers, [&](const std::string& server) {
      return Refuses(server) && now - *of_.at(server).refuses_since >= t;
    });
    return 2 * count.counted > count.all;
  }

 private:
  struct Of {
    bool hung_up = false;
    std::optional<base::BootTime> refuses_since;
  };
  std::optional<base::BootTime> unserved_since_;
  std::map<std::string, Of> of_;
};

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_REFUSALS_H_
