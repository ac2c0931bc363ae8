// SPDX-License-Identifier: Apache-2.0
// A service's own test that links zkrecipes::testing.
#include "zkrecipes/version.h"

int main() { return 0; }
