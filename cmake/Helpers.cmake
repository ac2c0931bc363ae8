# SPDX-License-Identifier: Apache-2.0
# How the folders declare what they build. Sources are listed one by one, never globbed.
include(GoogleTest)
include(cmake/zkrecipesNeeds.cmake)

# The properties of a test that has servers of its own. One such test runs at a time, beside one of
# those that mostly wait (for sessions that expire, servers that come back). They are longer in all
# than the others are on a second core: so they begin first.
set(ZKRECIPES_ON_SERVERS RESOURCE_LOCK ensemble COST 1000)
set(ZKRECIPES_ON_SERVERS_WAITING RESOURCE_LOCK waiting_ensemble COST 1000)

# Before the command of a test that starts processes: none outlives it, however it ends.
set(ZKRECIPES_LEAVING_NOTHING ${PROJECT_SOURCE_DIR}/cmake/leave_nothing.sh)

# The properties of what goes into an installed library, and of our own programs, which include the
# same headers. Hidden is all that a public header does not show.
set(ZKRECIPES_IN_PROGRAM CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON)
set(ZKRECIPES_IN_LIBRARY POSITION_INDEPENDENT_CODE ON ${ZKRECIPES_IN_PROGRAM})

# What `./dev test` builds: all that its tests run. Those labelled `nightly` are run by
# `./dev nightly`, which builds all.
add_custom_target(zkrecipes_tests COMMENT "The programs of the tests")

