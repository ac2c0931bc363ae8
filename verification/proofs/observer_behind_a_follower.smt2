; SPDX-License-Identifier: Apache-2.0
; The client's server is an observer that follows a follower (observerMasterPort), whose touches go
; two ways: when the follower pings the observer, and when the leader pings the follower. What it
; takes is a ping gap and two writes for each. The library stops after n: without `second_ping_gap`
; and `fourth_write` this is its rule. That servers drop touches is left out here. README.md says
; how to read this.
(set-logic QF_LRA)
; = lib/session/machine/expiry_bound.h: double clock_rate_bound = 0.1;
(define-fun rho () Real 0.1)
(define-fun stretched ((time Real)) Real (+ time (* rho time)))  ; 1 + rho times as much
(define-fun within ((leaders Real) (own Real)) Bool
  (and (<= leaders (stretched own)) (<= own (stretched leaders))))
(define-fun rates ((a Real) (ca Real) (b Real) (cb Real)) Bool
  (and (=> (<= a b) (within (- b a) (- cb ca))) (=> (<= b a) (within (- a b) (- ca cb)))))

(declare-const T Real)         ; is: the session timeout T
(declare-const g Real)         ; is: the ping gap g
(declare-const Sj Real)        ; at: the client sends request j
(declare-const noted Real)     ; at: the observer notes touch j
(declare-const Rj Real)        ; at: the client reads the answer to j
(declare-const Sm Real)        ; at: the client sends write m
(declare-const Fm Real)        ; at: the follower passes on that m is committed
(declare-const Rm Real)        ; at: the client reads the answer to m
(declare-const Sn Real)        ; at: the client sends write n
(declare-const Fn Real)        ; at: the follower passes n to the leader
(declare-const Rn Real)        ; at: the client reads the answer to n
(declare-const ping Real)      ; at: the follower pings the observer, for the last time before m's commit
(declare-const list Real)      ; at: the observer answers with its touches
(declare-const heard Real)     ; at: the follower notes touch j
(declare-const Sp Real)        ; at: the client sends write p
(declare-const Up Real)        ; at: the leader takes up p
(declare-const Rp Real)        ; at: the client reads the answer to p
(declare-const Sq Real)        ; at: the client sends write q
(declare-const Uq Real)        ; at: the leader takes up q
(declare-const Rq Real)        ; at: the client reads the answer to q
(declare-const ping2 Real)     ; at: the leader pings the follower, for the last time before it takes up p
(declare-const list2 Real)     ; at: the follower answers with its touches
(declare-const heard2 Real)    ; at: the leader hears of touch j
(declare-const over Real)      ; at: the leader finds the session's time over
(declare-const granted Real)   ; at: the lock is granted to another client
(declare-const believes Real)  ; at: the client still believes
(declare-const cSj Real)
(declare-const cRj Real)
(declare-const cSm Real)
(declare-const cFm Real)
(declare-const cping Real)
(declare-const cRn Real)
(declare-const cSp Real)
(declare-const cUp Real)
(declare-const cping2 Real)
(declare-const cRm Real)
(declare-const cSn Real)
(declare-const cRp Real)
(declare-const cSq Real)
(declare-const cRq Real)
(declare-const cbelieves Real)
(declare-const lifetime Real)
; story: (= T 6000)
; story: (= g 1600)
; story: (= Sj cSj 0)
; story: (>= (- believes granted) 100)
(assert (and (> T 0) (> g 0) (<= Sj noted Rj Sm) (<= Sm Rm) (<= Sm Sn Rn) (<= Rn Sp) (<= Sp Rp)
             (<= Sp Sq Rq believes) (<= ping list heard) (<= ping Fm) (<= ping2 list2 heard2)
             (<= ping2 Up) (<= over granted)))

; > It ends a session no earlier than T after it last heard from it
(assert (! (=> (< heard2 over) (>= over (+ heard2 T))) :named timer))
(assert (! (< Rq over) :named proven_until_the_answer))
; > A **write** is ordered by the leader and answered once a quorum has agreed
(assert (! (<= Sm Fm Rm) :named m_is_a_write))
(assert (! (<= Sn Fn Rn) :named n_is_a_write))
(assert (! (<= Sp Up Rp) :named p_is_a_write))
(assert (! (<= Sq Uq Rq) :named q_is_a_write))
; > Let the leader never take longer than *g*, the **ping gap**, from one ping to the next.
(assert (! (<= (- Fm ping) g) :named the_follower_pings))
(assert (! (<= (- Up ping2) g) :named the_leader_pings))
; > Between a server and its leader there is one connection each way, in order.
(assert (! (<= list Rm) :named ping_ahead_of_the_commit))
(assert (! (=> (and (<= noted list) (<= list Sn)) (<= heard Fn)) :named list_ahead_of_the_write))
(assert (! (<= list2 Rp) :named second_ping_ahead_of_the_commit))
(assert (! (=> (and (<= heard list2) (<= list2 Sq)) (<= heard2 Uq))
           :named second_list_ahead_of_the_write))
(assert (<= heard heard2))
(define-fun clock ((x Real) (cx Real)) Bool  ; as against every other event
  (and (rates x cx Sj cSj) (rates x cx Rj cRj) (rates x cx Sm cSm) (rates x cx Fm cFm)
       (rates x cx Rm cRm) (rates x cx Sn cSn) (rates x cx Rn cRn) (rates x cx ping cping)
       (rates x cx Sp cSp) (rates x cx Up cUp) (rates x cx Rp cRp) (rates x cx Sq cSq)
       (rates x cx Rq cRq) (rates x cx ping2 cping2) (rates x cx believes cbelieves)))
; > The clocks of client and leader may run at rates that differ by a share of rho
(assert (! (and (clock Sj cSj) (clock Rj cRj) (clock Sm cSm) (clock Fm cFm) (clock Rm cRm)
                (clock Sn cSn) (clock Rn cRn) (clock ping cping) (clock Sp cSp) (clock Up cUp)
                (clock Rp cRp) (clock Sq cSq) (clock Rq cRq) (clock ping2 cping2)
                (clock believes cbelieves)) :named clock_rates))

; What a client would have to do.
(assert (! (<= (+ cRj (stretched g)) cSm) :named ping_gap))
(assert (! (<= Rm Sn) :named second_write))
(assert (! (<= (+ cRn (stretched g)) cSp) :named second_ping_gap))
(assert (! (<= Rp Sq) :named fourth_write))
(assert (<= lifetime T))
; > T of the leader's seconds are at least T / (1 + rho) of the client's
(assert (! (<= (stretched lifetime) T) :named clock_rate_margin))
(assert (! (< cbelieves (+ cSj lifetime)) :named deadline))

(assert (<= granted believes))
(check-sat)
