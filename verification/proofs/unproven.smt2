; SPDX-License-Identifier: Apache-2.0
; A session that was not proven. Touch j was heard of by the time the leader took up n: that is in
; touch_shipped.smt2, and holds of x and k as well; x is j or a later touch. README.md says how to
; read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((leaders Real) (own Real)) Bool
  (and (<= leaders (stretched own)) (<= own (stretched leaders))))
(define-fun rates ((a Real) (ca Real) (b Real) (cb Real)) Bool
  (and (=> (<= a b) (within (- b a) (- cb ca))) (=> (<= b a) (within (- a b) (- ca cb)))))

; = lib/session/machine/expiry_bound.h: absl::Duration moment = kLeadersDelay;
; = lib/session/machine/expiry_bound.h: static constexpr absl::Duration kLeadersDelay = absl::Milliseconds(100);
(define-fun leaders_delay () Real 100.0)

(declare-const T Real)           ; is: the session timeout T
(declare-const Sj Real)          ; at: the client sends request j
(declare-const heard_j Real)     ; at: the leader hears of touch j
(declare-const Un Real)          ; at: the leader takes up n
(declare-const Rn Real)          ; at: the client reads the answer to n
(declare-const Sx Real)          ; at: the client sends request x
(declare-const heard_x Real)     ; at: the leader hears of touch x
(declare-const Sk Real)          ; at: the client sends one more write, k
(declare-const Uk Real)          ; at: the leader takes up k
(declare-const Rk Real)          ; at: the client reads the answer to k
(declare-const over Real)        ; at: the leader finds the session's time over
(declare-const ended Real)       ; at: the leader ends the session
(declare-const granted Real)     ; at: the lock is granted to another client
(declare-const believes Real)    ; at: the client still believes
(declare-const cSj Real)
(declare-const cSx Real)
(declare-const cRn Real)
(declare-const cSk Real)
(declare-const cRk Real)
(declare-const cover Real)
(declare-const cended Real)
(declare-const cbelieves Real)
(declare-const lifetime Real)
; story: (= T 6000)
; story: (= Sj cSj 0)
; story: (>= (- believes granted) 100)
(assert (and (> T 0) (<= Sj heard_j) (<= Sj Sx heard_x) (<= cSj cSx) (<= Un Rn) (<= Rn Sk)
             (<= Sk Uk Rk) (<= over ended granted) (<= Rk believes)))

; > So when the leader took up *n*, it had heard from the session at S_j or later
(assert (! (<= heard_j Un) :named heard_of_j_by_n))
(assert (! (<= heard_x Uk) :named heard_of_x_by_k))
; > It ends a session no earlier than T after it last heard from it
; > accepts a touch in between, which does not help
(assert (! (and (=> (< heard_j over) (>= over (+ heard_j T)))
                (=> (< heard_x over) (>= over (+ heard_x T)))) :named timer))
; > a leader that has found a session's time to be over ends it within this time
(assert (! (<= (- cended cover) leaders_delay) :named leaders_delay_at_most))
; > The leader refuses it for a session that it has ended
(assert (! (< Uk ended) :named the_dead_are_refused))
(define-fun clock ((x Real) (cx Real)) Bool  ; as against every other event
  (and (rates x cx Sj cSj) (rates x cx Sx cSx) (rates x cx Rn cRn) (rates x cx Sk cSk)
       (rates x cx Rk cRk) (rates x cx over cover) (rates x cx ended cended)
       (rates x cx believes cbelieves)))
; > The clocks of client and leader may run at rates that differ by a share of rho
(assert (! (and (clock Sj cSj) (clock Sx cSx) (clock Rn cRn) (clock Sk cSk) (clock Rk cRk)
                (clock over cover) (clock ended cended) (clock believes cbelieves))
           :named clock_rates))

; What the client does.
; > So one more write is needed, sent that moment (100 ms) after *n* was answered.
; = lib/session/machine/expiry_bound.cc: heard_->known_at + margins_.moment <= request.sent
(assert (! (<= (+ cRn leaders_delay) cSk) :named a_moment_later))
(assert (<= lifetime T))
; > T of the leader's seconds are at least T / (1 + rho) of the client's
; = lib/session/machine/expiry_bound.cc: return session_timeout / (1 + clock_rate_bound) - slack;
(assert (! (<= (stretched lifetime) T) :named clock_rate_margin))
; > If it is answered before S_j + T, the leader had not been about to end the session
; = lib/session/machine/expiry_bound.cc: heard_->touch + lifetime_ > now
(assert (! (< cRk (+ cSj lifetime)) :named answered_in_time))
; > deadline = max(old deadline, S_j' + T / (1 + rho) - slack)
(assert (! (< cbelieves (+ cSx lifetime)) :named deadline))

(assert (<= granted believes))
(check-sat)
