# SPDX-License-Identifier: Apache-2.0
# Headers that nearly every source of ours includes, compiled once for each kind of target: most of
# a build's time was spent reading them. A source still includes what it uses: the analyses of
# `./dev verify` read it without these.
option(ZKRECIPES_PRECOMPILE "Compile common headers once" ${PROJECT_IS_TOP_LEVEL})

set(common <algorithm> <atomic> <cerrno> <chrono> <cstdint> <deque> <filesystem> <fstream>
  <functional> <map> <memory> <mutex> <optional> <set> <stop_token> <string> <thread> <tuple>
  <utility> <variant> <vector> <absl/functional/any_invocable.h> <absl/hash/hash.h>
  <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>
  <absl/strings/str_join.h> <absl/strings/str_split.h> <absl/time/clock.h> <absl/time/time.h>)

# zkrecipes_precompiled(kind [IN_LIBRARY] [LIBS ...] [HEADERS ...]): a target that the others of its
#   kind take them from.
function(zkrecipes_precompiled kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "IN_LIBRARY" "" "LIBS;HEADERS")
  set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Only its headers are used.\n")
  add_library(zkrecipes_precompiled_${kind} OBJECT ${source})
  set_target_properties(zkrecipes_precompiled_${kind} PROPERTIES ${ZKRECIPES_IN_PROGRAM})
  if(arg_IN_LIBRARY)
    set_target_properties(zkrecipes_precompiled_${kind} PROPERTIES ${ZKRECIPES_IN_LIBRARY})
  endif()
  target_link_libraries(zkrecipes_precompiled_${kind} PRIVATE zkrecipes_options
    zkrecipes_dependencies ${arg_LIBS})
  target_precompile_headers(zkrecipes_precompiled_${kind} PRIVATE ${common} ${arg_HEADERS})
endfunction()

if(ZKRECIPES_PRECOMPILE)
  zkrecipes_precompiled(layer IN_LIBRARY)
  zkrecipes_precompiled(program)
  if(ZKRECIPES_BUILD_TESTS)
    find_package(GTest REQUIRED)
    zkrecipes_precompiled(test LIBS zkrecipes_test_options GTest::gmock
      HEADERS <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  if(ZKRECIPES_BUILD_TOOLS)
    find_package(CLI11 REQUIRED)
    find_package(nlohmann_json REQUIRED)
    zkrecipes_precompiled(tool LIBS CLI11::CLI11 nlohmann_json::nlohmann_json
      HEADERS <CLI/CLI.hpp> <nlohmann/json.hpp>)
  endif()
endif()

# zkrecipes_precompile(target kind): `target`'s sources begin with the common headers of `kind`, if
#   those are wanted.
function(zkrecipes_precompile target kind)
  if(TARGET zkrecipes_precompiled_${kind})
    target_precompile_headers(${target} REUSE_FROM zkrecipes_precompiled_${kind})
  endif()
endfunction()
