// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_CHECK_SUM_H_
#define ZKRECIPES_LIB_FENCING_CHECK_SUM_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace zkrecipes::internal {

// CRC-32C, as iSCSI and ext4 use it; of all bytes, if `before` is that of those before them.
uint32_t CheckSum(absl::string_view bytes, uint32_t before = 0);

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_CHECK_SUM_H_
