; SPDX-License-Identifier: Apache-2.0
; The default of g is enough. README.md says how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: static constexpr absl::Duration kLeadersDelay = absl::Milliseconds(100);
(define-fun leaders_delay () Real 100.0)

(declare-const T Real)    ; is: the session timeout T
(declare-const tick Real) ; is: the servers' tick
(declare-const late Real) ; is: by the leader's clock, the most that a busy leader's ping is late,
(declare-const gap Real)  ; is: by the leader's clock, the time between two pings
(declare-const g Real)    ; is: the ping gap g
; story: (= T 4000)
; story: (= tick 2000)
(assert (and (> T 0) (> tick 0) (>= late 0)))

; > and sends the list when the leader **pings** it, every half tick
(assert (! (<= gap (+ (/ tick 2.0) late)) :named pings_every_half_tick))
(assert (! (<= late leaders_delay) :named not_late_by_more))
; > enough if T is two ticks or more
(assert (! (>= T (* 2.0 tick)) :named timeout_of_two_ticks))
; > T/4 + 100 ms
; = lib/session/machine/expiry_bound.cc: return session_timeout / 4 + kLeadersDelay;
(assert (! (>= g (+ (/ T 4.0) leaders_delay)) :named default))

(assert (> gap g))
(check-sat)
