// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_EPOCH_OPTIONS_H_
#define ZKRECIPES_EPOCH_OPTIONS_H_

#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] zkrecipes {

// Where passes have their epoch from. Operators count in the node /zkrecipes/epoch how often the
// ensemble was set back to an older state (docs/fencing.md, "After a restore"); docs/security.md,
// "The epoch", says who can do what with that node.
//
// `use_record` must be the same in all clients whose passes one resource compares. A pass of epoch
// 0, of a client that does not read the record, is refused by a resource that has seen a later
// epoch, and does not shut out the former holder, whose pass has that epoch.
struct EpochOptions {
  // The users who may write the record, each as an ACL shows it: "x509:CN=operator",
  // "digest:operator:3rJv...=". If there are any, the record is believed only if nobody else can
  // have written it: it and its parent exist, their ACLs were never changed since they were made,
  // and let everyone else read at most. Otherwise acquires return FailedPrecondition, which names
  // the user or the node. A digest's hash is shown to no client but one that may administer both
  // nodes: this client needs the credentials of one of the users.
  //
  // If empty, the record is believed whoever has written it, and there may be none. The record
  // then is as safe as the nodes of locks with an open ACL. A stranger may raise it, by 1000 a
  // write; close it, so that no lock is granted; or lower it, or delete it, so that the pass of a
  // former holder is admitted beside the present one's, or instead of it.
  std::vector<std::string> writers = {};

  // False: the record is not read, the epoch is always 0, and no node outside the client's
  // namespace matters. Then nothing tells tokens of before a restore from those of after it: the
  // token of a former holder may be greater than, or equal to, that of the present one, and
  // resources admit it. Before locks are granted again after a restore, reset the floors of all
  // resources, once all former holders have ended.
  bool use_record = true;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_EPOCH_OPTIONS_H_
