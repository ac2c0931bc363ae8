// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EVERYDAY_FAULTS_H_
#define ZKRECIPES_VERIFICATION_EVERYDAY_FAULTS_H_

#include <string>
#include <vector>

#include "verification/everyday/names.h"
#include "verification/faults/catalogue.h"

namespace zkrecipes::everyday {

// What befalls a well-run ensemble sooner or later, and lasts as long as it may there. `Names` has
// to be covered.
std::vector<faults::Fault> EverydayFaults(Names& names);

}  // namespace zkrecipes::everyday

#endif  // ZKRECIPES_VERIFICATION_EVERYDAY_FAULTS_H_
