// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_SEQUENCER_CACHE_H_
#define ZKRECIPES_SEQUENCER_CACHE_H_

#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/sequencer.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class SequencerKeeper;
}  // namespace internal

// How old answers may be, and how many are remembered.
struct SequencerCacheOptions {
  // How old the answer "it holds" may be. More than zero, finite, and well above a round trip with a
  // write: an answer that is older when it comes is asked for again.
  Duration max_age = absl::Seconds(1);
  // Of how many sequencers answers are remembered: those that were asked about last. At least one.
  // Each that holds takes a watch of the client's session.
  size_t max_entries = 1000;
};

// CheckSequencer for a resource that asks often: it remembers the answers, and watches the nodes
// behind them.
//
//   SequencerCache holders(client, {.max_age = absl::Milliseconds(500)});
//   const absl::StatusOr<bool> holds = holders.Check(*Sequencer::Parse(request.sequencer()));
//   if (!holds.ok() || !*holds) return Refuse(request);
//
// How old an answer may be:
// - "It holds" was true at some moment in the max_age before Check returned, as the ensemble's quorum
//   knew it: also under a partition, without a connection, after a reconnection or a pause of this
//   process, and when the session has expired. The age is counted from the sending of the request
//   that confirmed it, on a clock that also counts suspended time. So once another holds the lock for
//   max_age, no Check says that the former one still does.
// - Mostly it is younger: an event ends it as soon as this client's server has heard of the end.
// - "It does not hold" is true for good, and remembered as long as there is room; or, of a sequencer
//   whose node still has others in front (that of an upgrade, for a moment), was true during the call.
//
// By the time the caller acts, an answer is older. What must never be done for a holder that has lost its
// lock is only stopped by comparing tokens: FencingFloor.
//
// A first question about a sequencer costs four requests in one flight. From then on one request, a
// write, confirms all that are watched; it is sent when a question comes and half of max_age has
// passed, and the answer comes from memory meanwhile. So a resource that asks at least that often
// never waits, and pays two writes per max_age, however many holders it has. One that asks less often
// waits for a round trip when the answer is too old; without questions nothing is sent.
// Sequencers beyond the session's budget of watches (512 KiB of paths) are asked about as at first.
//
// Thread-safe. The client stays open until its caches are destroyed or it is closed. The destructor
// blocks only as the client's does, if nothing else holds the client; calls that are under way end with
// Cancelled. In a forked child every call fails with FailedPrecondition.
class SequencerCache {
 public:
  explicit SequencerCache(std::shared_ptr<Client> client, SequencerCacheOptions options = {});
  ~SequencerCache();
  SequencerCache(const SequencerCache&) = delete;
  SequencerCache& operator=(const SequencerCache&) = delete;

  // Blocks only if nothing young enough is remembered; then it asks, again and again while the
  // connection is lost. Questions about one sequencer share their requests.
  //   InvalidArgument    the options; the sequencer is empty, or breaks a rule of Sequencer::Parse
  //   DeadlineExceeded   no answer, or none that was young enough when it came
  //   Cancelled          by wait.cancel; or the cache is destroyed
  // Errors: as CheckSequencer, too.
  absl::StatusOr<bool> Check(const Sequencer& sequencer, const WaitOptions& wait = {}) const;
  // `done` runs once, on the client's executor. Does not block.
  void CheckAsync(const Sequencer& sequencer, WaitOptions wait,
                  absl::AnyInvocable<void(absl::StatusOr<bool>) &&> done) const;

  // Of how many sequencers it remembers something.
  size_t size() const;

 private:
  const std::shared_ptr<Client> client_;
  const absl::Status options_ok_;
  const std::shared_ptr<internal::SequencerKeeper> keeper_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_SEQUENCER_CACHE_H_
