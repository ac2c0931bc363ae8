// SPDX-License-Identifier: Apache-2.0
//
// What `strings` finds in every binary of ours: its release, and the absl whose types its functions
// name.

#include "absl/base/config.h"
#include "absl/base/options.h"

#include "zkrecipes/version.h"

#define ZKRECIPES_TEXT_OF(macro) ZKRECIPES_TEXT(macro)
#define ZKRECIPES_TEXT(text) #text

#ifdef ABSL_LTS_RELEASE_VERSION
#define ZKRECIPES_ABSL_RELEASE ZKRECIPES_TEXT_OF(ABSL_LTS_RELEASE_VERSION)
#else
#define ZKRECIPES_ABSL_RELEASE "unreleased"
#endif

namespace zkrecipes::base {

[[gnu::used]] static const char kBuiltWith[] =
    "zkrecipes " ZKRECIPES_VERSION ", built with absl " ZKRECIPES_ABSL_RELEASE
    " (absl::" ZKRECIPES_TEXT_OF(ABSL_OPTION_INLINE_NAMESPACE_NAME) ")";

}  // namespace zkrecipes::base
