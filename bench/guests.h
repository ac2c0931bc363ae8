// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_GUESTS_H_
#define ZKRECIPES_BENCH_GUESTS_H_

#include <string>

#include "bench/runs.h"

// Processes of this program that serve it as peers do. Each returns the program's exit status.
namespace bench {

// Answers tasks on standard input until it ends. Knows "hold" only: what it takes to be killed.
int Serve(const Entrant& entrant);

// Has no tasks: writes twenty times a second until standard input ends. A member of an ensemble of
// 3.8.0 may keep an answer back until anything else is committed (ZOOKEEPER-4537), and the session
// of a single client may end before that.
int KeepCommitting(const std::string& servers);

}  // namespace bench

#endif  // ZKRECIPES_BENCH_GUESTS_H_
