// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TEST_SCRIPT_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TEST_SCRIPT_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "lib/queue/machine/contender.h"

namespace zkrecipes::queue::machine {

// Guids of one letter, of which kOthersGuid is somebody else's.
inline constexpr char kOthersGuid = '0';
inline std::string GuidOf(char letter) { return std::string(32, letter); }

// What a contender does, in the words of a Script: "create a, list, granted a3 token 1003 in 7".
std::string TextOf(const Actions& actions);

Candidacy Lock();           // an exclusive contender for /q
Candidacy Try();            // one that does not wait
Candidacy ProvenLock();     // one that waits for a proof
Candidacy LockWithDelay();  // one that keeps the record of the last holder
Candidacy Of(Mode mode);
Candidacy At(const std::string& parent);
Candidacy Permit(uint16_t permits);  // of a semaphore for /q
// From the reader, or the writer, 2 of guid "f", of session 7 and with token 900.
Candidacy Upgrade();
Candidacy Downgrade();
std::string FollowedNode(Mode mode);

std::string Mine(int32_t n, char guid = 'a');
std::string MineOf(Mode mode, int32_t n, char guid = 'a');
std::string Other(int32_t n);
std::string OtherOf(Mode mode, int32_t n);

// The caller's line. (clang 14 has no std::source_location.)
struct Where {
  static Where Caller(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file;
  int line;
};

// For tests: a story about one contender. Feed it events, and say after them everything it must do,
// in order; what it does and nobody expects fails the test.
//
//   Script().Connected().Expect("create a, list")
//       .Created(3).Listed({Other(1), Mine(3)}).Expect("own timer, watch other1");
//
// The guid offered at the first Connected is all "a", at the second all "b", and so on; node 3 with
// the first guid is Mine(3), or "a3" in texts, with czxid 1003. Node 1 of somebody else is
// Other(1), or "other1". The texts are in contender_test_text.cc.
class Script {
 public:
  explicit Script(const Candidacy& candidacy = Lock())
      : machine_(candidacy), parent_(candidacy.parent) {}
  Script(Script&&) = default;  // leaves nothing to expect behind
  ~Script();

  Script& Connected(zk::SessionId session = 7);
  Script& Disconnected() { return LosesReplies(event::Disconnected{}); }
  Script& Expired() { return LosesReplies(event::Expired{}); }
  Script& Reconnects() { return Disconnected().Connected(session_); }
  // Connects; create and listing are answered: node `n`, among `children`.
  Script& Joins(int32_t n, const zk::Names& children) {
    return Connected().Created(n).Listed(children);
  }
  // Connects again, to find its lost node: the barrier is answered, and the listing behind it.
  Script& LooksForItsNode(const zk::Names& children) {
    return Connected().Fails(zk::Code::kNoNode).Listed(children);
  }
  Script& Leave() { return On(event::Leave{}); }
  Script& FollowedEnds() { return On(event::Leave{Outcome::kFollowedLost}); }
  Script& Lapsed() { return On(event::Lapsed{}); }
  Script& Proven() { return On(event::Proven{}); }
  // Whether the session is proven to be alive at what follows. At first it is not.
  Script& IsProven(bool proven = true) {
    proven_ = proven;
    return *this;
  }
  Script& RetryDue() { return On(event::RetryDue{}); }
  Script& OwnWatchDue() { return On(event::OwnWatchDue{}); }
  Script& CheckDue() { return On(event::CheckDue{look_}); }     // the latest
  Script& DelayOver() { return On(event::DelayOver{delay_}); }  // the latest
  Script& Deleted(const std::string& node);                     // its watch fires
  Script& Changed(const std::string& node);  // its watch is used up by something else

  // Answers to the oldest request that is outstanding. (A node that is not sequential has its
  // number.)
  Script& Created(int32_t n);
  Script& CreatedFor(zk::SessionId owner, int32_t n);
  Script& Listed(const zk::Names& children);
  Script& Got(zk::SessionId owner, int32_t n);
  Script& Record(const std::string& data, int32_t version);
  Script& Recorded(int32_t version) { return Record("", version); }
  Script& Ok() { return Fails(zk::Code::kOk); }
  Script& Fails(zk::Code code);
  Script& Number(const std::string& data) { return Record(data, 0); }  // of a semaphore's path
  Script& Armed(int32_t version) { return Record("", version); }       // of a watch on data
  Script& Set(const std::string& node);                                // its data: its watch fires
  // To the youngest: as no server does it.
  Script& ListedTooEarly(const zk::Names& children);

  Script& Expect(const std::string& actions, Where where = Where::Caller());
  // Watches its own node, 3, and is answered.
  Script& WatchesItself(Where where = Where::Caller()) {
    return OwnWatchDue().Expect("watch a3", where).Ok();
  }
  Script& ExpectNothing(Where where = Where::Caller());
  // Answers every request that is not outstanding any more, once more: nothing may come of it.
  Script& ExpectDeafToStaleReplies(Where where = Where::Caller());
  Script& ExpectState(Contender::State state, Where where = Where::Caller());

  const Contender& machine() const { return machine_; }
  int requests() const { return requests_; }  // sent so far, a removed watch counted
  const zk::Request& last_request() const { return last_request_; }

 private:
  Script& On(Event event);
  Script& LosesReplies(const Event& event);  // what is outstanding will not be answered
  Script& Reply(zk::Reply reply);

  Contender machine_;
  std::string parent_;
  char next_guid_ = 'a';
  zk::SessionId session_ = 0;
  bool proven_ = false;
  OpId delay_ = 0;
  OpId look_ = 0;
  std::deque<action::Send> outstanding_;
  std::vector<OpId> stale_;
  Actions unexpected_;  // not yet expected
  int requests_ = 0;
  zk::Request last_request_;
};

// How many stories begin, with node 3 and the first guid: each expects what is done up to there.
Script Joining(Where where = Where::Caller());     // create and list are in flight
Script Joined(Where where = Where::Caller());      // ... and the create is answered
Script LostCreate(Where where = Where::Caller());  // the connection broke before that
Script Resolving(Where where = Where::Caller());  // ... and is back: barrier and list are in flight
Script Found(Where where = Where::Caller());      // ... and the node: get and list are in flight
// Behind Other(1), whose watch is in flight, or set.
Script Watching(const Candidacy& candidacy = Lock(), Where where = Where::Caller());
Script Waiting(const Candidacy& candidacy = Lock(), Where where = Where::Caller());
Script Holding(Where where = Where::Caller());

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TEST_SCRIPT_H_
