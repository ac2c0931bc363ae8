; SPDX-License-Identifier: Apache-2.0
; Another server leads after write n was committed. README.md says how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((leaders Real) (own Real)) Bool
  (and (<= leaders (stretched own)) (<= own (stretched leaders))))
(define-fun rates ((a Real) (ca Real) (b Real) (cb Real)) Bool
  (and (=> (<= a b) (within (- b a) (- cb ca))) (=> (<= b a) (within (- a b) (- ca cb)))))

(declare-const T Real)           ; is: the smallest timeout that was negotiated in the session
(declare-const first Real)       ; is: the timeout that the session was opened with
(declare-const Sj Real)          ; at: the client sends request j
(declare-const Sn Real)          ; at: the client sends write n, which confirms touch j
(declare-const Un Real)          ; at: the leader takes up n
(declare-const begin Real)       ; at: a new leader begins
(declare-const over Real)        ; at: the new leader finds the session's time over
(declare-const granted Real)     ; at: the lock is granted to another client
(declare-const believes Real)    ; at: the client still believes
(declare-const cSj Real)
(declare-const cbelieves Real)
(declare-const lifetime Real)
; story: (= T 6000)
; story: (>= first T)
; story: (= Sj cSj 0)
; story: (>= (- believes granted) 100)
(assert (and (> T 0) (<= Sj Sn) (<= begin over) (<= Un granted) (<= over granted)))

; > A **write** is ordered by the leader and answered once a quorum has agreed
(assert (! (<= Sn Un) :named n_is_a_write))
; > **A new leader** gives every session a whole T from its own beginning
; It knows of no timeout but the one that the session was opened with.
(assert (! (>= over (+ begin first)) :named a_new_leader_gives_a_whole_timeout))
; > which is later than every write that was committed before
(assert (! (>= begin Un) :named begins_after_what_was_committed))
; > If several values of T were negotiated in a session, **the smallest** counts.
; = lib/session/machine/expiry_bound.cc: SetTimeout(new_session ? timeout : std::min(timeout_, timeout));
(assert (! (<= T first) :named the_smallest_counts))
; > The clocks of client and leader may run at rates that differ by a share of rho
(assert (! (rates Sj cSj believes cbelieves) :named clock_rates))

; What the client does.
(assert (<= lifetime T))
; > T of the leader's seconds are at least T / (1 + rho) of the client's
; = lib/session/machine/expiry_bound.cc: return session_timeout / (1 + clock_rate_bound) - slack;
(assert (! (<= (stretched lifetime) T) :named clock_rate_margin))
; > deadline = max(old deadline, S_j' + T / (1 + rho) - slack)
(assert (! (< cbelieves (+ cSj lifetime)) :named deadline))

(assert (<= granted believes))
(check-sat)
