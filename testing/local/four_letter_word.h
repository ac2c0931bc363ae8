// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_FOUR_LETTER_WORD_H_
#define ZKRECIPES_TESTING_LOCAL_FOUR_LETTER_WORD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace zkrecipes::testing {

// Sends one of ZooKeeper's four letter words to "host:port" and returns the answer. Resolving a
// name may block longer than `timeout`. Errors: see LocalEnsemble::FourLetterWord.
absl::StatusOr<std::string> FourLetterWord(const std::string& address, const std::string& word,
                                           absl::Duration timeout);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_FOUR_LETTER_WORD_H_
