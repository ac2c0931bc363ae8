// SPDX-License-Identifier: Apache-2.0
//
// Converts between the C client's types and the seam's. Pure.

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_C_CODEC_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_C_CODEC_H_

#include <deque>
#include <string>
#include <vector>

#include "lib/zk/c_client/c_api.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::zk::c_client {

// A server in the form that zookeeper_init takes. It splits it at its last colon and does not know
// brackets: "[::1]:2181" becomes "::1:2181".
std::string ToHost(const std::string& server);

Stat FromC(const ::Stat& stat);

std::vector<AclEntry> FromC(const ACL_vector& acl);

// An ACL in the C client's form. Empty means all permissions for every client.
class CAcl {
 public:
  explicit CAcl(std::vector<AclEntry> entries);
  CAcl(const CAcl&) = delete;
  CAcl& operator=(const CAcl&) = delete;
  const ACL_vector* get() const { return &vector_; }

 private:
  std::vector<AclEntry> entries_;  // own the strings that acls_ points to
  std::vector<ACL> acls_;
  ACL_vector vector_;
};

// A multi in the C client's form. It has to live until zoo_amulti returns, and no longer: the
// request is encoded by then. (The results have to live until the completion.)
//
// zoo_amulti is only for operations that it cannot refuse. It goes on after one that it does, and
// frees a path that it never set; and it knows neither create2 nor what a server says of a
// container. So what it would refuse is refused here. A handle that is over refuses as well: see
// CHandle::Send.
class CMulti {
 public:
  // `acl`: of nodes that say nothing of it. Both outlive it.
  CMulti(const Multi& multi, const CAcl& acl);
  CMulti(const CMulti&) = delete;
  CMulti& operator=(const CMulti&) = delete;

  bool valid() const { return valid_; }
  int size() const { return static_cast<int>(ops_.size()); }
  const zoo_op_t* ops() const { return ops_.data(); }

 private:
  struct Add;

  bool valid_ = true;
  std::vector<zoo_op_t> ops_;
  std::deque<CAcl> acls_;
};

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_C_CODEC_H_
