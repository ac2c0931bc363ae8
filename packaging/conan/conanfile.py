# SPDX-License-Identifier: Apache-2.0
"""The recipe of this checkout, for `conan create packaging/conan`: docs/install.md."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.system.package_manager import Apt

required_conan_version = ">=2.0"

# The components of ConanCenter's abseil that are linked: as cmake/Dependencies.cmake has them.
ABSL = ["any_invocable", "flat_hash_map", "flat_hash_set", "hash", "random_random", "status",
        "statusor", "str_format", "strings", "time"]
# An adapter's option -> what it needs from ConanCenter, and the component of that.
ADAPTERS = {"postgres": ("libpq/[>=14]", "libpq::pq"),
            "redis": ("hiredis/[>=1.0 <2]", "hiredis::hiredislib"),
            "sqlite": ("sqlite3/[>=3.37 <4]", "sqlite3::sqlite"),
            "prometheus": ("prometheus-cpp/[>=1.0 <2]", "prometheus-cpp::prometheus-cpp-core")}


class ZkrecipesConan(ConanFile):
    name = "zkrecipes"
    description = ("ZooKeeper recipes with fencing tokens: a lock, a read/write lock and "
                   "leader election")
    license = "Apache-2.0"
    topics = ("zookeeper", "lock", "leader-election")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tls": [True, False],
               "tools": [True, False], "postgres": [True, False], "redis": [True, False],
               "sqlite": [True, False], "prometheus": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tls": False, "tools": False,
                       "postgres": False, "redis": False, "sqlite": False, "prometheus": False}

    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def _adapters(self):
        return [name for name in ADAPTERS if self.options.get_safe(name)]

    def set_version(self):
        header = load(self, os.path.join(self._root(), "include/zkrecipes/version.h"))
        self.version = re.search(r'ZKRECIPES_VERSION "(.+)"', header)[1]

    def export_sources(self):
        for part in ("CMakeLists.txt", "LICENSE"):
            copy(self, part, self._root(), self.export_sources_folder)
        for part in ("cmake", "include", "lib", "recipes", "testing", "tools"):
            copy(self, "*", os.path.join(self._root(), part),
                 os.path.join(self.export_sources_folder, part))

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("abseil/[>=20220623]", transitive_headers=True, transitive_libs=True)
        self.requires("nlohmann_json/[>=3.10 <4]", visible=False)
        if self.options.tools:
            self.requires("cli11/[>=2.0 <3]", visible=False)
        if self.options.tls:
            self.requires("openssl/[>=3.0 <5]")
        for name in self._adapters():
            self.requires(ADAPTERS[name][0], transitive_headers=True)

    def system_requirements(self):
        # ConanCenter's zookeeper-client-c is the multi-threaded client, and this library takes the
        # single-threaded one.
        Apt(self).install(["libzookeeper-st-dev"])

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.name} is for Linux")
        check_min_cppstd(self, 20)
        if self.options.shared and not self.dependencies["abseil"].options.get_safe("shared"):
            raise ConanInvalidConfiguration("a shared zkrecipes needs a shared abseil: "
                                            "-o 'abseil/*:shared=True'. "
                                            "With a static one the program would have two")

    def generate(self):
        toolchain = CMakeToolchain(self)
        options = toolchain.cache_variables
        options["ZKRECIPES_BUILD_SHARED"] = bool(self.options.shared)
        options["ZKRECIPES_BUILD_STATIC"] = not self.options.shared
        options["ZKRECIPES_BUILD_TESTS"] = False
        options["ZKRECIPES_BUILD_DEMO"] = False
        options["ZKRECIPES_BUILD_TOOLS"] = bool(self.options.tools)
        options["ZKRECIPES_WITH_TLS"] = bool(self.options.tls)
        options["ZKRECIPES_WITH_POSTGRES"] = bool(self.options.postgres)
        options["ZKRECIPES_WITH_REDIS"] = bool(self.options.redis)
        options["ZKRECIPES_WITH_SQLITE"] = bool(self.options.sqlite)
        options["ZKRECIPES_WITH_PROMETHEUS"] = bool(self.options.prometheus)
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()  # by which the adapters find what they need

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        for ours in ("cmake", "pkgconfig"):  # Conan makes its own for the one who uses the package
            rmdir(self, os.path.join(self.package_folder, "lib", ours))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "zkrecipes")

        def component(name, libs, requires):
            part = self.cpp_info.components[name]
            part.set_property("cmake_target_name", f"zkrecipes::{name}")
            part.set_property("pkg_config_name",
                              "zkrecipes" if name == "zkrecipes" else f"zkrecipes-{name}")
            part.libs, part.requires = libs, requires
            return part

        absl = [f"abseil::absl_{name}" for name in ABSL]
        library = component("zkrecipes", ["zkrecipes"],
                            absl + (["openssl::openssl"] if self.options.tls else []))
        library.system_libs = ["pthread"]
        component("fencing", ["zkrecipes_fencing"], absl).system_libs = ["pthread"]
        # What zkrecipes::testing uses of the library's own parts stands behind the library.
        component("testing_parts", ["zkrecipes_testing_parts"], absl)
        component("testing", ["zkrecipes_testing"], ["zkrecipes", "testing_parts"])
        for name in self._adapters():
            component(name, [f"zkrecipes_{name}"],
                      ["zkrecipes" if name == "prometheus" else "fencing", ADAPTERS[name][1]])
