// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_SAMPLES_H_
#define ZKRECIPES_BENCH_SAMPLES_H_

#include <string>

#include "bench/runs.h"

namespace bench {

// One client, which waits for nobody: the median of a cycle in microseconds.
Sample Cycle(const Entrant& entrant, const Track& track, int cycles);
// From the call that releases to the waiter's return: the median in microseconds.
Sample HandOver(const Entrant& entrant, const Track& track, int turns);
// Cycles a second of so many clients in all, spread over the locks. With `readers`, nine of ten
// acquires are shared.
Sample Cycles(const Entrant& entrant, const Track& track, int clients, int locks, bool readers);
// Bytes that a turn of `sample` sends and receives, and how many requests that is.
Sample Wire(Sample (*sample)(const Entrant&, const Track&, int turns), const Entrant& entrant,
            const Track& track);
// From the SIGKILL of a holder's process to the next grant, in milliseconds.
Sample Failover(const Entrant& entrant, const Track& track);
constexpr int kFailoverSessionMs = 4000;
// Requests a second, but pings, of a client that holds a lock and does nothing.
Sample Holding(const Entrant& entrant, const Track& track, bool beats);
// Hand-offs a second while so many wait, in 100 sessions.
Sample Crowded(const Entrant& entrant, const Track& track, int waiters);

}  // namespace bench

#endif  // ZKRECIPES_BENCH_SAMPLES_H_
