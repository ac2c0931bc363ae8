// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TEST_TEXT_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TEST_TEXT_H_

#include <string>

#include "lib/queue/machine/contender.h"

namespace zkrecipes::queue {

// For tests: guids of one letter, of which kOthersGuid is somebody else's.
inline constexpr char kOthersGuid = '0';
inline std::string GuidOf(char letter) { return std::string(32, letter); }

// What a contender does, in the words of a Script: "create a, list, granted a3 token 1003 in 7".
std::string TextOf(const Actions& actions);

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TEST_TEXT_H_
