# SPDX-License-Identifier: Apache-2.0
# Our private copy of the single-threaded ZooKeeper client: one object file whose every name starts
# with rcpzk_, so that a program may use libzookeeper_mt beside us. `--wrap` would act on the user's
# whole link, so the calls that we redirect (lib/zk/c_client/c_hooks.cc says why each) are renamed
# in the same pass. Sets
#   ZKRECIPES_PRIVATE_ZOOKEEPER_OBJECT   the object; it joins libzkrecipes.{a,so}
#   zkrecipes_zookeeper_headers          for the one source that includes zookeeper.h, after
#                                        zookeeper_renamed.h
#   zookeeper_mt_runtime                 for the one test that uses the multi-threaded client
#                                        directly
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_package(ZooKeeperST REQUIRED)
find_program(ZKRECIPES_OBJCOPY NAMES ${CMAKE_OBJCOPY} objcopy REQUIRED)
mark_as_advanced(ZKRECIPES_OBJCOPY)

set(private_dir ${PROJECT_BINARY_DIR}/private_zookeeper)
set(ZKRECIPES_PRIVATE_ZOOKEEPER_OBJECT ${private_dir}/rcpzk.o)
set(rename_script ${CMAKE_CURRENT_LIST_DIR}/RenameZooKeeper.cmake)
add_custom_command(
  OUTPUT ${ZKRECIPES_PRIVATE_ZOOKEEPER_OBJECT} ${private_dir}/include/zookeeper_renamed.h
  COMMAND ${CMAKE_COMMAND} "-DARCHIVES=${ZooKeeperST_ARCHIVES}" -DHEADERS=${ZooKeeperST_INCLUDE_DIR}
    -DWORK=${private_dir} -DAR=${CMAKE_AR} -DNM=${CMAKE_NM} -DLD=${CMAKE_LINKER}
    -DOBJCOPY=${ZKRECIPES_OBJCOPY} -DTLS=${ZKRECIPES_WITH_TLS}
    -P ${rename_script}
  DEPENDS ${rename_script} ${ZooKeeperST_ARCHIVES}
  COMMENT "Renaming the ZooKeeper client's symbols" VERBATIM)
add_custom_target(zkrecipes_private_zookeeper
  DEPENDS ${ZKRECIPES_PRIVATE_ZOOKEEPER_OBJECT} ${private_dir}/include/zookeeper_renamed.h)
set_source_files_properties(${ZKRECIPES_PRIVATE_ZOOKEEPER_OBJECT} PROPERTIES EXTERNAL_OBJECT ON
  GENERATED ON)

add_library(zkrecipes_zookeeper_headers INTERFACE)
add_dependencies(zkrecipes_zookeeper_headers zkrecipes_private_zookeeper)
target_include_directories(zkrecipes_zookeeper_headers SYSTEM INTERFACE
  ${private_dir}/include ${ZooKeeperST_INCLUDE_DIR})

# Debian's libzookeeper-mt-dev conflicts with libzookeeper-st-dev: take the runtime library, and the
# same release's headers with THREADED, which is all that differs.
find_library(ZKRECIPES_ZOOKEEPER_MT NAMES libzookeeper_mt.so.2)
mark_as_advanced(ZKRECIPES_ZOOKEEPER_MT)
if(ZKRECIPES_ZOOKEEPER_MT)
  add_library(zookeeper_mt_runtime SHARED IMPORTED GLOBAL)
  set_target_properties(zookeeper_mt_runtime PROPERTIES IMPORTED_LOCATION ${ZKRECIPES_ZOOKEEPER_MT}
    INTERFACE_INCLUDE_DIRECTORIES ${ZooKeeperST_INCLUDE_DIR} INTERFACE_COMPILE_DEFINITIONS THREADED)
endif()
