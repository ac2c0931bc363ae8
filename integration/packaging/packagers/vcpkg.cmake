# SPDX-License-Identifier: Apache-2.0
# Runs the port of packaging/vcpkg, with what it calls of vcpkg replaced by what that does, on a
# finished build: nothing is compiled.
# usage: cmake -DBUILD=DIR -DSOURCE=DIR -DCURRENT_PACKAGES_DIR=DIR -P vcpkg.cmake; prints the
# options that the port sets.
cmake_minimum_required(VERSION 3.25)
set(PORT zkrecipes)
set(FEATURES core postgres prometheus redis sqlite tls tools)
set(CURRENT_PORT_DIR ${SOURCE}/packaging/vcpkg/zkrecipes)

function(vcpkg_check_linkage)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(NOT feature IN_LIST FEATURES)
      message(FATAL_ERROR "${feature} is no feature")
    endif()
    list(APPEND options -D${option}=ON)
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(NOT EXISTS ${arg_SOURCE_PATH}/cmake/zkrecipesConfig.cmake.in)
    message(FATAL_ERROR "${arg_SOURCE_PATH} is not the checkout")
  endif()
  message(STATUS "options: ${arg_OPTIONS}")
endfunction()

function(vcpkg_cmake_install)
  foreach(component dev testing tools)
    execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${CURRENT_PACKAGES_DIR}
      --component ${component} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

# To share/zkrecipes, with the way from there to the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(GLOB config ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  file(COPY ${config} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH})
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "CMAKE_CURRENT_LIST_DIR}/../../../" "CMAKE_CURRENT_LIST_DIR}/../../" text
      "${text}")
    set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 arg "AUTO_CLEAN" "" "TOOL_NAMES")
  foreach(tool IN LISTS arg_TOOL_NAMES)
    file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/tools/${PORT})
    file(RENAME ${CURRENT_PACKAGES_DIR}/bin/${tool} ${CURRENT_PACKAGES_DIR}/tools/${PORT}/${tool})
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${CURRENT_PORT_DIR}/portfile.cmake)
