// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_OWNER_H_
#define ZKRECIPES_TOOLS_ZKR_OWNER_H_

#include <string>

#include "nlohmann/json.hpp"

#include "zkrecipes/contenders.h"

namespace zkr {

// Who stands in a queue, for people: "id@host:pid", as far as it is known, else "-".
std::string OwnerText(const zkrecipes::OwnerInfo& owner);

// {"id": ..., "host": ..., "pid": ...}, without what is not known.
nlohmann::ordered_json OwnerJson(const zkrecipes::OwnerInfo& owner);

// On one line; bytes that are not UTF-8 are replaced.
std::string ToLine(const nlohmann::ordered_json& object);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_OWNER_H_
