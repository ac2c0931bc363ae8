#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the vcpkg port and the Conan recipe against the project, without vcpkg or Conan: versions
and options are the project's, the port lays down a package on which a consumer builds, and the
recipe names libraries that are in it. (docs/install.md says what was run with the tools
themselves.)

usage: check.py BUILD_DIR
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
HEADER = (ROOT / "include/zkrecipes/version.h").read_text()
VERSION = re.search(r'ZKRECIPES_VERSION "(.+)"', HEADER)[1]
OPTIONS = set(re.findall(r"^option\((ZKRECIPES_\w+)", (ROOT / "cmake/Options.cmake").read_text(),
                         re.M))
MODULES = ("conan", "conan.errors", "conan.tools", "conan.tools.build", "conan.tools.cmake",
           "conan.tools.files", "conan.tools.gnu", "conan.tools.system",
           "conan.tools.system.package_manager")


def fail(why):
    sys.exit(f"FAIL: {why}")


def expect(what, got, wanted):
    if got != wanted:
        fail(f"{what} is {got}, not {wanted}")


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, words))}\n{done.stdout}")
    return done.stdout


def check_options(whose, named):
    """All are the project's, and each of the project's adapters is among them."""
    expect(f"{whose}: what it sets and the project does not have", named - OPTIONS, set())
    wanted = {option for option in OPTIONS if "_WITH_" in option} | {"ZKRECIPES_BUILD_TOOLS"}
    expect(f"{whose}: what it cannot set", wanted - named, set())


def check_port(build, packages):
    manifest = json.loads((ROOT / "packaging/vcpkg/zkrecipes/vcpkg.json").read_text())
    expect("vcpkg.json's version", manifest["version"], VERSION)
    port = (ROOT / "packaging/vcpkg/zkrecipes/portfile.cmake").read_text()
    block = re.search(r"FEATURES\n(.*?)\)", port, re.S)[1]
    expect("the port's features", set(block.split()[::2]), set(manifest["features"]))
    said = run("cmake", f"-DBUILD={build}", f"-DSOURCE={ROOT}",
               f"-DCURRENT_PACKAGES_DIR={packages}", "-P", HERE / "vcpkg.cmake")
    check_options("the port", set(re.findall(r"-D(ZKRECIPES_\w+)=", said)))


def check_consumer(packages, work):
    """As in a project with vcpkg's toolchain, which looks in share/NAME."""
    run("cmake", "-S", HERE.parent / "consumers/find_package", "-B", work, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={packages}", "-DVCPKG_TARGET_TRIPLET=x64-linux")
    cache = (work / "CMakeCache.txt").read_text()
    expect("zkrecipes_DIR", re.search("zkrecipes_DIR:PATH=(.*)", cache)[1],
           f"{packages}/share/zkrecipes")
    run("cmake", "--build", work)
    for program in ("consumer", "consumer_test"):
        print(run(work / program), end="")
    run(packages / "tools/zkrecipes/zkr", "--version")


def rename(work, **sources):
    """The build's copy of a C client that is made of these archives, each of one object, and they
    all have the same name."""
    archives = []
    for name, source in sources.items():
        (work / "unity.c").write_text(source)
        run("cc", "-c", work / "unity.c", "-o", work / "unity.o")
        archives.append(work / f"{name}.a")
        archives[-1].unlink(missing_ok=True)
        run("ar", "rcs", archives[-1], work / "unity.o")
    return subprocess.run(["cmake", f"-DARCHIVES={';'.join(map(str, archives))}",
                           f"-DWORK={work}", "-DAR=ar", "-DNM=nm", "-DLD=ld",
                           "-DOBJCOPY=objcopy", "-DTLS=OFF", "-P",
                           ROOT / "cmake/RenameZooKeeper.cmake"],
                          capture_output=True, text=True, check=False)


def check_client(work):
    """vcpkg's port of ZooKeeper has two archives; of those of its features that do not suit, the
    build says so."""
    done = rename(work, libzookeeper="int zookeeper_init;",
                  libzookeeper_hashtable="int create_hashtable;")
    expect("renaming two archives", (done.returncode, done.stderr), (0, ""))
    names = set(run("nm", "-j", work / "rcpzk.o").split())
    expect("what is there of them", names, {"rcpzk_zookeeper_init", "rcpzk_create_hashtable"})
    for source, why in (("int zookeeper_init, zoo_create;", "multi-threaded client"),
                        ("extern int SSL_new; int* zookeeper_init = &SSL_new;",
                         "needs ZKRECIPES_WITH_TLS")):
        done = rename(work, libzookeeper=source)
        if done.returncode == 0 or why not in " ".join(done.stderr.split()):
            fail(f"it is not said: {why}\n{done.stderr}")


class Anything:
    """What a recipe imports of Conan."""
    def __init__(self, *_, **__):
        self.__dict__["components"] = {}

    def set_property(self, *_):
        pass


def load_recipe():
    for name in MODULES:
        module = sys.modules[name] = types.ModuleType(name)
        module.__getattr__ = lambda attribute: Anything
    sys.modules["conan.tools.files"].load = lambda _, path: pathlib.Path(path).read_text()
    scope = {"__name__": "conanfile"}
    recipe = (ROOT / "packaging/conan/conanfile.py").read_text()
    exec(compile(recipe, "conanfile.py", "exec"), scope)
    return scope["ZkrecipesConan"]


def check_recipe(packages):
    recipe = load_recipe()()
    recipe.recipe_folder = str(ROOT / "packaging/conan")
    recipe.set_version()
    expect("the recipe's version", recipe.version, VERSION)
    text = (ROOT / "packaging/conan/conanfile.py").read_text()
    check_options("the recipe", set(re.findall(r'\["(ZKRECIPES_\w+)"\]', text)))
    recipe.options = types.SimpleNamespace(**dict.fromkeys(recipe.options, True),
                                           get_safe=lambda _: True)
    recipe.cpp_info = Anything()
    parts = recipe.cpp_info.components = collections.defaultdict(Anything)
    recipe.package_info()
    libraries = {lib for part in parts.values() for lib in part.libs}
    installed = {file.stem[3:] for file in packages.glob("lib/**/lib*.a")}
    expect("the recipe's libraries", sorted(libraries), sorted(installed))
    dependencies = (ROOT / "cmake/Dependencies.cmake").read_text()
    linked = re.findall(r"absl::(\w+)", dependencies.split("if(TARGET")[0])
    expect("the recipe's absl", set(parts["zkrecipes"].requires) - {"openssl::openssl"},
           {f"abseil::absl_{name}" for name in linked})


def main():
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        check_port(os.path.abspath(sys.argv[1]), work / "packages")
        check_consumer(work / "packages", work / "consumer")
        check_client(work)
        check_recipe(work / "packages")
    print("packagers: all passed")


main()
