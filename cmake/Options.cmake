# SPDX-License-Identifier: Apache-2.0
# What a person can choose, and zkrecipes_options: the compile options that our own targets get, and
# only they.
include(GNUInstallDirs)

option(BUILD_SHARED_LIBS "zkrecipes::zkrecipes is the shared library" OFF)
set(kind_static ON)
if(BUILD_SHARED_LIBS AND NOT PROJECT_IS_TOP_LEVEL)
  set(kind_static OFF)
endif()
set(kind_shared ${BUILD_SHARED_LIBS})
if(PROJECT_IS_TOP_LEVEL)
  set(kind_shared ON)
endif()
option(ZKRECIPES_BUILD_STATIC "Build libzkrecipes.a" ${kind_static})
option(ZKRECIPES_BUILD_SHARED "Build libzkrecipes.so" ${kind_shared})
option(ZKRECIPES_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ZKRECIPES_BUILD_TOOLS "Build the command zkr" ${PROJECT_IS_TOP_LEVEL})
option(ZKRECIPES_BUILD_DEMO "Build what ./dev demo runs" ${PROJECT_IS_TOP_LEVEL})
option(ZKRECIPES_BUILD_BENCH "With the tests, build what ./dev bench runs" OFF)
option(ZKRECIPES_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
option(ZKRECIPES_WERROR "Treat warnings as errors" OFF)
option(ZKRECIPES_VERIFICATION
  "Build verification/, which proves the library and is no part of it" OFF)
option(ZKRECIPES_WITH_TLS
  "Connections by TLS, which needs OpenSSL; without, a client with TlsOptions is refused" OFF)
option(ZKRECIPES_WITH_POSTGRES "Build zkrecipes::postgres, which needs libpq" OFF)
option(ZKRECIPES_WITH_REDIS "Build zkrecipes::redis, which needs hiredis" OFF)
option(ZKRECIPES_WITH_SQLITE "Build zkrecipes::sqlite, which needs SQLite" OFF)
option(ZKRECIPES_WITH_PROMETHEUS "Build zkrecipes::prometheus, which needs prometheus-cpp" OFF)
set(ZKRECIPES_SANITIZE "" CACHE STRING "address,undefined | thread | empty")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug | Release | RelWithDebInfo" FORCE)
endif()
if(ZKRECIPES_BUILD_TESTS)
  enable_testing()
endif()

add_library(zkrecipes_options INTERFACE)
target_compile_features(zkrecipes_options INTERFACE cxx_std_20)
target_compile_options(zkrecipes_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  -Wnon-virtual-dtor $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # gcc 12 suspects the moves of a std::variant; clang and its sanitizers look, too.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<BOOL:${ZKRECIPES_WERROR}>:-Werror>)
if(ZKRECIPES_SANITIZE)
  set(sanitize -fsanitize=${ZKRECIPES_SANITIZE} -fno-omit-frame-pointer)
  if(ZKRECIPES_SANITIZE MATCHES "undefined")
    list(APPEND sanitize -fno-sanitize-recover=undefined)
  endif()
  target_compile_options(zkrecipes_options INTERFACE ${sanitize})
  target_link_options(zkrecipes_options INTERFACE ${sanitize})
endif()

# Tests are not optimised, whatever the library is: they wait for it, and compile in half the time.
# Nor are they checked for undefined behaviour of their own, which takes as long to compile again.
add_library(zkrecipes_test_options INTERFACE)
target_compile_options(zkrecipes_test_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-O0>)
if(ZKRECIPES_SANITIZE)
  target_compile_options(zkrecipes_test_options INTERFACE -O0)
endif()
if(ZKRECIPES_SANITIZE MATCHES "undefined")
  target_compile_options(zkrecipes_test_options INTERFACE -fno-sanitize=undefined)
endif()
