// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERSION_H_
#define ZKRECIPES_VERSION_H_

#if __cplusplus < 202002L
#error "zkrecipes needs C++20: compile with -std=c++20 or a later standard"
#endif

// The release these headers belong to. Before 1.0 a minor release may break the API and the ABI.
#define ZKRECIPES_VERSION "0.2.0"

#endif  // ZKRECIPES_VERSION_H_
