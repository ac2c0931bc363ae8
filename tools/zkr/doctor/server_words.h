// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_SERVER_WORDS_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_SERVER_WORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// Reads the answers to four letter words, as servers from 3.4 on give them. Pure. What is not
// understood stays unknown.
void ReadSrvr(absl::string_view answer, ServerWords& words);
void ReadConf(absl::string_view answer, ServerWords& words);
void ReadMntr(absl::string_view answer, ServerWords& words);

// How long each session has been silent, by the server's own clock: `own_session` has just been
// answered. nullopt if it is not among them: the server is not open to cons.
std::optional<Connections> ReadCons(absl::string_view answer, std::int64_t own_session);
std::optional<std::map<std::int64_t, std::int64_t>> ReadDump(absl::string_view answer);

// "This ZooKeeper instance is not currently serving requests"
bool ServesNobody(absl::string_view answer);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_SERVER_WORDS_H_
