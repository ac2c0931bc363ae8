// SPDX-License-Identifier: Apache-2.0
#pragma once

// The release these headers belong to. Before 1.0 a minor release may break the API and the ABI.
#define ZKRECIPES_VERSION "0.1.0"
#define ZKRECIPES_VERSION_MAJOR 0
#define ZKRECIPES_VERSION_MINOR 1
#define ZKRECIPES_VERSION_PATCH 0
