# SPDX-License-Identifier: Apache-2.0
# Builds the checkout that this port stands in: it downloads nothing of its own.
# vcpkg's absl is static, and a shared library with a copy of it would be a second one in the
# program.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    postgres ZKRECIPES_WITH_POSTGRES
    prometheus ZKRECIPES_WITH_PROMETHEUS
    redis ZKRECIPES_WITH_REDIS
    sqlite ZKRECIPES_WITH_SQLITE
    tls ZKRECIPES_WITH_TLS
    tools ZKRECIPES_BUILD_TOOLS)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DZKRECIPES_BUILD_SHARED=OFF
    -DZKRECIPES_BUILD_TESTS=OFF
    -DZKRECIPES_BUILD_DEMO=OFF
    ${FEATURE_OPTIONS})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/zkrecipes)

# vcpkg's prometheus-cpp has no .pc file that this one could require.
file(REMOVE
  "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/zkrecipes-prometheus.pc"
  "${CURRENT_PACKAGES_DIR}/debug/lib/pkgconfig/zkrecipes-prometheus.pc")
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES zkr AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")

file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
