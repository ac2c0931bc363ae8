// SPDX-License-Identifier: Apache-2.0
//
// What the kinds of fault are made with: for catalogue_*.cc.

#ifndef ZKRECIPES_VERIFICATION_FAULTS_KINDS_H_
#define ZKRECIPES_VERIFICATION_FAULTS_KINDS_H_

#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "verification/faults/catalogue.h"

namespace zkrecipes::faults {

std::vector<Fault> ServerFaults();
std::vector<Fault> MemberNetworkFaults();
std::vector<Fault> ClientNetworkFaults();
std::vector<Fault> DiskFaults();
std::vector<Fault> ClientFaults();

// A fault that was `begun`; one that could not be, or not wholly, is ended at once.
absl::StatusOr<Ongoing> Begun(std::string target, const absl::Status& begun,
                              absl::AnyInvocable<absl::Status() &&> end);

// The members by their parts: the leader first, the others in a random order. Waits for a leader.
//   DeadlineExceeded  nobody leads for a long time
absl::StatusOr<std::vector<int>> LeaderAndFollowers(Scene& scene);
int AnyMember(Scene& scene);
int AnyClient(Scene& scene);
std::vector<Host> MemberHosts(const Scene& scene);
absl::Duration UntilExpired(const Scene& scene);  // of a client that nobody hears any more

std::string MemberName(int i);                 // "server 2": as ZooKeeper counts
std::string LeaderName(int i);                 // "server 2, the leader"
std::string ClientName(int i);                 // "client 1"
std::string Names(const std::vector<int>& i);  // "servers 2 and 3"

// Does one thing after the other to each; all are tried, and the first error is returned.
template <typename List, typename Act>
absl::Status ForEach(const List& list, Act act) {
  absl::Status status;
  for (const auto& one : list) status.Update(act(one));
  return status;
}

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_VERIFICATION_FAULTS_KINDS_H_
