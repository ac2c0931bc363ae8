; SPDX-License-Identifier: Apache-2.0
; A touch is shipped, and a write confirms it; one touch may be dropped. The session was proven
; until then, and one server leads all the time. The client's server is a follower, or an observer
; of the leader itself. README.md says how to read this.
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
(declare-const Si Real)        ; at: the client sends the touch before j
(declare-const noted_i Real)   ; at: its server notes the touch before j
(declare-const dropped_i Bool) ; if: the server drops the touch before j
(declare-const Sj Real)        ; at: the client sends request j
(declare-const noted_j Real)   ; at: its server notes touch j
(declare-const dropped_j Bool) ; if: the server drops touch j
(declare-const Rj Real)        ; at: the client reads the answer to j
(declare-const Sm Real)        ; at: the client sends write m
(declare-const Um Real)        ; at: the leader takes up m
(declare-const Rm Real)        ; at: the client reads the answer to m
(declare-const Sn Real)        ; at: the client sends write n
(declare-const Un Real)        ; at: the leader takes up n
(declare-const Rn Real)        ; at: the client reads the answer to n
(declare-const ping Real)      ; at: the leader sends its last ping before it takes up m
(declare-const list Real)      ; at: the server answers that ping with the list of its touches
(declare-const heard Real)     ; at: the list reaches the leader
(declare-const heard_i Real)   ; at [not dropped_i]: the leader hears of the touch before j
(declare-const heard_j Real)   ; at [not dropped_j]: the leader hears of touch j
(declare-const over Real)      ; at: the leader finds the session's time over
(declare-const granted Real)   ; at: the lock is granted to another client
(declare-const believes Real)  ; at: the client still believes
(declare-const cSi Real)
(declare-const cSj Real)
(declare-const cRj Real)
(declare-const cSm Real)
(declare-const cUm Real)
(declare-const cRm Real)
(declare-const cSn Real)
(declare-const cRn Real)
(declare-const cping Real)
(declare-const cbelieves Real)
(declare-const touch Real)
(declare-const lifetime Real)
; story: (= T 6000)
; story: (= g 1600)
; story: (= Si cSi 0)
; story: (>= (- believes granted) 100)
; Causes come before effects, and the client does one thing after the other.
(assert (and (> T 0) (> g 0) (<= Si noted_i) (<= Sj noted_j Rj) (<= Si Sj) (<= noted_i noted_j)
             (<= cSi cSj) (<= noted_i heard_i) (<= noted_j heard_j) (<= ping list heard)
             (<= ping Um) (<= Rj Sm) (<= Sm Rm) (<= Sm Sn) (<= Sn Rn believes) (<= over granted)))

; > It ends a session no earlier than T after it last heard from it
(assert (! (and (=> (and (not dropped_i) (< heard_i over)) (>= over (+ heard_i T)))
                (=> (and (not dropped_j) (< heard_j over)) (>= over (+ heard_j T)))) :named timer))
; > A **write** is ordered by the leader and answered once a quorum has agreed
(assert (! (<= Sm Um Rm) :named m_is_a_write))
(assert (! (<= Sn Un Rn) :named n_is_a_write))
; > Let the leader never take longer than *g*, the **ping gap**, from one ping to the next.
(assert (! (<= (- Um ping) g) :named pings))
; > That ping reached the server ahead of *m*'s commit (5)
(assert (! (<= list Rm) :named ping_ahead_of_the_commit))
; > and after the server had noted touch *j* (3). So the list with *j* was sent before *m* was
;   answered
(assert (! (and (=> (<= noted_i list) (<= heard_i heard)) (=> (<= noted_j list) (<= heard_j heard)))
           :named the_list_has_all_touches))
; > Then the list reached the leader before *n* did (5).
(assert (! (=> (<= list Sn) (<= heard Un)) :named list_ahead_of_the_write))
; > of two in a row it drops one at most
(assert (! (not (and dropped_i dropped_j)) :named one_touch_dropped_at_most))
; > if the session was proven up to that answer
(assert (! (< Rn over) :named proven_until_the_answer))
(define-fun clock ((x Real) (cx Real)) Bool  ; as against every other event
  (and (rates x cx Si cSi) (rates x cx Sj cSj) (rates x cx Rj cRj) (rates x cx Sm cSm)
       (rates x cx Um cUm) (rates x cx Rm cRm) (rates x cx Sn cSn) (rates x cx Rn cRn)
       (rates x cx ping cping) (rates x cx believes cbelieves)))
; > The clocks of client and leader may run at rates that differ by a share of rho
(assert (! (and (clock Si cSi) (clock Sj cSj) (clock Rj cRj) (clock Sm cSm) (clock Um cUm)
                (clock Rm cRm) (clock Sn cSn) (clock Rn cRn) (clock ping cping)
                (clock believes cbelieves)) :named clock_rates))

; What the client does.
; > If R_j + (1 + rho) g <= S_m, the leader sent a ping after R_j and before it took up *m*.
; = lib/session/machine/expiry_bound.cc: return PingGap(session_timeout) * (1 + clock_rate_bound);
(assert (! (<= (+ cRj (stretched g)) cSm) :named ping_gap))
; > Let write *n* be sent after R_m, and be answered.
; = lib/session/machine/expiry_bound.cc: shipped_.front().known_after < request.number
(assert (! (<= Rm Sn) :named second_write))
(assert (<= touch cSj))
; > So the touch before *j* is taken instead of *j*.
; = lib/session/machine/expiry_bound.cc: shipped_.push_back({sent_, touches_[0].sent});
(assert (! (<= touch cSi) :named the_touch_before))
(assert (<= lifetime T))
; > T of the leader's seconds are at least T / (1 + rho) of the client's
; = lib/session/machine/expiry_bound.cc: return session_timeout / (1 + clock_rate_bound) - slack;
(assert (! (<= (stretched lifetime) T) :named clock_rate_margin))
; > deadline = max(old deadline, S_j' + T / (1 + rho) - slack)
(assert (! (< cbelieves (+ touch lifetime)) :named deadline))

(assert (<= granted believes))
(check-sat)
