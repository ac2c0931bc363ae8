# SPDX-License-Identifier: Apache-2.0
# Apache's single-threaded C client, as Debian's libzookeeper-st-dev ships it (with neither .pc nor CMake config).
# For the build only: what is installed needs none of it. Sets
#   ZooKeeperST_ARCHIVE      the static archive; the shared library beside it is of no use, its names cannot be changed
#   ZooKeeperST_INCLUDE_DIR  the folder of zookeeper.h
include(FindPackageHandleStandardArgs)

find_library(ZooKeeperST_ARCHIVE NAMES libzookeeper_st.a)
find_path(ZooKeeperST_INCLUDE_DIR NAMES zookeeper.h PATH_SUFFIXES zookeeper)
mark_as_advanced(ZooKeeperST_ARCHIVE ZooKeeperST_INCLUDE_DIR)

find_package_handle_standard_args(ZooKeeperST
  REQUIRED_VARS ZooKeeperST_ARCHIVE ZooKeeperST_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libzookeeper-st-dev (on Debian: ./dev apt-install)")
