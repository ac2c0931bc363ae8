# SPDX-License-Identifier: Apache-2.0
# What the adapters link. For the build, and installed beside the package config.
set(ZKRECIPES_VCPKG_libpq PostgreSQL PostgreSQL::PostgreSQL)
set(ZKRECIPES_VCPKG_hiredis hiredis hiredis::hiredis)
set(ZKRECIPES_VCPKG_sqlite3 unofficial-sqlite3 unofficial::sqlite3::sqlite3)
set(ZKRECIPES_VCPKG_prometheus-cpp-core prometheus-cpp prometheus-cpp::core)

# zkrecipes_find_need(libpq): makes zkrecipes::need_libpq, if this module of pkg-config's is there.
# In vcpkg it goes by the CMake package: its .pc files leave out what a static library needs, or are
# missing.
function(zkrecipes_find_need module)
  if(TARGET zkrecipes::need_${module})
    return()
  endif()
  if(DEFINED VCPKG_TARGET_TRIPLET)
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
    list(GET ZKRECIPES_VCPKG_${module} 0 package)
    list(GET ZKRECIPES_VCPKG_${module} 1 target)
    find_package(${package} QUIET)
  else()
    find_package(PkgConfig QUIET)
    set(target PkgConfig::zkrecipes_${module})
    if(PkgConfig_FOUND)
      pkg_check_modules(zkrecipes_${module} QUIET IMPORTED_TARGET GLOBAL ${module})
    endif()
  endif()
  if(TARGET ${target})
    add_library(zkrecipes::need_${module} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(zkrecipes::need_${module} INTERFACE ${target})
  endif()
endfunction()
