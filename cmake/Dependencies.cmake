# SPDX-License-Identifier: Apache-2.0
# What the library links. Public: what include/zkrecipes includes. zkrecipes.pc and the package config repeat this.
find_package(Threads REQUIRED)
find_package(absl 20220623 REQUIRED)

set(ZKRECIPES_PUBLIC_DEPENDENCIES absl::any_invocable absl::status absl::statusor absl::strings absl::time)
set(ZKRECIPES_PRIVATE_DEPENDENCIES absl::flat_hash_map absl::flat_hash_set absl::hash absl::random_random
  absl::str_format Threads::Threads)

add_library(zkrecipes_dependencies INTERFACE)
target_link_libraries(zkrecipes_dependencies INTERFACE
  ${ZKRECIPES_PUBLIC_DEPENDENCIES} ${ZKRECIPES_PRIVATE_DEPENDENCIES})
