# SPDX-License-Identifier: Apache-2.0
# Apache's single-threaded C client, as Debian's libzookeeper-st-dev ships it (with neither .pc nor
# CMake config), or as vcpkg's port `zookeeper` does without its feature `sync`, with its hash table
# in an archive beside it.
# For the build only: what is installed needs none of it. Sets
#   ZooKeeperST_ARCHIVE      the static archive; the shared library beside it is of no use, its
#                            names cannot be changed
#   ZooKeeperST_ARCHIVES     that, and what it needs
#   ZooKeeperST_INCLUDE_DIR  the folder of zookeeper.h
include(FindPackageHandleStandardArgs)

find_library(ZooKeeperST_ARCHIVE NAMES libzookeeper_st.a libzookeeper.a NAMES_PER_DIR)
find_path(ZooKeeperST_INCLUDE_DIR NAMES zookeeper.h PATH_SUFFIXES zookeeper)
mark_as_advanced(ZooKeeperST_ARCHIVE ZooKeeperST_INCLUDE_DIR)
set(ZooKeeperST_ARCHIVES ${ZooKeeperST_ARCHIVE})
if(ZooKeeperST_ARCHIVE MATCHES "/libzookeeper[.]a$")
  get_filename_component(ZooKeeperST_folder ${ZooKeeperST_ARCHIVE} DIRECTORY)
  list(APPEND ZooKeeperST_ARCHIVES ${ZooKeeperST_folder}/libzookeeper_hashtable.a)
endif()

find_package_handle_standard_args(ZooKeeperST
  REQUIRED_VARS ZooKeeperST_ARCHIVE ZooKeeperST_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libzookeeper-st-dev (on Debian: ./dev apt-install)")
