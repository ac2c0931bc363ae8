; SPDX-License-Identifier: Apache-2.0
; Lock-delay mode: no timeout, no ping gap. The clocks of the holder and of the contender that waits
; are measured by one that both are off by rho at most. README.md says how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((true Real) (own Real)) Bool
  (and (<= true (stretched own)) (<= own (stretched true))))
(define-fun rates ((a Real) (ca Real) (b Real) (cb Real)) Bool
  (and (=> (<= a b) (within (- b a) (- cb ca))) (=> (<= b a) (within (- a b) (- ca cb)))))

(declare-const D Real)           ; is: the lock delay D
(declare-const recorded Real)    ; at: the leader takes up the holder's record
(declare-const S Real)           ; at: the holder sends its last write
(declare-const U Real)           ; at: the leader takes up that write
(declare-const ended Real)       ; at: the leader ends the holder's session
(declare-const first Real)       ; at: the contender is first in the queue and reads the record
(declare-const waited Real)      ; at: the contender has waited for D
(declare-const granted Real)     ; at: the lock is granted to the contender
(declare-const believes Real)    ; at: the holder still believes
(declare-const cS Real)
(declare-const cbelieves Real)
(declare-const cfirst Real)
(declare-const cwaited Real)
(declare-const lifetime Real)
; story: (= D 6000)
; story: (= S cS 0)
; story: (= first cfirst)
; story: (>= (- believes granted) 100)
(assert (and (> D 0) (<= ended first granted) (<= first waited) (<= S believes)))

; > A **write** is ordered by the leader and answered once a quorum has agreed
(assert (! (<= S U) :named a_committed_write))
; > The leader refuses it for a session that it has ended
(assert (! (< U ended) :named the_dead_are_refused))
; > A holder writes its name into a record, a persistent node, before its lease is returned
(assert (! (<= recorded U) :named recorded_before_the_grant))
; > finds another holder's name there waits D from that moment on, by its own clock
(assert (! (=> (<= recorded first) (<= waited granted)) :named waits_behind_a_record))
(assert (! (>= (- cwaited cfirst) D) :named waits_for_the_delay))
; > both clocks may be wrong by rho, in opposite directions
(assert (! (rates S cS believes cbelieves) :named holders_clock))
(assert (! (rates first cfirst waited cwaited) :named contenders_clock))

; What the holder does.
(assert (<= (stretched lifetime) D))
; > A holder is believed at most until its last committed write + D / (1+rho)^2 - slack.
; = lib/session/machine/expiry_bound.cc: return lock_delay / (rates * rates) - slack;
(assert (! (<= (stretched (stretched lifetime)) D) :named margin_for_both_clocks))
(assert (! (< cbelieves (+ cS lifetime)) :named deadline))

(assert (<= granted believes))
(check-sat)
