; SPDX-License-Identifier: Apache-2.0
; A session that has just been opened. README.md says how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((leaders Real) (own Real)) Bool
  (and (<= leaders (stretched own)) (<= own (stretched leaders))))

(declare-const T Real)           ; is: the session timeout T
(declare-const B Real)           ; at: the client begins to connect
(declare-const opened Real)      ; at: the leader orders that the session be opened
(declare-const elsewhere Bool)   ; if: another server leads since
(declare-const begin Real)       ; at [elsewhere]: the new leader begins
(declare-const over Real)        ; at: the leader finds the session's time over
(declare-const granted Real)     ; at: the lock is granted to another client
(declare-const believes Real)    ; at: the client still believes
(declare-const cB Real)
(declare-const cbelieves Real)
(declare-const lifetime Real)
; story: (= T 6000)
; story: (= B cB 0)
; story: (>= (- believes granted) 100)
(assert (and (> T 0) (>= granted over) (>= granted opened)))

; > It ends a session no earlier than T after it last heard from it
(assert (! (=> (not elsewhere) (>= over (+ opened T))) :named timer))
; > **A session that has just been opened** was known to the leader no earlier than the moment *B*
;   before the client began to connect.
(assert (! (>= opened B) :named counted_from_before_the_connection))
; > **A new leader** gives every session a whole T from its own beginning
(assert (! (=> elsewhere (>= over (+ begin T))) :named a_new_leader_gives_a_whole_timeout))
; > which is later than every write that was committed before
(assert (! (=> elsewhere (>= begin opened)) :named opening_is_a_write))
; > The clocks of client and leader may run at rates that differ by a share of rho
(assert (! (=> (<= B believes) (within (- believes B) (- cbelieves cB))) :named clock_rates))

; What the client does.
(assert (<= lifetime T))
; > T of the leader's seconds are at least T / (1 + rho) of the client's
; = lib/session/machine/expiry_bound.cc: return session_timeout / (1 + clock_rate_bound) - slack;
(assert (! (<= (stretched lifetime) T) :named clock_rate_margin))
; > It lives until B + T
; = lib/session/machine/expiry_bound.cc: deadline_ = began_ + lifetime_;
(assert (! (< cbelieves (+ cB lifetime)) :named deadline))

(assert (<= granted believes))
(check-sat)
