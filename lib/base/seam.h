// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_SEAM_H_
#define ZKRECIPES_LIB_BASE_SEAM_H_

// What the shared library exports besides the public API, for zkrecipes::testing of the same
// release, whose model of an ensemble makes clients of its own. scripts/check_symbols.sh lists
// these functions.
#define ZKRECIPES_SEAM [[gnu::visibility("default")]]

#endif  // ZKRECIPES_LIB_BASE_SEAM_H_