# zkrecipes_compile_alone(a.cc ...): their names stand in other sources of the folder, too, so a
#   unity build (`./dev` makes one: CMAKE_UNITY_BUILD) does not join them.
function(zkrecipes_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# zkrecipes_layer(base SOURCES a.cc b.cc [LIBS absl::time ...])
#   An OBJECT library zkrecipes_<name>; its objects go into libzkrecipes.{a,so}
#   (cmake/Library.cmake).
function(zkrecipes_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_library(zkrecipes_${name} OBJECT ${arg_SOURCES})
  set_target_properties(zkrecipes_${name} PROPERTIES ${ZKRECIPES_IN_LIBRARY})
  target_include_directories(zkrecipes_${name} PRIVATE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(zkrecipes_${name} PRIVATE zkrecipes_options zkrecipes_dependencies
    ${arg_LIBS})
  zkrecipes_precompile(zkrecipes_${name} layer)
endfunction()

# zkrecipes_adapter(postgres OF fencing SOURCES a.cc ... NEEDS libpq): the installed
#   zkrecipes::postgres, beside zkrecipes::fencing (or, OF zkrecipes, the whole library), since it
#   links what most users do without. NEEDS: a module of pkg-config's, which zkrecipesConfig.cmake
#   finds likewise.
function(zkrecipes_adapter name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OF;NEEDS" "SOURCES")
  zkrecipes_find_need(${arg_NEEDS})
  if(NOT TARGET zkrecipes::need_${arg_NEEDS})
    message(FATAL_ERROR
      "zkrecipes::${name} needs ${arg_NEEDS}, which is not found "
      "(by pkg-config; in vcpkg by its CMake package)")
  endif()
  if(TARGET PkgConfig::zkrecipes_${arg_NEEDS})
    # hiredis' is -D_FILE_OFFSET_BITS=64, with which no precompiled header fits.
    set_property(TARGET PkgConfig::zkrecipes_${arg_NEEDS} PROPERTY INTERFACE_COMPILE_OPTIONS)
  endif()
  add_library(zkrecipes_${name} STATIC ${arg_SOURCES})
  add_library(zkrecipes::${name} ALIAS zkrecipes_${name})
  set_target_properties(zkrecipes_${name} PROPERTIES EXPORT_NAME ${name} ${ZKRECIPES_IN_LIBRARY}
    UNITY_BUILD OFF)
  target_include_directories(zkrecipes_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  # Installed, it takes whichever of the static and shared library its user takes.
  zkrecipes_as_installed(library zkrecipes::${arg_OF} zkrecipes::need_${arg_NEEDS})
  zkrecipes_as_installed(private ${ZKRECIPES_FENCING_DEPENDENCIES})
  target_link_libraries(zkrecipes_${name} PUBLIC ${library}
    PRIVATE $<BUILD_INTERFACE:zkrecipes_options> ${private})
  zkrecipes_precompile(zkrecipes_${name} layer)
  set_property(GLOBAL APPEND PROPERTY ZKRECIPES_ADAPTERS ${name})
  set_property(GLOBAL APPEND PROPERTY ZKRECIPES_ADAPTERS_NEED ${arg_NEEDS})
  string(REPLACE "zkrecipes-zkrecipes" "zkrecipes" of "zkrecipes-${arg_OF}")
  set_property(GLOBAL APPEND PROPERTY ZKRECIPES_ADAPTERS_OF ${of})
endfunction()

# zkrecipes_embed(fencing_layer fencing.sql): text for those who bring their own client: installed,
#   and for our sources the content of an array of characters, "lib/fencing/fencing.sql.h".
function(zkrecipes_embed name file)
  file(READ ${file} text)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded/${folder}/${file}.h
    CONTENT "R\"zkr(${text})zkr\"\n" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  target_include_directories(zkrecipes_${name} PRIVATE ${PROJECT_BINARY_DIR}/embedded)
  set_property(GLOBAL APPEND PROPERTY ZKRECIPES_TEXTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
endfunction()

# zkrecipes_executable(zkr SOURCES main.cc ... [LIBS CLI11::CLI11 ...]): a program at
#   build/bin/<name>.
function(zkrecipes_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES ${ZKRECIPES_IN_PROGRAM}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  target_link_libraries(${name} PRIVATE zkrecipes_options zkrecipes_internal ${arg_LIBS})
  if("CLI11::CLI11" IN_LIST arg_LIBS)
    zkrecipes_precompile(${name} tool)
  else()
    zkrecipes_precompile(${name} program)
  endif()
endfunction()

# zkrecipes_unit_test(name SOURCES a_test.cc ... [LIBS ...] [ONE_THREAD])
#   No server, no sleep. Each TEST is a ctest test of its own, labelled `unit`; with a sanitizer
#   each program is one, as it takes half a second to start. ONE_THREAD: `./dev tsan` leaves it out.
function(zkrecipes_unit_test name)
  if(NOT ZKRECIPES_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD" "" "SOURCES;LIBS")
  if(arg_ONE_THREAD AND ZKRECIPES_SANITIZE STREQUAL "thread")
    return()
  endif()
  zkrecipes_test_program(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  add_dependencies(zkrecipes_tests ${name})
  if(ZKRECIPES_SANITIZE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 900 COST 100)
    return()
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS unit TIMEOUT 300)
endfunction()

# zkrecipes_integration_test(name SOURCES a_test.cc ... [LIBS ...] [TIMEOUT seconds] [SANITIZE]
#   [NIGHTLY] [NIGHTLY_TESTS pattern] [NO_SERVERS | WAITS])
#   Needs real servers. One ctest test for the whole program, labelled `integration`, so that its
#   suites can share an ensemble; see ZKRECIPES_ON_SERVERS.
#   SANITIZE: `./dev asan` and `./dev tsan` run it too. NIGHTLY: only `./dev nightly` does.
#   NIGHTLY_TESTS: so it does with those of its tests that match gtest's pattern, as another ctest
#   test: <name>.nightly.
#   NO_SERVERS: it runs beside those that have an ensemble. WAITS: it has one, and mostly waits.
function(zkrecipes_integration_test name)
  if(NOT ZKRECIPES_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg
    "SANITIZE;NIGHTLY;NO_SERVERS;WAITS" "TIMEOUT;NIGHTLY_TESTS" "SOURCES;LIBS")
  zkrecipes_test_program(${name} SOURCES ${arg_SOURCES} LIBS zkrecipes::testing ${arg_LIBS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(ZKRECIPES_SANITIZE AND NOT arg_SANITIZE)  # not run there, so not built there
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(NOT arg_NIGHTLY)
    add_dependencies(zkrecipes_tests ${name})
  endif()
  set(command ${ZKRECIPES_LEAVING_NOTHING} $<TARGET_FILE:${name}>)
  set(tests ${name})
  if(arg_NIGHTLY_TESTS)
    add_test(NAME ${name} COMMAND ${command} --gtest_filter=-${arg_NIGHTLY_TESTS})
    add_test(NAME ${name}.nightly COMMAND ${command} --gtest_filter=${arg_NIGHTLY_TESTS})
    list(APPEND tests ${name}.nightly)
  else()
    add_test(NAME ${name} COMMAND ${command})
  endif()
  foreach(test IN LISTS tests)
    set(labels integration)
    if(arg_NIGHTLY OR test MATCHES "[.]nightly$")
      list(APPEND labels nightly)
    elseif(arg_SANITIZE)
      list(APPEND labels sanitize)
    endif()
    # Skipped for ctest is a program of which no test was run, none failed and some were skipped;
    # scripts/check_skips.py counts the skips in others, too. gtest's list of failures would come
    # after that of the skips.
    set_tests_properties(${test} PROPERTIES
      SKIP_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests[.]\n(\\[  SKIPPED \\] [^\n]*\n)+$")
    set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT} COST 1000)
    if(arg_WAITS)
      set_tests_properties(${test} PROPERTIES ${ZKRECIPES_ON_SERVERS_WAITING})
    elseif(NOT arg_NO_SERVERS)
      set_tests_properties(${test} PROPERTIES ${ZKRECIPES_ON_SERVERS})
    endif()
  endforeach()
endfunction()

# zkrecipes_test_library(name SOURCES a.cc ... [LIBS ...]): what several test programs share. LIBS
#   are theirs, too.
function(zkrecipes_test_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_library(${name} STATIC ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES ${ZKRECIPES_IN_PROGRAM})
  target_compile_definitions(${name} PRIVATE ZKRECIPES_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  target_link_libraries(${name} PUBLIC zkrecipes_internal ${arg_LIBS} PRIVATE zkrecipes_options)
  if("GTest::gtest" IN_LIST arg_LIBS)
    target_link_libraries(${name} PRIVATE zkrecipes_test_options)
    zkrecipes_precompile(${name} test)
  elseif("nlohmann_json::nlohmann_json" IN_LIST arg_LIBS)
    zkrecipes_precompile(${name} tool)
  else()
    zkrecipes_precompile(${name} program)
  endif()
endfunction()

function(zkrecipes_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES ${ZKRECIPES_IN_PROGRAM})
  target_compile_definitions(${name} PRIVATE ZKRECIPES_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  target_link_libraries(${name} PRIVATE zkrecipes_options zkrecipes_test_options zkrecipes_internal
    ${arg_LIBS} GTest::gmock_main)
  zkrecipes_precompile(${name} test)
endfunction()
