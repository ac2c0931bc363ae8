// SPDX-License-Identifier: Apache-2.0
// What a service that uses the installed library looks like. Needs no server: the address is refused before any use.
#include <cstdio>
#include <cstring>

#include "zkrecipes/version.h"

int main() { return std::strcmp(ZKRECIPES_VERSION, "0.1.0") == 0 ? 0 : 1; }
