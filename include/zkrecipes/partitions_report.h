// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_PARTITIONS_REPORT_H_
#define ZKRECIPES_PARTITIONS_REPORT_H_

namespace [[gnu::visibility("default")]] zkrecipes {

// What a member of Partitions (partitions.h) knows of all, for logs and metrics.
struct PartitionsReport {
  int members = 0;      // of the same list of names, with this one
  int other_lists = 0;  // members that have another list of names: see Partitions
  int owned = 0;
  int assigned = 0;    // to this member, by what it sees
  int waited_for = 0;  // assigned, and not yet owned
  int lost = 0;        // whose lease has ended, and whose work has not
  bool connected = true;
  friend bool operator==(const PartitionsReport&, const PartitionsReport&) = default;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_PARTITIONS_REPORT_H_
