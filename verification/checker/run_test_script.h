// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_RUN_TEST_SCRIPT_H_
#define ZKRECIPES_VERIFICATION_CHECKER_RUN_TEST_SCRIPT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "verification/checker/checker.h"

namespace zkrecipes::history {

// A run that never was, for tests of those who judge runs. Times are seconds; the servers' wall clock
// is a thousand seconds ahead. All is about /lock, in the mode of the last Writes or Reads.
//
//   RunScript().At(1).Writer("w1", 1).Asks().At(2).Granted(11, 5)...
class RunScript {
 public:
  static constexpr int kWallLead = 1000;

  // What comes next happens then.
  RunScript& At(double seconds);
  // Whom it happens to: the attempt, its mode, and what it goes on from.
  RunScript& Writer(const std::string& who, int64_t attempt, int64_t from = 0);
  RunScript& Reader(const std::string& who, int64_t attempt, int64_t from = 0);

  // With a lock delay of so many seconds.
  RunScript& Strictly(double seconds);
  RunScript& Asks();
  // By the node with this number. `until`: of its promise, 0 for none.
  RunScript& Granted(int64_t token, double until, int number = 0);
  RunScript& Failed(const std::string& status);
  RunScript& Sees(const std::string& state, double until = 0);
  RunScript& Lost();
  RunScript& Releases();
  RunScript& Released(const std::string& status = "OK");
  RunScript& Wrote(int64_t order, int64_t token, bool accepted = true);

  RunScript& Process(const std::string& who, Event::What what);
  RunScript& Fault(const std::string& name);
  RunScript& Mended(const std::string& name, const std::string& target = "");
  RunScript& Quiet();

  // Transactions: a node of the current attempt's mode, or its end.
  RunScript& Creates(int64_t zxid, int number, int64_t session = 7);
  RunScript& Deletes(int64_t zxid, int number);
  RunScript& MakesParent(int64_t zxid);

  Limits& limits() { return limits_; }
  const std::vector<Event>& events() const { return events_; }
  Verdict Judge() const { return Check(events_, transactions_, limits_); }
  // The names of the rules that it breaks, one for each violation.
  std::vector<std::string> Broken() const;

 private:
  Event& Add(Event::What what);
  std::string Node(int number) const;
  Transaction& AddTransaction(int64_t zxid);

  Event next_;
  double at_ = 0;
  Limits limits_{.wall_less_boot = absl::Seconds(kWallLead)};
  std::map<std::string, Event> grants_;  // by who and attempt
  std::vector<Event> events_;
  std::vector<Transaction> transactions_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_RUN_TEST_SCRIPT_H_
