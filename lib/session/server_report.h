// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SERVER_REPORT_H_
#define ZKRECIPES_LIB_SESSION_SERVER_REPORT_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/zk/seam/code.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/servers.h"
#include "zkrecipes/session_report.h"

namespace zkrecipes::session {

// What each server did since there was a connection last: for the message that there is none.
//
//   "zk1:2181 (10.0.0.1:2181) refused the connection; zk2:2181 (10.0.0.2:2181) has not answered
//    yet; zk3:2181 could not be resolved (Name or service not known)"
//
// In the order of the list, and at most 8 of them. A pure value.
class ServerReport {
 public:
  void SetServers(const zk::Resolution& resolution) { listed_ = resolution.listed; }
  // Servers that are not listed are left out.
  void Note(const std::string& address, const zk::ServerFailure& did) {
    did_.insert_or_assign(address, did);
  }
  void Forget() { did_.clear(); }

  // A server refuses this client for good. That is remembered beyond Forget, one handle after
  // another, until one has served it: one of the servers may be asked several times in a row.
  void Refused(const std::string& address, zk::Code why);
  void ForgetRefusals() { refused_by_.clear(); }
  bool AllRefuse(const zk::Resolution& servers) const;

  // Whether most servers of the list have refused the session at their last attempt, and not the
  // client, as a keeper does: if they go on, it is given up (lib/zk/c_client/refusals.h), since
  // they have lost data.
  bool MostRefuseTheSession() const;

  std::string Text() const;
  // Each once, in the order of the enumeration. Empty: no server has done anything yet.
  std::vector<NoConnection> Causes() const;

 private:
  std::vector<zk::ListedServer> listed_;
  std::map<std::string, zk::ServerFailure> did_;  // by address
  std::set<std::string> refused_by_;              // addresses
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SERVER_REPORT_H_
