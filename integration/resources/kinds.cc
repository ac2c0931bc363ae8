// SPDX-License-Identifier: Apache-2.0

#include "integration/resources/kinds.h"

namespace resources {

const std::vector<Kind>& Kinds() {
  static const auto* const kKinds = new std::vector<Kind>{
      File(),
#ifdef ZKRECIPES_WITH_SQLITE
      Http(),
#endif
      Object(),
#ifdef ZKRECIPES_WITH_POSTGRES
      PostgresColumns(),
      PostgresTrigger(),
#endif
#ifdef ZKRECIPES_WITH_REDIS
      Redis(),
#endif
  };
  return *kKinds;
}

}  // namespace resources
