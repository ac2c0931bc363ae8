# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down, by component, and what it builds first if it is missing
# (ADR 46):
#   runtime   the shared library
#   dev       headers, the static libraries, the adapters, the CMake package and .pc files
#   testing   zkrecipes::testing; needs dev
#   tools     zkr, its manual page and completions
# The target zkrecipes_component_<name> is all that one needs.
if(NOT ZKRECIPES_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/zkrecipes)
set(include_dir ${CMAKE_INSTALL_INCLUDEDIR}/zkrecipes)
get_property(adapters GLOBAL PROPERTY ZKRECIPES_ADAPTERS)
get_property(ZKRECIPES_ADAPTERS_NEED GLOBAL PROPERTY ZKRECIPES_ADAPTERS_NEED)
get_property(adapters_of GLOBAL PROPERTY ZKRECIPES_ADAPTERS_OF)

# zkrecipes_component(runtime zkrecipes_shared ...): a component of what these targets make.
function(zkrecipes_component name)
  set(all zkrecipes_component_${name})
  add_custom_target(${all})
  add_dependencies(${all} ${ARGN})
  # Not up to date, only there: what installs is often root, and should compile nothing if a user
  # has done it.
  list(TRANSFORM ARGN REPLACE "(.+)" "[==[$<TARGET_FILE:\\1>]==]" OUTPUT_VARIABLE files)
  list(JOIN files " " files)
  install(CODE "foreach(file IN ITEMS ${files})
    if(NOT EXISTS \"\${file}\")
      message(STATUS \"Building ${all}: \${file} is missing\")
      execute_process(COMMAND [==[${CMAKE_COMMAND}]==] --build [==[${CMAKE_BINARY_DIR}]==]
        --target ${all} --config \"\${CMAKE_INSTALL_CONFIG_NAME}\" COMMAND_ERROR_IS_FATAL ANY)
      break()
    endif()
  endforeach()" COMPONENT ${name})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${name})
endfunction()

# zkrecipes_export(name component target...): targets with a file of their own, which the package
#   config includes if it is there.
function(zkrecipes_export name component)
  install(TARGETS ${ARGN} EXPORT zkrecipes${name}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT ${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT zkrecipes${name} NAMESPACE zkrecipes:: FILE zkrecipes${name}Targets.cmake
    DESTINATION ${package_dir} COMPONENT ${component})
endfunction()

# zkrecipes_pc(template name component): NAME.pc of cmake/TEMPLATE.pc.in.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
function(zkrecipes_pc template name component)
  configure_file(cmake/${template}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT ${component})
endfunction()

# Debian's absl has a .pc file a target: absl::status is absl_status.
function(zkrecipes_pc_names out)
  list(FILTER ARGN INCLUDE REGEX "^absl::")
  list(JOIN ARGN ", " names)
  string(REPLACE "absl::" "absl_" names "${names}")
  set(${out} "${names}" PARENT_SCOPE)
endfunction()
zkrecipes_pc_names(pc_requires ${ZKRECIPES_PUBLIC_DEPENDENCIES})
zkrecipes_pc_names(pc_requires_private ${ZKRECIPES_PRIVATE_DEPENDENCIES})
set(pc_libs_private -pthread)
if(ZKRECIPES_WITH_TLS)
  set(pc_libs_private "-lssl -lcrypto -pthread")
endif()

# runtime, and the link to it in dev
list(TRANSFORM adapters PREPEND zkrecipes_ OUTPUT_VARIABLE archives)
list(APPEND archives zkrecipes_fencing)
if(ZKRECIPES_BUILD_STATIC)
  list(APPEND archives zkrecipes_static)
endif()
if(ZKRECIPES_BUILD_SHARED)
  zkrecipes_component(runtime zkrecipes_shared)
  zkrecipes_component(dev ${archives} zkrecipes_shared)
  zkrecipes_export(Shared dev zkrecipes_shared)
  set(shared_file
    ${CMAKE_SHARED_LIBRARY_PREFIX}zkrecipes${CMAKE_SHARED_LIBRARY_SUFFIX}.${PROJECT_VERSION})
else()
  zkrecipes_component(dev ${archives})
endif()

# dev
get_property(texts GLOBAL PROPERTY ZKRECIPES_TEXTS)
install(FILES ${texts} DESTINATION ${CMAKE_INSTALL_DATADIR}/zkrecipes COMPONENT dev)
if(ZKRECIPES_BUILD_STATIC)
  zkrecipes_export(Static dev zkrecipes_static)
endif()
install(DIRECTORY include/zkrecipes DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN testing EXCLUDE)
zkrecipes_pc(zkrecipes zkrecipes dev)
zkrecipes_export(Fencing dev zkrecipes_fencing)
zkrecipes_pc(zkrecipes-fencing zkrecipes-fencing dev)
foreach(adapter need of IN ZIP_LISTS adapters ZKRECIPES_ADAPTERS_NEED adapters_of)
  zkrecipes_export(-${adapter}- dev zkrecipes_${adapter})
  zkrecipes_pc(zkrecipes-adapter zkrecipes-${adapter} dev)
endforeach()
configure_package_config_file(cmake/zkrecipesConfig.cmake.in zkrecipesConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor release may break the API.
write_basic_package_version_file(zkrecipesConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/zkrecipesConfig.cmake
  ${PROJECT_BINARY_DIR}/zkrecipesConfigVersion.cmake cmake/zkrecipesAbsl.cmake
  cmake/zkrecipesNeeds.cmake DESTINATION ${package_dir} COMPONENT dev)

# testing
zkrecipes_component(testing zkrecipes_testing zkrecipes_testing_parts)
zkrecipes_export(Testing testing zkrecipes_testing zkrecipes_testing_parts)
install(DIRECTORY include/zkrecipes/testing DESTINATION ${include_dir} COMPONENT testing
  FILES_MATCHING PATTERN "*.h")
zkrecipes_pc(zkrecipes-testing zkrecipes-testing testing)

# tools
if(TARGET zkr)
  zkrecipes_component(tools zkr)
  install(TARGETS zkr RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  set(words ${PROJECT_BINARY_DIR}/tools/zkr/words)
  install(FILES ${words}/zkr.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${words}/zkr DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    COMPONENT tools)
  install(FILES ${words}/_zkr DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    COMPONENT tools)
endif()
