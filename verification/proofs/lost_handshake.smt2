; SPDX-License-Identifier: Apache-2.0
; A handshake grants some timeout, and its answer is lost. README.md says how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((leaders Real) (own Real)) Bool
  (and (<= leaders (stretched own)) (<= own (stretched leaders))))
(define-fun rates ((a Real) (ca Real) (b Real) (cb Real)) Bool
  (and (=> (<= a b) (within (- b a) (- cb ca))) (=> (<= b a) (within (- a b) (- ca cb)))))

(declare-const T Real)           ; is: the session timeout T
(declare-const less Real)        ; is: the timeout that the lost answer granted
(declare-const Sj Real)          ; at: the client sends request j
(declare-const heard_j Real)     ; at: the leader hears of touch j
(declare-const U Real)           ; at: the leader takes the session up again; the answer is lost
(declare-const over Real)        ; at: the leader finds the session's time over
(declare-const granted Real)     ; at: the lock is granted to another client
(declare-const believes Real)    ; at: the client still believes
(declare-const cSj Real)
(declare-const cbelieves Real)
(declare-const lifetime Real)
; story: (= T 10000)
; story: (= less 4000)
; story: (= Sj cSj 0)
; story: (>= (- believes granted) 100)
(assert (and (> T 0) (<= heard_j granted) (<= over granted)))

; > So when the leader took up *n*, it had heard from the session at S_j or later
(assert (! (<= Sj heard_j) :named heard_of_j_after_its_sending))
; > It ends a session no earlier than T after it last heard from it
; The last it heard counts, with the timeout that came with it, even if that is the shorter one.
(assert (! (ite (and (<= heard_j U) (< U over)) (>= over (+ U less)) (>= over (+ heard_j T)))
           :named timer))
; > no server grants a session less than another did
(assert (! (>= less T) :named no_server_grants_less))
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
