; SPDX-License-Identifier: Apache-2.0
; A handshake grants a shorter timeout, and is answered. README.md says how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((leaders Real) (own Real)) Bool
  (and (<= leaders (stretched own)) (<= own (stretched leaders))))
(define-fun rates ((a Real) (ca Real) (b Real) (cb Real)) Bool
  (and (=> (<= a b) (within (- b a) (- cb ca))) (=> (<= b a) (within (- a b) (- ca cb)))))

(declare-const T Real)           ; is: the shorter timeout that is granted
(declare-const B Real)           ; at: the client begins to connect again
(declare-const U Real)           ; at: the leader takes the session up again, with the shorter timeout
(declare-const R Real)           ; at: the client reads that it was granted less
(declare-const over Real)        ; at: the leader finds the session's time over
(declare-const granted Real)     ; at: the lock is granted to another client
(declare-const believes Real)    ; at: the client still believes
(declare-const proven Real)      ; at: the deadline that was proven before runs out
(declare-const cB Real)
(declare-const cR Real)
(declare-const cproven Real)
(declare-const cbelieves Real)
(declare-const lifetime Real)
; story: (= T 2000)
; story: (= B cB 0)
; story: (= proven 5000)
; story: (>= (- believes granted) 100)
(assert (and (> T 0) (<= U R) (<= B believes) (<= over granted)))

; > **Resuming a session** is a touch of the leader itself (2), at B or later
(assert (! (<= B U) :named counted_from_before_the_connection))
; > It ends a session no earlier than T after it last heard from it
(assert (! (=> (< U over) (>= over (+ U T))) :named timer))
; What had been proven before holds of a leader that hears nothing.
(assert (! (=> (<= over U) (>= over proven)) :named what_was_proven_before))
; > its answer is read before B + T' / (1 + rho)
(assert (! (< cR (+ cB lifetime)) :named answered_in_time))
(define-fun clock ((x Real) (cx Real)) Bool  ; as against every other event
  (and (rates x cx B cB) (rates x cx R cR) (rates x cx proven cproven)
       (rates x cx believes cbelieves)))
; > The clocks of client and leader may run at rates that differ by a share of rho
(assert (! (and (clock B cB) (clock R cR) (clock proven cproven) (clock believes cbelieves))
           :named clock_rates))

; What the client does.
(assert (<= lifetime T))
; > T of the leader's seconds are at least T / (1 + rho) of the client's
; = lib/session/machine/expiry_bound.cc: return session_timeout / (1 + clock_rate_bound) - slack;
(assert (! (<= (stretched lifetime) T) :named clock_rate_margin))
; > deadline = min(old deadline, B + T' / (1 + rho) - slack)
; = lib/session/machine/expiry_bound.cc: deadline_ = std::min(*deadline_, began_ + lifetime_);
(assert (! (< cbelieves cproven) :named the_old_deadline))
(assert (! (=> (>= believes R) (< cbelieves (+ cB lifetime))) :named no_later_than_the_handshakes))

(assert (<= granted believes))
(check-sat)
