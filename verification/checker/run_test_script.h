// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_RUN_TEST_SCRIPT_H_
#define ZKRECIPES_VERIFICATION_CHECKER_RUN_TEST_SCRIPT_H_

#include <map>
#include <string>
#include <vector>

#include "verification/checker/checker.h"

namespace zkrecipes::history {

// A run that never was, for tests of its judges. All of it is about /lock. Events stand between
// semicolons, each as `[seconds] [who] what [words]`; the time and the process stay until others
// are named. `what` is a name of Event::What, or one of the transactions and settings below:
//
//   1 w1 invoke; 3 grant token=11 until=10; 4 belief held until=12; 5 write order=1
//   1 ~w1.2<1 invoke       "~": shared, else exclusive; w1's attempt 2, which follows attempt 1
//   4 write order=3 token=11 refused; 5 failed CANCELLED: acquire /lock; 6 kill fault; 7 quiet
//   1 parent zxid=5; creates zxid=11 node=1 session=8; deletes zxid=12 node=1
//   limits progress=5 recovery=2 left=1
//
// Times, lock_delay too, are seconds; a `node` is the number in the name of the attempt's node.
// All later events of an attempt repeat the words of its invoke and its grant. The servers' wall
// clock is a thousand seconds ahead.
class RunScript {
 public:
  explicit RunScript(const std::string& events = "") { Add(events); }
  RunScript& Add(const std::string& events);

  const std::vector<Event>& events() const { return events_; }
  Verdict Judge() const { return Check(events_, transactions_, limits_); }
  // The names of the rules that it breaks, one for each violation, with a space between.
  std::string Broken() const;

 private:
  using Words = std::vector<std::string>;

  void Choose(const std::string& actor);
  void Happen(const std::string& what, const Words& words);
  void AddEvent(Event::What what, const Words& words);
  void AddTransaction(const std::string& what, const Words& words);
  void SetLimits(const Words& words);
  void Set(const std::string& word, Event& event) const;
  std::string Node(int64_t number) const;

  double at_ = 0;
  Event* attempt_ = nullptr;               // the current one: what all its events have
  std::map<std::string, Event> attempts_;  // by who and number
  Limits limits_{.wall_less_boot = absl::Seconds(1000)};
  std::vector<Event> events_;
  std::vector<Transaction> transactions_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_RUN_TEST_SCRIPT_H_
