// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_HEARTBEAT_H_
#define ZKRECIPES_LIB_SESSION_HEARTBEAT_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lib/session/machine/beat_pace.h"
#include "lib/session/machine/expiry_bound.h"
#include "lib/session/session_validity.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::session {

// Keeps a session proven alive: listens to every answer, and sees to it that there are some. It
// sends beats, which are CommittedBarriers, and reads, at the times that BeatPace says; at most one
// of them is on its way. It announces the end of a period of the SessionValidity, once, and begins
// the next one. On the reactor.
class Heartbeat {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void SendBeat(const zk::Request& request, zk::Handle::Done done) = 0;
    // Any read will do, if there is one that somebody wants an answer to; otherwise this one.
    virtual void SendIdleRead(const zk::Request& read, zk::Handle::Done done) {
      SendBeat(read, std::move(done));
    }
    // A request has been answered: told of some, for SessionReport.
    virtual void OnAnswered(absl::Duration /*round_trip*/,
                            std::optional<absl::Duration> /*least_left*/) {}
    virtual void OnProven() = 0;  // the period was unproven until now
    virtual void OnLapsed() = 0;  // the period has ended: leases granted in it are lost
  };

  struct Options {
    machine::ExpiryMargins margins;
    machine::BeatPace::Kind pace = machine::BeatPace::Kind::kSteady;
    std::string namespace_root;  // "" or "/a/b": where the beats' missing node would be
  };

  // `owner` and `reactor` outlive it.
  Heartbeat(zk::Reactor* reactor, Owner* owner, const Options& options);
  ~Heartbeat();

  // `began`: before the client began to connect.
  void OnConnected(base::BootTime began, absl::Duration timeout, bool new_session);
  void OnDisconnected();
  void OnExpired();
  void SetNeed(const machine::Need& need);  // of all listeners together
  void Stop();                              // no more beats: the session is being closed

  // A write that the quorum commits although it fails, with kNoNode: the delete of a node below one
  // that does not exist. It needs no permission, wakes no watcher and leaves nothing behind. The
  // missing node has a random name, and another one in each session and after any other answer: a
  // stranger who created it, or denied access to it, would end every lease of the session.
  zk::Request CommittedBarrier() const;

  // A request on its way, and what its answer can prove.
  struct Ticket {
    machine::ExpiryBound::Request request;
    bool write = false;
    bool del = false;
    bool of_beat = false;
    // Whether this answer to it was committed by the quorum. (A server may give others on its own.)
    bool Committed(zk::Code code) const {
      return code == zk::Code::kOk ? write : del && code == zk::Code::kNoNode;
    }
  };
  Ticket Sent(const zk::Request& request);
  // REQUIRES: in the order of sending.
  void Answered(const Ticket& ticket, zk::Code code);

  // Null without a session; another one for each session.
  const std::shared_ptr<SessionValidity>& validity() const { return validity_; }

 private:
  void NameBeat();
  void BeginPeriod();
  void CheckValidity(base::BootTime now);
  void SetValidityTimer(base::BootTime end);
  void Report(base::BootTime now, absl::Duration round_trip);
  void Prove(base::BootTime now, base::BootTime confirmed = {});
  bool ProvesEnough(base::BootTime now);
  void Confirm(base::BootTime now, base::BootTime sent);
  void SendRequest(bool beat);
  machine::BeatPace::Planned Plan(base::BootTime now) const {
    return pace_.Next(bound_.deadline(), bound_.ProvableFrom(), now);
  }
  void SendWhatIsDue();
  void UrgentBeat(base::BootTime now);
  void ScheduleBeat();
  bool wanted() const { return pace_.need().proof; }
  absl::Duration timeout() const { return bound_.timeout(); }

  zk::Reactor* const reactor_;
  Owner* const owner_;
  const Options options_;
  machine::ExpiryBound bound_;
  machine::BeatPace pace_;
  std::shared_ptr<SessionValidity> validity_;
  std::string beat_path_;  // of a child of the missing node
  const std::shared_ptr<char> alive_ = std::make_shared<char>();

  // Of the session timeout, and asked for at every answer.
  bool can_prove_ = true;
  absl::Duration least_left_;  // by the first proof of a period

  bool connected_ = false;
  bool stopped_ = false;
  bool on_its_way_ = false;                   // a beat or a read
  std::optional<absl::Duration> least_seen_;  // left, since the last report
  base::BootTime next_report_;
  zk::Reactor::TimerId beat_timer_ = 0;
  base::BootTime beat_timer_at_;
  zk::Reactor::TimerId validity_timer_ = 0;
  base::BootTime validity_timer_at_;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_HEARTBEAT_H_
