; SPDX-License-Identifier: Apache-2.0
; A session is taken up again on another connection. README.md says how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((leaders Real) (own Real)) Bool
  (and (<= leaders (stretched own)) (<= own (stretched leaders))))
(define-fun rates ((a Real) (ca Real) (b Real) (cb Real)) Bool
  (and (=> (<= a b) (within (- b a) (- cb ca))) (=> (<= b a) (within (- a b) (- ca cb)))))

(declare-const T Real)           ; is: the session timeout T
(declare-const B Real)           ; at: the client begins to connect again
(declare-const U Real)           ; at: the leader takes the session up again
(declare-const Sw Real)          ; at: the client sends a write on the new connection
(declare-const Uw Real)          ; at: the leader takes up the write
(declare-const Rw Real)          ; at: the client reads the answer to the write
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
(assert (and (> T 0) (<= U Sw Uw Rw believes) (<= over granted)))

; > **Resuming a session** is a touch of the leader itself (2), at B or later
(assert (! (<= B U) :named counted_from_before_the_connection))
; > It ends a session no earlier than T after it last heard from it
(assert (! (=> (and (not elsewhere) (< U over)) (>= over (+ U T))) :named timer))
; > But this holds only if the session was proven up to that answer
(assert (! (< Rw over) :named proven_until_the_answer))
; > **A new leader** gives every session a whole T from its own beginning
(assert (! (=> elsewhere (>= over (+ begin T))) :named a_new_leader_gives_a_whole_timeout))
; > Any write answered on that connection confirms it
; > which is later than every write that was committed before
(assert (! (=> elsewhere (>= begin Uw)) :named a_write_confirms))
; > The clocks of client and leader may run at rates that differ by a share of rho
(assert (! (rates B cB believes cbelieves) :named clock_rates))

; What the client does.
(assert (<= lifetime T))
; > T of the leader's seconds are at least T / (1 + rho) of the client's
; = lib/session/machine/expiry_bound.cc: return session_timeout / (1 + clock_rate_bound) - slack;
(assert (! (<= (stretched lifetime) T) :named clock_rate_margin))
; > deadline = max(old deadline, B + T / (1 + rho) - slack)
; = lib/session/machine/expiry_bound.cc: proven = std::max(*deadline_, began_ + lifetime_);
(assert (! (< cbelieves (+ cB lifetime)) :named deadline))

(assert (<= granted believes))
(check-sat)
