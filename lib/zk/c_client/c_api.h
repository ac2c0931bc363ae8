// SPDX-License-Identifier: Apache-2.0
//
// The only place that includes zookeeper.h, under the private names of our copy of the C client,
// and without THREADED, which would hide the calls that a loop needs. Only for lib/zk/c_*.cc.

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_C_API_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_C_API_H_

#include "zookeeper_renamed.h"

#include <zookeeper.h>

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_C_API_H_
