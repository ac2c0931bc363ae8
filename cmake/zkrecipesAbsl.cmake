# SPDX-License-Identifier: Apache-2.0
# Which absl a project has. For the build, and installed beside the package config.

# zkrecipes_find_absl(problem target...): the project's own absl if it has one, else one that is
# installed, of any release: absl's own version file takes only the very release that is asked for.
# `problem` is empty if it will do.
macro(zkrecipes_find_absl problem)
  zkrecipes_missing_targets(_zkrecipes_missing ${ARGN})
  if("${_zkrecipes_missing}" STREQUAL "${ARGN}")  # some but not all: absl's package would refuse
    find_package(absl QUIET)
  endif()
  zkrecipes_judge_absl(${problem} ${ARGN})
endmacro()

function(zkrecipes_missing_targets out)
  set(missing "")
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      list(APPEND missing ${target})
    endif()
  endforeach()
  set(${out} "${missing}" PARENT_SCOPE)
endfunction()

function(zkrecipes_judge_absl problem)
  zkrecipes_missing_targets(missing ${ARGN})
  zkrecipes_absl_identity(identity)
  set(found "")
  if(missing STREQUAL "${ARGN}")
    string(CONCAT found "zkrecipes needs absl, 20220623 or later: "
      "set absl_DIR to an installed one, or add one's source before")
  elseif(missing)
    list(JOIN missing ", " missing)
    set(found
      "zkrecipes needs all of absl, but of this project's these targets are missing: ${missing}")
  elseif(identity MATCHES "^([0-9]+) " AND CMAKE_MATCH_1 LESS 20220623)
    set(found "zkrecipes needs absl 20220623 or later, and this project's is ${identity}")
  endif()
  set(${problem} "${found}" PARENT_SCOPE)
endfunction()

# zkrecipes_absl_identity(out): "20220623 (absl::debian3)": the release, and the inline namespace,
# which is in the name of every function that mentions absl. Empty if it cannot be told.
function(zkrecipes_absl_identity out)
  set(${out} "" PARENT_SCOPE)
  if(NOT TARGET absl::config)
    return()
  endif()
  get_target_property(directories absl::config INTERFACE_INCLUDE_DIRECTORIES)
  foreach(directory IN LISTS directories)
    # As a build has it, or Conan's package.
    string(REGEX REPLACE "^[$]<(BUILD_INTERFACE|[$]<CONFIG:[A-Za-z]+>):(.*)>$" "\\2" directory
      "${directory}")
    if(NOT EXISTS ${directory}/absl/base/options.h)
      continue()
    endif()
    file(STRINGS ${directory}/absl/base/config.h release REGEX "^#define ABSL_LTS_RELEASE_VERSION ")
    file(STRINGS ${directory}/absl/base/options.h namespace
      REGEX "^#define ABSL_OPTION_INLINE_NAMESPACE_NAME ")
    string(REGEX REPLACE "^.* " "" release "${release}")
    string(REGEX REPLACE "^.* " "" namespace "${namespace}")
    if(release STREQUAL "")
      set(release unreleased)
    endif()
    set(${out} "${release} (absl::${namespace})" PARENT_SCOPE)
    return()
  endforeach()
endfunction()
