# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down: libraries, public headers, zkr, the CMake package and zkrecipes.pc.
if(NOT ZKRECIPES_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/zkrecipes)
set(libraries zkrecipes_testing zkrecipes_testing_parts)
get_property(adapters GLOBAL PROPERTY ZKRECIPES_ADAPTERS)
get_property(ZKRECIPES_ADAPTERS_NEED GLOBAL PROPERTY ZKRECIPES_ADAPTERS_NEED)
list(TRANSFORM adapters PREPEND zkrecipes_)
list(APPEND libraries ${adapters})
if(ZKRECIPES_BUILD_STATIC)
  list(APPEND libraries zkrecipes_static)
endif()
if(ZKRECIPES_BUILD_SHARED)
  list(APPEND libraries zkrecipes_shared)
endif()

install(TARGETS ${libraries} EXPORT zkrecipesTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT zkrecipesTargets NAMESPACE zkrecipes:: DESTINATION ${package_dir})
install(DIRECTORY include/zkrecipes DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET zkr)
  install(TARGETS zkr RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(zkr_words ${PROJECT_BINARY_DIR}/tools/zkr/words)
  install(FILES ${zkr_words}/zkr.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${zkr_words}/zkr DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${zkr_words}/_zkr DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

configure_package_config_file(cmake/zkrecipesConfig.cmake.in zkrecipesConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor release may break the API.
write_basic_package_version_file(zkrecipesConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/zkrecipesConfig.cmake ${PROJECT_BINARY_DIR}/zkrecipesConfigVersion.cmake
  cmake/zkrecipesAbsl.cmake DESTINATION ${package_dir})

# Debian's absl has a .pc file a target: absl::status is absl_status.
string(REPLACE "absl::" "absl_" pc_requires "${ZKRECIPES_PUBLIC_DEPENDENCIES}")
list(JOIN pc_requires ", " pc_requires)
set(pc_requires_private ${ZKRECIPES_PRIVATE_DEPENDENCIES})
list(FILTER pc_requires_private INCLUDE REGEX "^absl::")
string(REPLACE "absl::" "absl_" pc_requires_private "${pc_requires_private}")
list(JOIN pc_requires_private ", " pc_requires_private)
set(pc_libs_private -pthread)
if(ZKRECIPES_WITH_TLS)
  set(pc_libs_private "-lssl -lcrypto -pthread")
endif()
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/zkrecipes.pc.in zkrecipes.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/zkrecipes.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
