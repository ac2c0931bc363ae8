// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_GUID_H_
#define ZKRECIPES_LIB_BASE_GUID_H_

#include <string>

namespace zkrecipes::base {

// A random version-4 UUID from the kernel, so that neither a fork nor a cloned virtual machine
// repeats one: "1b4e28ba-2fa1-41d2-883f-0016d3cca427". Thread-safe.
std::string NewGuid();

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_GUID_H_
