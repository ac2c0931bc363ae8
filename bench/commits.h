// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_COMMITS_H_
#define ZKRECIPES_BENCH_COMMITS_H_

#include <string>

namespace bench {

// A peer without tasks: writes twenty times a second until standard input ends. A member of an
// ensemble of 3.8.0 may keep an answer back until anything else is committed (ZOOKEEPER-4537), and
// the session of a single client may end before that. Returns the program's exit status.
int KeepCommitting(const std::string& servers);

}  // namespace bench

#endif  // ZKRECIPES_BENCH_COMMITS_H_
