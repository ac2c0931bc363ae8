# SPDX-License-Identifier: Apache-2.0
# What the library links. Public: what include/zkrecipes includes. zkrecipes.pc and the package
# config repeat this.
find_package(Threads REQUIRED)
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json REQUIRED)  # its headers, and only to build
endif()

set(ZKRECIPES_PUBLIC_DEPENDENCIES
  absl::any_invocable absl::status absl::statusor absl::strings absl::time)
set(ZKRECIPES_PRIVATE_DEPENDENCIES absl::flat_hash_map absl::flat_hash_set absl::hash
  absl::random_random absl::str_format Threads::Threads)
set(ZKRECIPES_FENCING_DEPENDENCIES ${ZKRECIPES_PRIVATE_DEPENDENCIES})

# Only lib/zk's sources include its headers.
set(ZKRECIPES_TLS_LIBRARY "")
if(ZKRECIPES_WITH_TLS)
  find_package(OpenSSL 3.0 REQUIRED GLOBAL)
  set(ZKRECIPES_TLS_LIBRARY OpenSSL::SSL OpenSSL::Crypto)
  list(APPEND ZKRECIPES_PRIVATE_DEPENDENCIES ${ZKRECIPES_TLS_LIBRARY})
endif()

include(cmake/zkrecipesAbsl.cmake)
set(ZKRECIPES_ABSL_TARGETS ${ZKRECIPES_PUBLIC_DEPENDENCIES} ${ZKRECIPES_PRIVATE_DEPENDENCIES})
list(FILTER ZKRECIPES_ABSL_TARGETS INCLUDE REGEX "^absl::")
zkrecipes_find_absl(problem ${ZKRECIPES_ABSL_TARGETS})
if(problem)
  message(FATAL_ERROR "${problem}")
endif()
zkrecipes_absl_identity(ZKRECIPES_ABSL)

add_library(zkrecipes_dependencies INTERFACE)
target_link_libraries(zkrecipes_dependencies INTERFACE
  ${ZKRECIPES_PUBLIC_DEPENDENCIES} ${ZKRECIPES_PRIVATE_DEPENDENCIES})

# A project's own absl is not judged by our warnings.
if(TARGET absl::config)
  target_include_directories(zkrecipes_options SYSTEM INTERFACE
    $<TARGET_PROPERTY:absl::config,INTERFACE_INCLUDE_DIRECTORIES>)
endif()

# zkrecipes_as_installed(out dependency...): what a target links that is installed. $<1:...> hides
# the name from the export, which would write an alias's target, and demand that a project with an
# absl of its own exports that, too.
function(zkrecipes_as_installed out)
  list(TRANSFORM ARGN REPLACE "^(.+)$" "$<BUILD_INTERFACE:\\1>;$<INSTALL_INTERFACE:$<1:\\1>>")
  set(${out} ${ARGN} PARENT_SCOPE)
endfunction()
