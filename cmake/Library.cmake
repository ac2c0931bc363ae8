# SPDX-License-Identifier: Apache-2.0
# The installed libraries, made of the layers' objects: zkrecipes::zkrecipes, static and shared,
# which also has our private copy of ZooKeeper's; and zkrecipes::fencing, static, the part of it
# that guards a resource, which knows no ensemble (ADR 57). A program may link both: the linker
# takes each object once.

# zkrecipes_library(target type output [LIBS ...] OBJECTS ...)
function(zkrecipes_library target type output)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "LIBS;OBJECTS")
  zkrecipes_as_installed(public ${ZKRECIPES_PUBLIC_DEPENDENCIES})
  zkrecipes_as_installed(private ${arg_LIBS})
  add_library(${target} ${type} ${arg_OBJECTS})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} LINKER_LANGUAGE CXX)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${public} PRIVATE ${private}
    $<BUILD_INTERFACE:zkrecipes_options>)
endfunction()

set(fencing_objects $<TARGET_OBJECTS:zkrecipes_base> $<TARGET_OBJECTS:zkrecipes_fencing_layer>)
zkrecipes_library(zkrecipes_fencing STATIC zkrecipes_fencing LIBS ${ZKRECIPES_FENCING_DEPENDENCIES}
  OBJECTS ${fencing_objects})
set_target_properties(zkrecipes_fencing PROPERTIES EXPORT_NAME fencing)
add_library(zkrecipes::fencing ALIAS zkrecipes_fencing)

function(zkrecipes_whole_library target type)
  zkrecipes_library(${target} ${type} zkrecipes LIBS ${ZKRECIPES_PRIVATE_DEPENDENCIES}
    OBJECTS ${fencing_objects} $<TARGET_OBJECTS:zkrecipes_zk> $<TARGET_OBJECTS:zkrecipes_session>
    $<TARGET_OBJECTS:zkrecipes_queue> $<TARGET_OBJECTS:zkrecipes_log>
    $<TARGET_OBJECTS:zkrecipes_recipes> ${ZKRECIPES_PRIVATE_ZOOKEEPER_OBJECT})
  add_dependencies(${target} zkrecipes_private_zookeeper)
endfunction()

zkrecipes_whole_library(zkrecipes_static STATIC)
set_target_properties(zkrecipes_static PROPERTIES EXPORT_NAME static)
if(NOT ZKRECIPES_BUILD_STATIC)
  set_target_properties(zkrecipes_static PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
if(ZKRECIPES_BUILD_SHARED)
  zkrecipes_whole_library(zkrecipes_shared SHARED)
  set(map ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(zkrecipes_shared PROPERTIES EXPORT_NAME shared LINK_DEPENDS ${map}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_link_options(zkrecipes_shared PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined)
elseif(NOT ZKRECIPES_BUILD_STATIC)
  message(FATAL_ERROR
    "ZKRECIPES_BUILD_STATIC and ZKRECIPES_BUILD_SHARED are both off: nothing to build")
endif()

# Our own programs and tests use what the shared library does not export, so where they are built
# they and all beside them take the static one. What is installed goes by its user's
# BUILD_SHARED_LIBS.
set(ZKRECIPES_LIBRARY zkrecipes_static)
if(ZKRECIPES_BUILD_SHARED AND (BUILD_SHARED_LIBS OR NOT ZKRECIPES_BUILD_STATIC)
    AND NOT (ZKRECIPES_BUILD_TESTS OR ZKRECIPES_BUILD_TOOLS OR ZKRECIPES_BUILD_DEMO))
  set(ZKRECIPES_LIBRARY zkrecipes_shared)
endif()
add_library(zkrecipes::zkrecipes ALIAS ${ZKRECIPES_LIBRARY})

if(ZKRECIPES_BUILD_TESTS AND ZKRECIPES_BUILD_STATIC AND ZKRECIPES_BUILD_SHARED)
  add_test(NAME symbols COMMAND ${PROJECT_SOURCE_DIR}/scripts/check_symbols.sh
    ${ZooKeeperST_ARCHIVE} $<TARGET_FILE:zkrecipes_static> $<TARGET_FILE:zkrecipes_shared>
    $<TARGET_FILE:zkrecipes_fencing>)
  set_tests_properties(symbols PROPERTIES LABELS unit TIMEOUT 60)
endif()

# For our own programs and tests: the library and rooted includes such as "lib/zk/seam/code.h".
add_library(zkrecipes_internal INTERFACE)
target_include_directories(zkrecipes_internal INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(zkrecipes_internal INTERFACE zkrecipes::zkrecipes zkrecipes_dependencies)
